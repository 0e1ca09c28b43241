"""The two ends and the process between them; at the end of each test the gateway's log is searched.

Where a test fails, the end of the log is part of the report.
"""

from collections.abc import AsyncIterator, Generator
from pathlib import Path

import pytest

from tests.fakes.agent import ScriptedAgent
from tests.fakes.telegram import FakeTelegram
from tests.journeys.process import GatewayProcess
from tests.journeys.setting import between, configured, words_said


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for name, value in getattr(item, "funcargs", {}).items():
            process = getattr(value, "gateway", value)
            if isinstance(process, GatewayProcess):
                report.sections.append((f"log of {name}", process.tail()))
    return report


@pytest.fixture
async def telegram() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as server:
        yield server


@pytest.fixture
async def agent() -> AsyncIterator[ScriptedAgent]:
    async with ScriptedAgent() as server:
        yield server


@pytest.fixture
async def gateway(tmp_path: Path, telegram: FakeTelegram, agent: ScriptedAgent) -> AsyncIterator[GatewayProcess]:
    async with between(tmp_path / "desk", telegram, agent.card_url, said=lambda: words_said(telegram)) as process:
        yield process


@pytest.fixture
async def second(
    tmp_path: Path, telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> AsyncIterator[GatewayProcess]:
    """Stands by for the gateway, which has been started, on the same file."""
    await gateway.start()
    async with configured(tmp_path / "second", telegram.base, telegram.token, agent.card_url) as process:
        process.configure("gateway", store=f"sqlite:///{gateway.database}")
        await process.launch()
        await process.event("gateway.standing_by")
        yield process
