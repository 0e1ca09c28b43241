"""The ceiling of the A2A server: parse a call, answer it with a completed task that echoes it, store nothing.

JSON-RPC, protocol 1.0: SendMessage, and SendStreamingMessage in 20 chunks. What aiohttp and the words alone cost.
"""

import argparse
import asyncio
import uuid
from collections.abc import Iterator
from typing import Any

import orjson
import uvloop
from aiohttp import web

from benchmarks.serving import SHUTDOWN_TIMEOUT, serve_until_told

CHUNKS = 20
NOW = "2026-01-01T00:00:00.000Z"


async def answer(request: web.Request) -> web.StreamResponse:
    call = orjson.loads(await request.read())
    message = call["params"]["message"]
    if call["method"] == "SendStreamingMessage":
        return await _stream(request, call["id"], message)
    task = _task(message, "TASK_STATE_COMPLETED")
    task["artifacts"] = [{"artifactId": "answer", "parts": message["parts"]}]
    return web.Response(body=_result(call["id"], {"task": task}), content_type="application/json")


async def _stream(request: web.Request, number: int, message: dict[str, Any]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for event in _events(message):
        await response.write(b"data: " + _result(number, event) + b"\n\n")
        await asyncio.sleep(0)  # each event is a word of its own, as an agent says it
    return response


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    task = _task(message, "TASK_STATE_SUBMITTED")
    names = {"taskId": task["id"], "contextId": task["contextId"]}
    yield {"task": task}
    yield {"statusUpdate": {**names, "status": {"state": "TASK_STATE_WORKING", "timestamp": NOW}}}
    text = message["parts"][0]["text"][:60]
    for n in range(CHUNKS):
        artifact = {"artifactId": "answer", "parts": [{"text": f"{n} {text} "}]}
        yield {"artifactUpdate": {**names, "artifact": artifact, "append": n > 0, "lastChunk": n == CHUNKS - 1}}
    yield {"statusUpdate": {**names, "status": {"state": "TASK_STATE_COMPLETED", "timestamp": NOW}}}


def _task(message: dict[str, Any], state: str) -> dict[str, Any]:
    task, context = uuid.uuid4().hex, uuid.uuid4().hex
    history = [{**message, "taskId": task, "contextId": context}]
    return {"id": task, "contextId": context, "status": {"state": state, "timestamp": NOW}, "history": history}


def _result(number: int, result: dict[str, Any]) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "id": number, "result": result})


async def _serve(port: int) -> None:
    application = web.Application()
    application.router.add_post("/", answer)
    await serve_until_told(web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN_TIMEOUT), port)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    uvloop.run(_serve(parser.parse_args().port))


if __name__ == "__main__":
    main()
