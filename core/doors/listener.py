"""The process's socket: an aiohttp application, served with the bounds aiohttp does not set by itself.

aiohttp waits for a request's head as long as it keeps an idle connection, inflates bodies, names its version, and
answers a malformed request with its own words. `Listener` gives heads a deadline of their own, takes bodies as they
are sent, ends a connection behind a body that came in chunks, and answers every refusal, also those that reach no
handler, as a problem without detail.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from aiohttp.http_parser import RawRequestMessage

from core.doors.acknowledgement import SERVER_NAME
from core.doors.ingress import IngressLimits
from core.doors.refusal import problem

_log = logging.getLogger("frontdesk.listener")


class Listener:
    """Use as `async with`; listens from entry to exit. Leaving waits up to `grace` seconds for open requests.

    Entering runs the application's start-up and leaving its clean-up. Port 0 takes a free one.
    """

    def __init__(
        self,
        app: web.Application,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        limits: IngressLimits | None = None,
        grace: float = 10.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._host = host
        self.port = port  # from entry on, the one really bound
        self._limits = limits or IngressLimits()
        self._tls = tls
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=grace)
        self._socket_server: asyncio.Server | None = None
        app.on_response_prepare.append(_name_server)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        try:
            self._socket_server = await asyncio.get_running_loop().create_server(
                self._connection,
                self._host,
                self.port,
                ssl=self._tls,
                backlog=1024,
            )
        except BaseException:
            await self._runner.cleanup()
            raise
        self.port = int(self._socket_server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_accepting()
        await self._runner.cleanup()

    def stop_accepting(self) -> None:
        """New connections are refused; those that are open go on being served."""
        if self._socket_server is not None:
            self._socket_server.close()

    def _connection(self) -> "_Connection":
        if self._runner.server is None:
            raise RuntimeError("a connection came before set-up or after clean-up")
        return _Connection(self._runner.server, self._limits)


class _Connection(web.RequestHandler):
    """aiohttp's protocol with a deadline for heads and our own words for errors."""

    __slots__ = ("_head_deadline", "_head_since", "_head_timer", "_most_connections", "_server")

    def __init__(self, server: web.Server, limits: IngressLimits) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=limits.keepalive,
            lingering_time=limits.linger,
            auto_decompress=False,
            access_log=None,  # type: ignore[arg-type]  # aiohttp's own way to switch it off
        )
        self._server = server
        self._request_factory = partial(_request, server.request_factory)
        self._head_deadline = limits.head_deadline
        self._head_since: float | None = None  # when the unfinished head began; None between heads
        self._head_timer: asyncio.TimerHandle | None = None
        self._most_connections = limits.connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The first head's time runs from here, so a connection that says nothing ends as well."""
        super().connection_made(transport)
        if len(self._server.connections) > self._most_connections:
            self.force_close()
        else:
            self._await_head()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Nothing is left to time."""
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes that complete no request while one is awaited are the beginning of a head."""
        seen = self._request_count
        super().data_received(data)
        if self._request_count != seen:
            self._head_since = None
        elif self._head_since is None and self._waiter is not None and data:
            self._await_head()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002  # aiohttp's signature
    ) -> web.StreamResponse:
        """The cause goes to the log when it is ours; a malformed request is its sender's."""
        caller_left = isinstance(exc, ConnectionError) and self.transport is None
        if status >= 500 and not caller_left:
            _log.error("a request handler failed", exc_info=exc)
        _refuse_second_answer(request)
        return problem(status, headers={"Server": SERVER_NAME}, close=True)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Refusals that reached no handler (404, 405) or that a handler left to aiohttp get our shape."""
        if isinstance(resp, web.HTTPException) and resp.status >= 400:
            _refuse_second_answer(request)
            resp = _as_problem(request, resp)
        return await super().finish_response(request, resp, start_time)

    def _await_head(self) -> None:
        self._head_since = self._loop.time()
        if self._head_timer is None:
            self._head_timer = self._loop.call_later(self._head_deadline, self._head_is_due)

    def _head_is_due(self) -> None:
        """One timer a connection, set anew only when it fires early: a busy connection pays nothing per request."""
        self._head_timer = None
        if self._head_since is None:
            return
        due = self._head_since + self._head_deadline
        if self._loop.time() >= due:
            self.force_close()
        else:
            self._head_timer = self._loop.call_at(due, self._head_is_due)


def _request(make: Callable[..., web.BaseRequest], message: RawRequestMessage, *beside: Any) -> web.BaseRequest:
    """A chunked body may end with trailers, and aiohttp's parser takes the last of them for the first header of the
    request behind it (3.14.5). So nothing is read behind such a body: its connection ends with the answer."""
    return make(message._replace(should_close=True) if message.chunked else message, *beside)


def _refuse_second_answer(request: web.BaseRequest) -> None:
    """An answer that has begun can only be cut off; aiohttp ends the connection for a ConnectionError."""
    if request.writer.output_size > 0:
        raise ConnectionError("the answer has begun and cannot become an error")


def _as_problem(request: web.BaseRequest, error: web.HTTPException) -> web.Response:
    kept = ("Allow", "Retry-After", "WWW-Authenticate")
    headers = {name: error.headers[name] for name in kept if name in error.headers}
    return problem(error.status, headers=headers, close=not request.content.is_eof())


async def _name_server(_request: web.BaseRequest, response: web.StreamResponse) -> None:
    response.headers["Server"] = SERVER_NAME
