"""A fast stub of a remote A2A agent: JSON-RPC, protocol 1.0. It answers every message with its own text.

POST /                     SendMessage, SendStreamingMessage, GetTask, ListTasks, CancelTask, SubscribeToTask
GET  /.well-known/agent-card.json
GET  /stub/count           {"calls": n, "messages": n, "at_work": n}: calls made, distinct messageIds, not yet answered
POST /stub/release         lets go of every parked message, those to come included
"""

import argparse
import asyncio
from collections import Counter
from dataclasses import dataclass

import orjson
from aiohttp import web

from benchmarks.stubs.agent_tasks import PAGE, Json, Task, Tasks
from benchmarks.stubs.serving import reply, serve

STREAM_HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}

TASK_NOT_FOUND = (-32001, "Task not found")
UNSUPPORTED_OPERATION = (-32004, "The task is terminal")
INVALID_REQUEST = (-32600, "Not a JSON-RPC request")
METHOD_NOT_FOUND = (-32601, "Method not found")
INVALID_PARAMS = (-32602, "A message needs a messageId and parts")


@dataclass(frozen=True, slots=True)
class Manner:
    """How the agent behaves."""

    latency: float = 0.0  # seconds before the first word
    events: int = 4  # artifact chunks of a streamed answer
    is_streaming: bool = True  # what the card says, and what is served
    is_parked: bool = False  # no message is answered before the release


class Agent:
    def __init__(self, manner: Manner) -> None:
        self._manner = manner
        self._tasks = Tasks()
        self._calls: Counter[str] = Counter()
        self._at_work = 0
        self._release = asyncio.Event()
        if not manner.is_parked:
            self._release.set()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        match request.method, request.path:
            case "POST", "/":
                return await self._call(request)
            case "GET", "/.well-known/agent-card.json":
                return reply(self._card(f"http://{request.host}/"))
            case "GET", "/stub/count":
                counted = {"calls": self._calls.total(), "messages": len(self._calls), "at_work": self._at_work}
                return reply(counted)
            case "POST", "/stub/release":
                self._release.set()
                return reply({})
        return reply({}, 404)

    async def _call(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            call = orjson.loads(await request.read())
            number, method, params = call["id"], call["method"], call.get("params") or {}
        except (ValueError, KeyError, TypeError):
            return _error(None, INVALID_REQUEST)
        if method == "SendMessage" or (method == "SendStreamingMessage" and self._manner.is_streaming):
            return await self._send(request, number, params, streamed=method != "SendMessage")
        if method == "ListTasks":
            return _result(number, self._listed(params))
        if method not in ("GetTask", "CancelTask", "SubscribeToTask"):
            return _error(number, METHOD_NOT_FOUND)
        task = self._tasks.get(params.get("id"))
        if task is None:
            return _error(number, TASK_NOT_FOUND)
        return await self._about(request, number, method, task)

    def _listed(self, params: Json) -> Json:
        with_artifacts = bool(params.get("includeArtifacts"))
        found = self._tasks.of(params.get("contextId"))
        tasks = [task.whole(history=True, artifacts=with_artifacts) for task in found]
        return {"tasks": tasks, "nextPageToken": "", "pageSize": PAGE, "totalSize": len(tasks)}

    async def _about(self, request: web.BaseRequest, number: object, method: str, task: Task) -> web.StreamResponse:
        if method == "GetTask":
            return _result(number, task.whole(history=True))
        if task.is_terminal:
            return _error(number, UNSUPPORTED_OPERATION)
        if method == "CancelTask":
            task.state = "CANCELED"
            return _result(number, task.whole())
        stream = await _stream(request)
        await _event(stream, number, {"task": task.whole()})
        await self._release.wait()
        await _event(stream, number, task.status_update())
        await stream.write_eof()
        return stream

    async def _send(
        self, request: web.BaseRequest, number: object, params: Json, *, streamed: bool
    ) -> web.StreamResponse:
        message = params.get("message") or {}
        if not message.get("messageId") or not message.get("parts"):
            return _error(number, INVALID_PARAMS)
        self._calls[message["messageId"]] += 1
        task = self._tasks.begin(message, self._calls[message["messageId"]])
        self._at_work += 1
        try:
            await self._release.wait()
            if self._manner.latency:
                await asyncio.sleep(self._manner.latency)
            if streamed:
                return await self._answer_in_pieces(request, number, task)
            self._finish(task)
            return _result(number, {"task": task.whole()})
        finally:
            self._finish(task)
            self._at_work -= 1

    async def _answer_in_pieces(self, request: web.BaseRequest, number: object, task: Task) -> web.StreamResponse:
        stream = await _stream(request)
        await _event(stream, number, {"task": task.whole()})
        task.state = "WORKING"
        await _event(stream, number, task.status_update())
        for chunk in task.chunks(self._manner.events):
            await _event(stream, number, chunk)
        self._finish(task)
        await _event(stream, number, task.status_update())
        await stream.write_eof()
        return stream

    @staticmethod
    def _finish(task: Task) -> None:
        """Whoever hangs up, the work is done: a gateway that was killed finds the answer here."""
        if not task.is_terminal:
            task.state = "COMPLETED"

    def _card(self, url: str) -> Json:
        skill = {"id": "echo", "name": "echo", "description": "says the text again", "tags": ["echo"]}
        return {
            "name": "stub",
            "description": "echoes",
            "version": "1",
            "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "capabilities": {"streaming": self._manner.is_streaming},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [skill],
        }


def _result(number: object, result: Json) -> web.Response:
    return reply({"jsonrpc": "2.0", "id": number, "result": result})


def _error(number: object, error: tuple[int, str]) -> web.Response:
    return reply({"jsonrpc": "2.0", "id": number, "error": {"code": error[0], "message": error[1]}})


async def _stream(request: web.BaseRequest) -> web.StreamResponse:
    stream = web.StreamResponse(headers=STREAM_HEADERS)
    await stream.prepare(request)
    return stream


async def _event(stream: web.StreamResponse, number: object, result: Json) -> None:
    await stream.write(b"data: " + orjson.dumps({"jsonrpc": "2.0", "id": number, "result": result}) + b"\n\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before the first word")
    parser.add_argument("--events", type=int, default=4, help="artifact chunks of a streamed answer")
    parser.add_argument("--no-streaming", action="store_true", help="the card offers no streams")
    parser.add_argument("--parked", action="store_true", help="answer nothing before POST /stub/release")
    given = parser.parse_args()
    manner = Manner(given.latency, given.events, not given.no_streaming, given.parked)
    serve(given.port, Agent(manner).answer)


if __name__ == "__main__":
    main()
