"""The platform, and the stores that a journey walks over."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.store import Store
from gateway.store.sqlite import SqliteStore
from tests.fakes.wechat import FakeWechat


@pytest.fixture
async def platform() -> AsyncIterator[FakeWechat]:
    async with FakeWechat() as fake:
        yield fake


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with SqliteStore(tmp_path / "desk.db") as sqlite:
        await sqlite.hold()
        yield sqlite
