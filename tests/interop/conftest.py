"""The foreign servers, and a gateway between them whose log is searched at the end."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.lo_proxy import LoEmulator
from tests.journeys.conftest import pytest_runtest_makereport
from tests.journeys.process import GatewayProcess
from tests.journeys.setting import between
from tests.peers.processes import SdkAgent

__all__ = ("emulator", "gateway", "pytest_runtest_makereport", "sdk_agent")


@pytest.fixture
async def emulator() -> AsyncIterator[LoEmulator]:
    async with LoEmulator() as server:
        yield server
        assert not server.refusals, "the Bot API server did not accept what the gateway sent"


@pytest.fixture
async def sdk_agent() -> AsyncIterator[SdkAgent]:
    """With its tasks in memory."""
    async with SdkAgent() as agent:
        yield agent


@pytest.fixture
async def gateway(tmp_path: Path, emulator: LoEmulator, sdk_agent: SdkAgent) -> AsyncIterator[GatewayProcess]:
    async with between(tmp_path / "desk", emulator, sdk_agent.card_url) as process:
        yield process
