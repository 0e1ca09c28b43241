"""The ceiling of a client: aiohttp and orjson, and nothing checked but that the task completed."""

import aiohttp
import orjson
import uvloop

from benchmarks.clients.calling import TEXT, arguments, measure

HEADERS = {"Content-Type": "application/json", "A2A-Version": "1.0"}


async def main() -> None:
    given = arguments(__doc__)
    method = "SendStreamingMessage" if given.streaming else "SendMessage"
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=given.lanes)) as http:

        async def call(number: int) -> None:
            message = {"messageId": f"m{number}", "role": "ROLE_USER", "parts": [{"text": f"{number} {TEXT}"}]}
            body = {"jsonrpc": "2.0", "id": number, "method": method, "params": {"message": message}}
            async with http.post(f"{given.agent}/", data=orjson.dumps(body), headers=HEADERS) as response:
                last = b""
                async for line in response.content:
                    last = line if line.strip() else last
            result = orjson.loads(last.removeprefix(b"data:"))["result"]
            status = (result.get("task") or result["statusUpdate"])["status"]
            assert status["state"] == "TASK_STATE_COMPLETED", status

        await measure(call, given.calls, given.lanes)


if __name__ == "__main__":
    uvloop.run(main())
