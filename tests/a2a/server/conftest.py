"""The stores that served tasks are tried over: the double, and the real engine."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.store import Store
from tests.a2a.server.desk import opened
from tests.doubles.store import MemoryStore


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
        return
    async with opened(tmp_path) as sqlite:
        yield sqlite
