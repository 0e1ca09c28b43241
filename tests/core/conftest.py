"""The stores the journeys walk over: the double, and the real engine."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.store import Store
from gateway.store.sqlite import SqliteStore
from tests.doubles.store import MemoryStore


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
        return
    async with SqliteStore(tmp_path / "frontdesk.db") as sqlite:
        await sqlite.hold()
        yield sqlite
