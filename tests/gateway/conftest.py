"""A real server on loopback for the gateway's own pages, and a client for it."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import aiohttp
import pytest
from aiohttp.web import AbstractRouteDef, Application

from core.doors.listener import Listener
from tests.doubles.clock import ManualClock

TOKEN = "operator-token-0123456789"
BEARER = {"Authorization": f"Bearer {TOKEN}"}

Serve = Callable[[Iterable[AbstractRouteDef]], AbstractAsyncContextManager[aiohttp.ClientSession]]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def serve() -> Serve:
    """A client of a server with these routes; its addresses are paths."""

    @asynccontextmanager
    async def serving(routes: Iterable[AbstractRouteDef]) -> AsyncIterator[aiohttp.ClientSession]:
        app = Application()
        app.add_routes(routes)
        async with (
            Listener(app, grace=1.0) as listener,
            aiohttp.ClientSession(f"http://127.0.0.1:{listener.port}", timeout=aiohttp.ClientTimeout(10)) as client,
        ):
            yield client

    return serving
