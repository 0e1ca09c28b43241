"""The smallest sound gateway: the ceiling of the whole line, from the webhook to the answer in the chat.

webhook -> secret, parse, duplicates, three rows in one group commit -> 200 -> a lane per chat -> A2A SendMessage
-> the answer stored -> sendMessage -> done. After a restart what is not done is taken up again; what has its answer
stored is only sent again.
"""

import argparse
import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import orjson
from aiohttp import web
from pydantic import ValidationError

from benchmarks.ceilings.gateway_store import SCHEMA, Admit, Answered, Change, Changes, Finished, Unfinished, unfinished
from benchmarks.ceilings.group_commit import GroupWriter
from benchmarks.ceilings.serving import Hook, done, is_from_telegram, serve
from benchmarks.ceilings.updates import Update

AT_WORK = 64  # messages at once, as the gateway under test
MOST_QUEUED = 200_000
TIMEOUT = aiohttp.ClientTimeout(total=30)  # seconds, of one call
FIRST_DELAY = 0.1  # seconds before a failed message is tried again; doubles up to LONGEST_DELAY
LONGEST_DELAY = 5.0
JSON_HEADERS = {"Content-Type": "application/json"}


class CallFailed(Exception):
    """A call was refused, or answered with something that is no answer."""


class Client:
    """The two calls of a message."""

    def __init__(self, http: aiohttp.ClientSession, agent: str, bot_api: str, *, is_streaming: bool) -> None:
        self._http = http
        self._agent = agent
        self._send_url = f"{bot_api}/bot123456:TEST/sendMessage"
        self._is_streaming = is_streaming

    async def ask(self, message: Unfinished) -> str:
        """The agent's answer; raises CallFailed or what aiohttp raises."""
        text = orjson.loads(message.body)["message"]["text"]
        asked = {
            "messageId": f"m-{message.number}",
            "contextId": f"c-{message.chat}",
            "role": "ROLE_USER",
            "parts": [{"text": text}],
        }
        method = "SendStreamingMessage" if self._is_streaming else "SendMessage"
        call = {"jsonrpc": "2.0", "id": message.number, "method": method, "params": {"message": asked}}
        headers = {**JSON_HEADERS, "A2A-Version": "1.0"}
        async with self._http.post(self._agent, data=orjson.dumps(call), headers=headers) as response:
            if response.status != 200:
                raise CallFailed(f"the agent answered {response.status}")
            if self._is_streaming:
                return await _streamed_text(response)
            answer = orjson.loads(await response.read())
        return str(answer["result"]["task"]["artifacts"][0]["parts"][0]["text"])

    async def show(self, chat: str, text: str) -> None:
        """Raises CallFailed or what aiohttp raises."""
        call = orjson.dumps({"chat_id": int(chat), "text": text})
        async with self._http.post(self._send_url, data=call, headers=JSON_HEADERS) as response:
            if not orjson.loads(await response.read())["ok"]:
                raise CallFailed(f"the Bot API answered {response.status}")


async def _streamed_text(response: aiohttp.ClientResponse) -> str:
    text, is_complete = "", False
    async for line in response.content:
        if not line.startswith(b"data:"):
            continue
        result = orjson.loads(line[5:])["result"]
        if update := result.get("artifactUpdate"):
            text += update["artifact"]["parts"][0]["text"]
        elif update := result.get("statusUpdate"):
            is_complete = update["status"]["state"] == "TASK_STATE_COMPLETED"
    if not is_complete:
        raise CallFailed("the stream ended before the task did")
    return text


class Lanes:
    """Messages of one chat one after the other, of all chats up to AT_WORK at once."""

    def __init__(self, group: asyncio.TaskGroup, client: Client, writer: GroupWriter[Change]) -> None:
        self._group = group
        self._client = client
        self._writer = writer
        self._lanes: dict[str, deque[Unfinished]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._places = asyncio.Semaphore(AT_WORK)
        self.queued = 0

    def add(self, message: Unfinished) -> None:
        self.queued += 1
        lane = self._lanes.get(message.chat)
        if lane is not None:
            lane.append(message)
            return
        self._lanes[message.chat] = deque([message])
        task = self._group.create_task(self._work(message.chat), name=f"lane-{message.chat}")
        self._tasks[message.chat] = task

    def stop(self) -> None:
        """What is not done stays in the store."""
        for task in self._tasks.values():
            task.cancel()

    async def _work(self, chat: str) -> None:
        lane = self._lanes[chat]
        while lane:
            async with self._places:
                await self._until_done(lane.popleft())
            self.queued -= 1
        del self._lanes[chat], self._tasks[chat]

    async def _until_done(self, message: Unfinished) -> None:
        delay, text = FIRST_DELAY, message.answer
        while True:
            try:
                if text is None:
                    text = await self._client.ask(message)
                    await self._writer.submit(Answered(message.number, text))
                await self._client.show(message.chat, text)
            except (CallFailed, TimeoutError, aiohttp.ClientError):
                await asyncio.sleep(delay)
                delay = min(LONGEST_DELAY, delay * 2)
            else:
                await self._writer.submit(Finished(message.number))
                return


@asynccontextmanager
async def gateway(database: Path, agent: str, bot_api: str, *, is_streaming: bool) -> AsyncIterator[Hook]:
    left = unfinished(database)
    writer: GroupWriter[Change] = GroupWriter(database, SCHEMA, Changes().write)
    connector = aiohttp.TCPConnector(limit=0, limit_per_host=AT_WORK, keepalive_timeout=60)
    async with (
        aiohttp.ClientSession(
            connector=connector,
            timeout=TIMEOUT,
            skip_auto_headers=("User-Agent", "Accept-Encoding"),
            auto_decompress=False,
        ) as http,
        asyncio.TaskGroup() as group,
    ):
        lanes = Lanes(group, Client(http, agent, bot_api, is_streaming=is_streaming), writer)
        for message in left:
            lanes.add(message)
        yield _hook(lanes, writer)
        lanes.stop()
    await writer.close()


def _hook(lanes: Lanes, writer: GroupWriter[Change]) -> Hook:
    async def accept(request: web.Request) -> web.Response:
        if not is_from_telegram(request):
            return web.Response(status=401)
        if lanes.queued >= MOST_QUEUED:
            return web.Response(status=503, headers={"Retry-After": "1"})
        body = await request.read()
        try:
            update = Update.model_validate_json(body)
        except ValidationError:
            return web.Response(status=400)
        chat = str(update.message.chat.id)
        number = await writer.submit(Admit(str(update.update_id), chat, body, time.time()))
        if number:
            lanes.add(Unfinished(number, chat, body, None))
        return done()

    return accept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--database", type=Path, required=True)
    parser.add_argument("--agent", required=True, help="URL of the JSON-RPC endpoint")
    parser.add_argument("--bot-api", required=True, help="base URL of the Bot API")
    parser.add_argument("--streaming", action="store_true", help="ask with SendStreamingMessage")
    given = parser.parse_args()
    program = gateway(given.database, given.agent, given.bot_api.rstrip("/"), is_streaming=given.streaming)
    serve(given.port, program)


if __name__ == "__main__":
    main()
