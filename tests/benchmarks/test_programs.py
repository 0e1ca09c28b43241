"""The ceilings and the stubs do what they are measured at: as real processes, driven for a moment."""

import asyncio

import pytest

from benchmarks.line import Line, line
from benchmarks.load import Plan, drive
from benchmarks.programs import BARE, DURABLE, MINIMAL, Program
from benchmarks.series import Series
from tests.waiting import within

PATIENCE = 20.0  # seconds without progress
pytestmark = pytest.mark.timeout(60)


async def sent(running: Line, total: int, **more: float) -> tuple[Series, set[int]]:
    series = Series.fresh(running.numbering, "test", total, 5)
    report = await drive(running.plan(series, 4, **more))
    assert report.failed == 0
    return series, set(report.accepted)


async def until_at_work(running: Line, count: int) -> None:
    async with within(PATIENCE):
        while True:
            if (await running.asked())["at_work"] == count:
                return
            await asyncio.sleep(0)


@pytest.mark.parametrize("program", [BARE, DURABLE], ids=lambda program: program.name)
async def test_a_ceiling_of_admission_answers_every_webhook(program: Program) -> None:
    async with line(program) as running:
        _, accepted = await sent(running, 40)
    assert accepted == set(range(40))


@pytest.mark.parametrize("program", [DURABLE, MINIMAL], ids=lambda program: program.name)
async def test_a_ceiling_lets_nobody_in_without_the_secret(program: Program) -> None:
    async with line(program) as running:
        series = Series.fresh(running.numbering, "test", 5, 5)
        report = await drive(Plan(f"{running.server.url}{program.hook}", series, 1, "wrong"))
    assert report.errors == {"http_401": 5}


@pytest.mark.parametrize("is_streaming", [False, True], ids=["whole", "streamed"])
async def test_the_minimal_gateway_shows_every_message_once_and_in_order(is_streaming: bool) -> None:
    async with line(MINIMAL, is_streaming=is_streaming) as running:
        series, accepted = await sent(running, 60, duplicates=0.2)
        assert await running.until_shown(len(accepted), PATIENCE)
        shown = await running.shown(series)
        asked = await running.asked()
    assert set(shown) == accepted
    assert {it.count for it in shown.values()} == {1}
    assert {it.chat for it in shown.values()} == {series.chat(index) for index in accepted}
    assert asked == {"calls": len(accepted), "messages": len(accepted), "at_work": 0}


async def test_the_minimal_gateway_takes_up_after_a_kill_what_it_had_accepted() -> None:
    async with line(MINIMAL, is_parked=True) as running:
        series, accepted = await sent(running, 30)
        await running.server.kill()
        await running.release()
        await running.server.start()
        assert await running.until_shown(len(accepted), PATIENCE)
        assert set(await running.shown(series)) == accepted


async def test_a_parked_agent_answers_nothing_before_the_release() -> None:
    async with line(MINIMAL, is_parked=True) as running:
        _, accepted = await sent(running, 10)
        await until_at_work(running, 5)  # one of each chat
        assert await running.marker_count() == 0
        await running.release()
        assert await running.until_shown(len(accepted), PATIENCE)
