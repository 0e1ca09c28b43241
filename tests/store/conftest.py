"""The engines, each as a factory; every test of the conformance suite runs over all of them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from gateway.store.rules import Policy
from gateway.store.sqlite import SqliteStore
from tests.doubles.clock import ManualClock
from tests.doubles.store import MemoryStore
from tests.store.line import Engine, Line

StoreFactory = Callable[[Policy, ManualClock], Awaitable[Engine]]


@pytest.fixture(params=["sqlite", "memory"])
async def store_factory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[StoreFactory]:
    async with AsyncExitStack() as stack:

        async def sqlite(policy: Policy, clock: ManualClock) -> Engine:
            store = await stack.enter_async_context(SqliteStore(tmp_path / "desk.db", policy=policy, clock=clock))
            await store.hold()
            return store

        async def memory(policy: Policy, clock: ManualClock) -> Engine:
            return MemoryStore(policy=policy, clock=clock)

        yield {"sqlite": sqlite, "memory": memory}[request.param]


@pytest.fixture
async def line(store_factory: StoreFactory) -> Line:
    clock = ManualClock()
    return Line(await store_factory(Policy(), clock), clock)


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with SqliteStore(tmp_path / "desk.db", clock=ManualClock(), busy_timeout=0.05) as store:
        await store.hold()
        yield store


@pytest.fixture
def sqlite_line(sqlite: SqliteStore) -> Line:
    return Line(sqlite)
