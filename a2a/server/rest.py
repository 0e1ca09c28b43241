"""HTTP+JSON (A2A 1.0, section 11), and that of 0.3 under `/v1`.

Answers have the media type of the request's body; where there is none, what Accept names. The tenant's path of 1.0 is
served under the agent's own name, the only tenant it has.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from a2a.server import negotiation
from a2a.server.door import A2A_JSON, JSON, Door, check_type, parsed, response, retry_headers
from a2a.server.encoding import dumps
from a2a.server.faults import Fault, bad_field
from a2a.server.negotiation import echo, version_of
from a2a.server.operation import Operation
from a2a.server.spelling import V03_PROTO, V10, Spelling
from a2a.server.streams import Framing
from core.doors.ingress import Handle

Json = dict[str, Any]

BINDING = "HTTP+JSON"
_BOOLEANS = {"true": True, "false": False}
_PUSHES = "/tasks/{id}/pushNotificationConfigs"
_COMMON = (
    # What is more special stands first: `{id}` would take `1:subscribe` for an id.
    ("POST", "/message:send", Operation.SEND),
    ("POST", "/message:stream", Operation.STREAM),
    ("POST", "/tasks/{id}:cancel", Operation.CANCEL),
    ("POST", "/tasks/{id}:subscribe", Operation.SUBSCRIBE),
    ("GET", "/tasks/{id}:subscribe", Operation.SUBSCRIBE),
    ("GET", "/tasks/{id}", Operation.GET),
    ("GET", "/tasks", Operation.LIST),
    ("POST", _PUSHES, Operation.SET_PUSH),
    ("GET", _PUSHES, Operation.LIST_PUSHES),
    ("GET", f"{_PUSHES}/{{config}}", Operation.GET_PUSH),
    ("DELETE", f"{_PUSHES}/{{config}}", Operation.DROP_PUSH),
)
_10 = (*_COMMON, ("GET", "/extendedAgentCard", Operation.EXTENDED_CARD))
_03 = (*_COMMON, ("GET", "/card", Operation.EXTENDED_CARD))
PATHS = (
    *((V10, method, path, operation) for method, path, operation in _10),
    *((V03_PROTO, method, f"/v1{path}", operation) for method, path, operation in _03),
)


@dataclass(frozen=True, slots=True)
class Resource:
    """One method of one path."""

    method: str
    path: str
    handle: Handle


class RestDoor:
    """One agent's resources."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def resources(self) -> Iterator[Resource]:
        """Paths below the agent's own."""
        for spelling, method, path, operation in PATHS:
            handle = self._handle(spelling, operation)
            yield Resource(method, path, handle)
            if spelling is V10:
                yield Resource(method, f"/{self._door.agent}{path}", handle)

    def _handle(self, spelling: Spelling, operation: Operation) -> Handle:
        async def handle(request: web.Request, body: bytes) -> web.StreamResponse:
            with self._door.telling(request, BINDING) as told:
                told.update(operation=operation.value, version=spelling.version)
                media_type = _wanted_type(request)
                try:
                    if body:
                        media_type = check_type(request, (JSON, A2A_JSON))
                    return await self._answer(request, body, spelling, operation, media_type, told)
                except Fault as fault:
                    told["outcome"] = fault.outcome
                    status = fault.kind.value.status
                    return response(request, status, spelling.refusal(fault), media_type, retry_headers(fault))

        return handle

    async def _answer(
        self, request: web.Request, body: bytes, spelling: Spelling, operation: Operation, media_type: str, told: Json
    ) -> web.StreamResponse:
        _check_version(request, spelling)
        said = parsed(body, self._door.account.settings.limits.depth) if body else {}
        if not isinstance(said, dict):
            raise bad_field("", "the body should be an object")
        call = self._door.call(request, spelling, _params(request, operation, said))
        headers = echo(call.extensions, spelling.version)
        if operation.streams:
            return await self._door.account.streams.serve(
                request,
                call.caller.owner,
                self._door.operations.events(operation, call),
                Framing(_frame, lambda fault: b"event: error\n" + _frame(spelling.refusal(fault))),
                headers=headers,
                told=told,
            )
        result = await self._door.result(operation, call, request)
        told["outcome"] = "ok"
        return response(request, 200, {} if result is None else result, media_type, headers)


def _check_version(request: web.Request, spelling: Spelling) -> None:
    """The path is of one version; a call of another is refused, in words that say how to make it."""
    version = version_of(request)
    if version != spelling.version:
        remedy = "send A2A-Version: 1.0" if spelling is V10 else "leave A2A-Version out, or send 0.3"
        raise negotiation.unsupported_version(
            f"this path is of version {spelling.version} and the call of {version} ({remedy})"
        )


def _params(request: web.Request, operation: Operation, said: Json) -> Json:
    """The parameters of the same operation in JSON-RPC: body, query and path put together; the path holds."""
    params = said if request.method == "POST" else _query(request)
    id, config = request.match_info.get("id"), request.match_info.get("config")
    if operation.is_about_push:
        params = {**params, "taskId": id}
        return params if config is None else {**params, "id": config}
    return params if id is None else {**params, "id": id}


def _query(request: web.Request) -> Json:
    """Section 11.5: camelCase, booleans in lower case; numbers are read as strings are."""
    return {name: _BOOLEANS.get(value, value) for name, value in request.query.items()}


def _wanted_type(request: web.Request) -> str:
    accept = request.headers.get("Accept", "")
    return A2A_JSON if A2A_JSON in accept and JSON not in accept else JSON


def _frame(said: Json) -> bytes:
    return b"data: " + dumps(said) + b"\n\n"
