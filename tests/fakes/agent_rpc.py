"""The scripted agent's calls, as its journal keeps them, its errors (A2A 1.0, section 5.4), and answers gone wrong."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from aiohttp import web

from tests.fakes.scripting import Exchange, Respond

# code -> (message, ErrorInfo.reason)
ERRORS: Mapping[int, tuple[str, str]] = {
    -32700: ("Parse error", "PARSE_ERROR"),
    -32600: ("Invalid request", "INVALID_REQUEST"),
    -32601: ("Method not found", "METHOD_NOT_FOUND"),
    -32602: ("Invalid params", "INVALID_PARAMS"),
    -32603: ("Internal error", "INTERNAL_ERROR"),
    -32001: ("Task not found", "TASK_NOT_FOUND"),
    -32002: ("Task cannot be canceled", "TASK_NOT_CANCELABLE"),
    -32003: ("Push Notification is not supported", "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    -32004: ("This operation is not supported", "UNSUPPORTED_OPERATION"),
    -32005: ("Incompatible content types", "CONTENT_TYPE_NOT_SUPPORTED"),
    -32009: ("Version not supported", "VERSION_NOT_SUPPORTED"),
}


class RpcError(Exception):
    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(f"{code} {message}")
        self.code = code
        self.message = message or ERRORS[code][0]


def details(code: int) -> list[dict[str, Any]]:
    """What 1.0 adds to an error so that it is told apart (section 9.5, 11.6)."""
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": ERRORS.get(code, ("", "INTERNAL_ERROR"))[1],
        "domain": "a2a-protocol.org",
    }
    return [info]


@dataclass(frozen=True, slots=True)
class RpcCall:
    """One call as it arrived, in the words of 1.0; a fetch of the card has the method "card" and no params."""

    method: str
    params: Mapping[str, Any]
    headers: Mapping[str, str]  # names compare without case
    request_id: object = None
    path: str = ""
    http: str = ""  # GET or POST
    binding: "Binding | None" = None
    body: Mapping[str, Any] = field(default_factory=dict)  # as it was written, in the words of its version
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

    @property
    def is_old(self) -> bool:
        """Whether it is of 0.3."""
        return self.binding is not None and self.binding.version == "0.3"

    def result(self, body: Any) -> web.Response:
        """`body` is in the words of 1.0."""
        return self._asked_by.result(self, body)

    def frame(self, body: Any) -> bytes:
        """One event of a stream."""
        return self._asked_by.frame(self, body)

    def error(self, error: RpcError) -> web.Response:
        return self._asked_by.error(self, error)

    @property
    def _asked_by(self) -> "Binding":
        assert self.binding is not None, f"{self.method} is no call of a method"
        return self.binding


class Binding(Protocol):
    """How a call's answers are written."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def result(self, call: RpcCall, body: Any) -> web.Response: ...

    def verbatim(self, call: RpcCall, body: Any) -> web.Response:
        """A result in whatever words it is."""
        ...

    def frame(self, call: RpcCall, body: Any) -> bytes: ...

    def error(self, call: RpcCall, error: RpcError) -> web.Response: ...


CALL = web.RequestKey("call", RpcCall)


def rpc_error(code: int, message: str = "") -> Respond:
    """Refuse the call with an error by the protocol; any code, known or not."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        return exchange.request[CALL].error(RpcError(code, message or ERRORS.get(code, ("Error", ""))[0]))

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
    """An answer whose result is not what the method promises, written as it is."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        call = exchange.request[CALL]
        assert call.binding is not None
        return call.binding.verbatim(call, body)

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
