"""What every fake server shares: a loopback port, a way down and up again, and waiting without sleeping.

A fake keeps its memory in itself and builds a new aiohttp application each time it comes up, so that a test can take
the vendor off the network (connections refused, open ones aborted) and bring it back on the same port.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler

from tests.waiting import within

T = TypeVar("T")

LOOPBACK = "127.0.0.1"
BODY_LIMIT = 8 << 20  # bytes; far above any request a correct gateway makes to a vendor
SHUTDOWN_TIMEOUT = 2.0  # seconds; only a net: connections are aborted before the server is told to stop
PATIENCE = 10.0  # seconds; how long a test waits for what must happen, on a machine that others use too


class Changes:
    """Wakes those who wait for a state to come about; whoever changes the state calls `mark`."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def mark(self) -> None:
        marked, self._next = self._next, asyncio.Event()
        marked.set()

    async def until(self, holds: Callable[[], T], *, timeout: float = PATIENCE, what: str = "the condition") -> T:
        """The first truthy value of `holds`, looked at again after every mark.

        Raises TimeoutError, with `what`, when this process ran for `timeout` seconds before it holds.
        """
        async with within(timeout, what=what):
            while not (found := holds()):
                await self._next.wait()
        return found


class Loopback(ABC):
    """A fake server as an async context manager; `base` is its origin, without a slash at the end."""

    def __init__(self) -> None:
        self.changes = Changes()
        self.closing = asyncio.Event()
        self._port = 0
        self._runner: web.AppRunner | None = None
        self._open: set[asyncio.Transport] = set()

    @property
    def base(self) -> str:
        assert self._port, "the fake server has not been started"
        return f"http://{LOOPBACK}:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    @abstractmethod
    def add_routes(self, router: web.UrlDispatcher) -> None:
        """Called at each coming up, since an aiohttp application serves only once."""

    async def __aenter__(self) -> Self:
        await self.come_up()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.go_down()

    async def come_up(self) -> None:
        """Listen: on a free port the first time, on the same port afterwards."""
        self.closing = asyncio.Event()
        app = web.Application(client_max_size=BODY_LIMIT, middlewares=[self._track])
        self.add_routes(app.router)
        # Cancellation at disconnect: a hanging answer must not outlive the client that gave it up.
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=SHUTDOWN_TIMEOUT)
        await self._runner.setup()
        await web.TCPSite(self._runner, LOOPBACK, self._port).start()
        self._port = self._runner.addresses[0][1]

    async def go_down(self) -> None:
        """Refuse connections and abort the open ones; what the fake remembers stays."""
        runner, self._runner = self._runner, None
        if runner is None:
            return
        self.closing.set()
        for transport in tuple(self._open):
            transport.abort()
        await runner.cleanup()

    @web.middleware
    async def _track(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        transport = request.transport
        if transport is None:
            return web.Response(status=499)
        self._open.add(transport)
        try:
            return await handler(request)
        finally:
            self._open.discard(transport)
