"""JSON-RPC 2.0 over HTTP (A2A 1.0, section 9; 0.3, section 3.2.1): the methods of both versions at one path.

Errors travel with HTTP 200, but where HTTP itself has to say something: 400 for what is not JSON, 415 for another media
type, 503 with Retry-After when the call was not taken.
"""

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from a2a import wire, wire_03
from a2a.server.door import JSON, Door, check_type, parsed, response, retry_headers
from a2a.server.encoding import dumps
from a2a.server.faults import Fault, Kind, bad_field
from a2a.server.negotiation import echo, version_of
from a2a.server.operation import METHODS, METHODS_03, Operation
from a2a.server.spelling import V03, V10, Spelling
from a2a.server.streams import Framing

Json = dict[str, Any]
Id = str | int | float | None

BINDING = "JSONRPC"
_SPOKEN: Mapping[str, tuple[Spelling, Mapping[str, Operation]]] = {
    wire.PROTOCOL_VERSION: (V10, METHODS),
    wire_03.PROTOCOL_VERSION: (V03, METHODS_03),
}
_ID_TYPES = (str, int, float, type(None))
_LONGEST_ID = 1000  # characters
_MOST_DIGITS = 1 << 53  # beyond it an integer is not the same to every parser (RFC 8259, section 6)
_TOLD_BY_HTTP = frozenset({Kind.PARSE, Kind.CONTENT_TYPE, Kind.BUSY})


class RpcDoor:
    """One agent's methods."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def handle(self, request: web.Request, body: bytes) -> web.StreamResponse:
        """For the ingress."""
        id: Id = None
        with self._door.telling(request, BINDING) as told:
            try:
                check_type(request, (JSON,))
                said = parsed(body, self._door.account.settings.limits.depth)
                id = _id_of(said)
                return await self._answer(request, said, id, told)
            except Fault as fault:
                told["outcome"] = fault.outcome
                return _refused(request, id, fault)

    async def _answer(self, request: web.Request, said: Any, id: Id, told: Json) -> web.StreamResponse:
        method = _method_of(said)
        version = told["version"] = version_of(request)
        spelling, methods = _SPOKEN[version]
        operation = methods.get(method)
        if operation is None:
            raise Fault(Kind.METHOD_NOT_FOUND, _unknown_method(method, version))
        told["operation"] = operation.value
        try:
            return await self._carried_out(request, spelling, operation, said.get("params", {}), id, told)
        except Fault as fault:
            if not (operation.streams and spelling.is_old) or fault.kind in _TOLD_BY_HTTP:
                raise
            told["outcome"] = fault.outcome
            return _refused_stream(id, fault)

    async def _carried_out(
        self, request: web.Request, spelling: Spelling, operation: Operation, params: Any, id: Id, told: Json
    ) -> web.StreamResponse:
        if not isinstance(params, dict):
            raise bad_field("params", "should be an object")
        call = self._door.call(request, spelling, params)
        headers = echo(call.extensions, spelling.version)
        if operation.streams:
            return await self._door.account.streams.serve(
                request,
                call.caller.owner,
                self._door.operations.events(operation, call),
                _framing(id),
                headers=headers,
                told=told,
            )
        result = await self._door.result(operation, call, request)
        told["outcome"] = "ok"
        return response(request, 200, {"jsonrpc": "2.0", "id": id, "result": result}, JSON, headers)


def _id_of(said: Any) -> Id:
    """The request's id, as far as it can be told; a response must have it (JSON-RPC 2.0, section 5)."""
    if not isinstance(said, dict):
        return None
    id = said.get("id")
    if isinstance(id, bool) or not isinstance(id, _ID_TYPES):
        return None
    if isinstance(id, str):
        return id if len(id) <= _LONGEST_ID else None
    return id if id is None or abs(id) <= _MOST_DIGITS else None


def _method_of(said: Any) -> str:
    """Raises Fault for what is no request by JSON-RPC 2.0, section 4."""
    if isinstance(said, list):
        raise Fault(Kind.INVALID_REQUEST, "batches are not taken; send one request at a time")
    if not isinstance(said, dict):
        raise Fault(Kind.INVALID_REQUEST, "a request is an object")
    if said.get("jsonrpc") != "2.0":
        raise Fault(Kind.INVALID_REQUEST, 'jsonrpc should be "2.0"')
    if said.get("id") is not None and _id_of(said) is None:
        raise Fault(Kind.INVALID_REQUEST, "id should be a string or a number")
    method = said.get("method")
    if not isinstance(method, str):
        raise Fault(Kind.INVALID_REQUEST, "method should be a string")
    return method


def _unknown_method(method: str, version: str) -> str:
    """What helps most is to say which version has it, since who sends no version speaks 0.3."""
    other = next((each for each, (_, methods) in _SPOKEN.items() if each != version and method in methods), None)
    hint = f"; version {other} has it: send A2A-Version: {other}" if other else ""
    return f"version {version} of the protocol has no method {method[:80]!r}{hint}"


def _error(id: Id, fault: Fault) -> Json:
    return {"jsonrpc": "2.0", "id": id, "error": fault.rpc()}


def _refused(request: web.Request, id: Id, fault: Fault) -> web.StreamResponse:
    status = fault.kind.value.status if fault.kind in _TOLD_BY_HTTP else 200
    return response(request, status, _error(id, fault), JSON, retry_headers(fault))


def _refused_stream(id: Id, fault: Fault) -> web.Response:
    """A call of 0.3 that streams is answered by a stream, also when it is refused: its clients read no other answer.

    0.3, section 3.3: the Content-Type is `text/event-stream`, and each event a whole JSON-RPC response.
    """
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return web.Response(body=_frame(_error(id, fault)), content_type="text/event-stream", headers=headers)


def _framing(id: Id) -> Framing:
    """Every event is a whole response with the request's id (section 9.4.2)."""
    return Framing(
        lambda event: _frame({"jsonrpc": "2.0", "id": id, "result": event}), lambda fault: _frame(_error(id, fault))
    )


def _frame(said: Json) -> bytes:
    return b"data: " + dumps(said) + b"\n\n"
