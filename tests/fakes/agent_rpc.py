"""JSON-RPC and SSE as the scripted agent speaks them (A2A 1.0, sections 5.4 and 9), and its journal of calls."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.scripting import Exchange, Respond

PROTOCOL_VERSION = "1.0"

# code -> (message, ErrorInfo.reason)
ERRORS: Mapping[int, tuple[str, str]] = {
    -32700: ("Parse error", "PARSE_ERROR"),
    -32600: ("Invalid request", "INVALID_REQUEST"),
    -32601: ("Method not found", "METHOD_NOT_FOUND"),
    -32602: ("Invalid params", "INVALID_PARAMS"),
    -32603: ("Internal error", "INTERNAL_ERROR"),
    -32001: ("Task not found", "TASK_NOT_FOUND"),
    -32002: ("Task cannot be canceled", "TASK_NOT_CANCELABLE"),
    -32004: ("This operation is not supported", "UNSUPPORTED_OPERATION"),
    -32009: ("Version not supported", "VERSION_NOT_SUPPORTED"),
}


class RpcError(Exception):
    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(f"{code} {message}")
        self.code = code
        self.message = message or ERRORS[code][0]

    def answer(self, request_id: object) -> web.Response:
        info = {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": ERRORS.get(self.code, ("", "INTERNAL_ERROR"))[1],
            "domain": "a2a-protocol.org",
        }
        error = {"code": self.code, "message": self.message, "data": [info]}
        return web.json_response({"jsonrpc": "2.0", "id": request_id, "error": error})


@dataclass(frozen=True, slots=True)
class RpcCall:
    """One call as it arrived; a fetch of the card has the method "card" and no params."""

    method: str
    params: Mapping[str, Any]
    headers: Mapping[str, str]  # names compare without case
    request_id: object = None
    path: str = ""
    at: float = field(default_factory=time.monotonic)  # seconds, monotonic

    @property
    def message(self) -> Mapping[str, Any]:
        """The message sent, {} in calls that send none."""
        sent = self.params.get("message", {})
        return sent if isinstance(sent, Mapping) else {}

    @property
    def message_id(self) -> str:
        return str(self.message.get("messageId", ""))

    @property
    def text(self) -> str:
        return "\n".join(part["text"] for part in self.message.get("parts", ()) if "text" in part)


def result(request_id: object, body: object) -> web.Response:
    return web.json_response({"jsonrpc": "2.0", "id": request_id, "result": body})


def sse(request_id: object, body: object) -> bytes:
    """One frame; the whole JSON-RPC envelope travels in each."""
    envelope = {"jsonrpc": "2.0", "id": request_id, "result": body}
    return b"data: " + json.dumps(envelope, ensure_ascii=False).encode() + b"\n\n"


async def read_call(request: web.Request) -> RpcCall:
    """Raises RpcError for what is no JSON-RPC 2.0 request."""
    try:
        body = await request.json()
    except ValueError:
        raise RpcError(-32700) from None
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0" or not isinstance(body.get("method"), str):
        raise RpcError(-32600)
    params = body.get("params") or {}
    if not isinstance(params, dict):
        raise RpcError(-32602)
    return RpcCall(body["method"], params, request.headers, body.get("id"), request.path)


def rpc_error(code: int, message: str = "") -> Respond:
    """Refuse the call with a JSON-RPC error; any code, known or not."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        text = message or ERRORS.get(code, ("Error", ""))[0]
        return RpcError(code, text).answer(await _request_id(exchange))

    return respond


def html_page(status: int = 200) -> Respond:
    """An HTML page in place of the answer, as a captive portal or a proxy sends it."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        return web.Response(status=status, text="<html><body>Sign in</body></html>", content_type="text/html")

    return respond


def half_json() -> Respond:
    """The work is done, but the answer's JSON stops in the middle."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        await exchange.accept()
        return web.Response(text='{"jsonrpc":"2.0","id":"1","result":{"task":{"id":"t', content_type="application/json")

    return respond


def wrong_result(body: object) -> Respond:
    """A JSON-RPC answer whose result is not what the method promises."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        return result(await _request_id(exchange), body)

    return respond


def wrong_content_type(content_type: str = "text/plain") -> Respond:
    """A right answer under a wrong Content-Type; for calls that answer with one JSON body."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        answer = await exchange.perform()
        assert isinstance(answer, web.Response), "a stream cannot be relabelled"
        return web.Response(body=answer.body, content_type=content_type)

    return respond


def redirect(to: str) -> Respond:
    """302 to any address."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": to})

    return respond


def huge_body(size: int = 100 << 20) -> Respond:
    """An endless-looking JSON string of `size` bytes, without a Content-Length."""
    return _flood(b'{"jsonrpc":"2.0","id":"1","result":{"task":{"id":"', "application/json", size)


def endless_line(size: int | None = None) -> Respond:
    """An event stream whose first line does not end; None goes on until the client hangs up."""
    return _flood(b'data: {"jsonrpc":"2.0","id":"1","result":{"statusUpdate":"', "text/event-stream", size)


def _flood(head: bytes, content_type: str, size: int | None) -> Respond:
    async def respond(exchange: Exchange) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": content_type})
        await response.prepare(exchange.request)
        await response.write(head)
        chunk, left = b"x" * 65536, size
        while (left is None or left > 0) and not exchange.closing.is_set():
            await response.write(chunk)
            left = None if left is None else left - len(chunk)
        return response

    return respond


async def _request_id(exchange: Exchange) -> object:
    # aiohttp keeps the body that was read for the journal.
    body = await exchange.request.json()
    return body.get("id")
