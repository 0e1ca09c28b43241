"""How long people wait, in the seconds and minutes that are shipped; they pass in a moment (tests/doubles/hours.py)."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from core.agent import Ask, Snapshot, TaskEvent, TaskState
from core.patience import Patience
from tests.doubles.agent import FakeAgent, task, task_id
from tests.doubles.hours import LoopClock, passing
from tests.doubles.store import MemoryStore
from tests.doubles.world import World, world
from tests.waiting import until

SHIPPED = Patience()


@pytest.mark.case("A2A-07")
@pytest.mark.parametrize("silent", [0, 5, 11.9, 12.1, 15, 23, 60])
def test_a_question_that_an_open_stream_keeps_back_is_shown_within_twenty_seconds(silent: float) -> None:
    async def keeps_back(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        await asyncio.sleep(silent)
        agent.tasks[task_id(ask)] = task(ask, TaskState.INPUT_REQUIRED, message="Which day?")
        await asyncio.Event().wait()

    async def waited() -> float:
        async with world(MemoryStore(), agent, patience=SHIPPED, clock=(clock := LoopClock())) as desk:
            await desk.says("book")
            await until(desk.plugin.shown, pause=0.1)
            assert desk.plugin.shown() == ["Which day?"]
            return clock.monotonic() - silent

    agent = FakeAgent(keeps_back)
    assert passing(waited()) <= 20


TEN_MINUTES = 600


@pytest.mark.case("A2A-20")
@pytest.mark.parametrize("road", ["stream", "poll", "push"])
def test_work_of_ten_minutes_is_waited_for_and_no_failure_is_shown(road: str) -> None:
    """The send is answered at once with a task at work, or streams and says nothing."""

    async def works(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING, time=1.0)
        if road == "stream":
            await asyncio.sleep(TEN_MINUTES)
            yield done(ask)

    agent = FakeAgent(works)
    agent.way = "send" if road == "push" else ""

    async def waited() -> float:
        async with world(MemoryStore(), agent, patience=SHIPPED, clock=(clock := LoopClock())) as desk:
            await desk.says("long work")
            if road != "stream":
                await asyncio.sleep(TEN_MINUTES)
                await ends(desk)
            await until(desk.plugin.shown, pause=1.0)
            came = clock.monotonic()
            await asyncio.sleep(TEN_MINUTES)  # nothing more is said of it
            assert desk.plugin.shown() == ["at last"]
            return came

    async def ends(desk: World) -> None:
        if road == "poll":
            agent.tasks[task_id(agent.asks[0])] = done(agent.asks[0])
            return
        target = desk.pushes.find(agent.pushes[-1][1].id)
        assert target is not None
        desk.tracker.pushed(target, done(agent.asks[0]))

    assert TEN_MINUTES <= passing(waited()) <= TEN_MINUTES + 1.2 * SHIPPED.poll(TEN_MINUTES, 1.0)
    assert len(agent.asks) == 1


def done(ask: Ask) -> Snapshot:
    return task(ask, TaskState.COMPLETED, "at last", time=9.0)
