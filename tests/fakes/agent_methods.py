"""How the scripted agent answers: a stream, one answer at the end, a task, a list (A2A 1.0, sections 3.1 and 9.4)."""

from typing import Any

from aiohttp import web

from tests.fakes.agent_events import INTERRUPTED, TERMINAL, Kind
from tests.fakes.agent_rpc import RpcCall, RpcError
from tests.fakes.agent_tasks import PREFIX, AgentTask, Frame, Listener, Tasks

DEFAULT_PAGE = 50  # (ListTasksRequest.pageSize)
LARGEST_PAGE = 100


async def write_stream(
    request: web.Request,
    call: RpcCall,
    tasks: Tasks,
    task_id: str,
    listener: Listener,
    *,
    closes_at: frozenset[str] = TERMINAL | INTERRUPTED,
) -> web.StreamResponse:
    """Frames as they happen, until one tells of a state in `closes_at`, a bare message, or an ordered end."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    await response.prepare(request)
    try:
        while (frame := await listener.frames.get()).kind not in (Kind.CUT, Kind.END):
            if not frame.streamed:
                continue
            await response.write(frame.raw if frame.kind is Kind.BYTES else call.frame(frame.body))
            if frame.state in closes_at or _is_bare(frame, tasks, task_id):
                return response
    finally:
        tasks.leave(task_id, listener)
    if frame.kind is Kind.CUT and request.transport is not None:
        # What was written goes out before the connection breaks; then nothing ends the chunked body.
        request.transport.close()
    return response


async def answer_when_done(
    request: web.Request, call: RpcCall, tasks: Tasks, asked: AgentTask, listener: Listener
) -> web.StreamResponse:
    """One answer: at a terminal or interrupted state, or at once with `returnImmediately`."""
    configuration = call.params.get("configuration") or {}
    is_immediate = bool(configuration.get("returnImmediately"))
    try:
        while (frame := await listener.frames.get()).kind is not Kind.END:
            if frame.kind is Kind.CUT:
                if request.transport is not None:
                    request.transport.abort()
                return web.Response(status=500)
            if _is_bare(frame, tasks, asked.id):
                return call.result(frame.body)
            if is_immediate or frame.state in TERMINAL | INTERRUPTED:
                break
    finally:
        tasks.leave(asked.id, listener)
    if asked.id not in tasks.by_id:
        return call.error(RpcError(-32603))
    return call.result({"task": asked.wire(history=configuration.get("historyLength"))})


def _is_bare(frame: Frame, tasks: Tasks, task_id: str) -> bool:
    """Whether the frame is a message that answers without a task."""
    return frame.kind is Kind.MESSAGE and task_id not in tasks.by_id


def snapshot(known: AgentTask, call: RpcCall) -> dict[str, Any]:
    """The Task of GetTask."""
    return known.wire(history=_history_length(call))


def list_tasks(tasks: Tasks, call: RpcCall) -> dict[str, Any]:
    """The newest status first; a page token is the place in that order."""
    context_id, state = call.params.get("contextId"), call.params.get("status")
    size = call.params.get("pageSize", DEFAULT_PAGE)
    token = str(call.params.get("pageToken") or "0")
    if not isinstance(size, int) or not 1 <= size <= LARGEST_PAGE or not token.isdigit():
        raise RpcError(-32602)
    found = [
        known
        for known in tasks
        if context_id in (None, "", known.context_id) and state in (None, "", f"{PREFIX}{known.state}")
    ]
    # Of equal timestamps, the task made last comes first.
    ranked = sorted(enumerate(found), key=lambda place: (str(place[1].status["timestamp"]), place[0]), reverse=True)
    found = [known for _, known in ranked]
    start, end = int(token), int(token) + size
    shown = bool(call.params.get("includeArtifacts"))
    history = _history_length(call)
    return {
        "tasks": [known.wire(history=history, artifacts=shown) for known in found[start:end]],
        "nextPageToken": str(end) if end < len(found) else "",
        "pageSize": size,
        "totalSize": len(found),
    }


def _history_length(call: RpcCall) -> int | None:
    length = call.params.get("historyLength")
    if length is not None and (not isinstance(length, int) or length < 0):
        raise RpcError(-32602)
    return length
