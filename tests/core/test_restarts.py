"""What a restart finds goes on: every piece of work, and everything queued."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from core.agent import Artifact, ArtifactUpdate, Ask, TaskEvent, TaskState
from core.parts import Text
from core.store import Store
from tests.core.turns import has_task, is_waiting
from tests.doubles.agent import FakeAgent, Parked, context, task, task_id
from tests.doubles.plugin import FakePlugin
from tests.doubles.world import SOON, world
from tests.waiting import until


@pytest.mark.case("A2A-04")
async def test_a_restart_in_the_middle_of_a_task_delivers_the_rest_once(store: Store) -> None:
    agent = FakeAgent(Parked())
    async with world(store, agent) as before:
        await before.says("hi")
        await until(lambda: agent.tasks)
        await until(lambda: has_task(store))
    agent.tasks[task_id(agent.asks[0])] = task(agent.asks[0], TaskState.COMPLETED, "the rest")
    async with world(store, agent) as after:
        assert await after.plugin.until(1) == ["the rest"]
    assert len(agent.asks) == 1


@pytest.mark.case("A2A-04")
async def test_of_several_artifacts_a_restart_delivers_those_that_were_not_delivered_before_it(store: Store) -> None:
    is_patient = asyncio.Event()
    made = tuple(Artifact(f"a{n}", (Text(text),), name=text) for n, text in enumerate(("one", "two", "three", "four")))

    async def works_on(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        await is_patient.wait()
        for artifact in made[:2]:
            yield ArtifactUpdate(task_id(ask), context(ask), artifact, last=True)
        await asyncio.Event().wait()

    agent = FakeAgent(works_on)
    async with world(store, agent, patience=replace(SOON, foreground=0.01, quiet=60.0)) as before:
        await before.says("hi")
        await until(lambda: is_waiting(store))
        is_patient.set()
        assert await before.plugin.until(2) == ["one", "two"]
        await until(lambda: len(before.events.of("delivery.attempted")) == 2)
    whole = task(agent.asks[0], TaskState.COMPLETED)
    agent.tasks[whole.task_id] = replace(whole, artifacts=made)
    async with world(store, agent) as after:
        await until(lambda: after.events.of("turn.finished"))
        await after.says("/status", keys=("status",))
        await until(lambda: any("Nothing" in text for text in after.plugin.shown()))
        assert after.plugin.shown()[:2] == ["three", "four"]
        assert not {"one", "two"} & set(after.plugin.shown())
    assert len(agent.asks) == 1


@pytest.mark.case("DEL-03")
async def test_an_attempt_that_had_begun_at_a_kill_is_unknown_after_the_start(store: Store) -> None:
    hanging = FakePlugin()
    hanging.gate = asyncio.Event()
    async with world(store, plugin=hanging) as before:
        await before.says("hi")
        await until(lambda: before.events.of("turn.finished"))
        await until(store.begun)
    plugin = FakePlugin()
    async with world(store, plugin=plugin):
        assert "may not have arrived" in "".join(await plugin.until(2))
        assert "HI" not in plugin.shown()


async def test_everything_queued_behind_a_turn_at_a_stop_is_answered_after_the_start(store: Store) -> None:
    agent = FakeAgent(Parked())
    async with world(store, agent) as before:
        await before.says("one")
        await until(lambda: has_task(store))
        for text in ("two", "three", "four"):
            await before.says(text)
    agent.tasks[task_id(agent.asks[0])] = task(agent.asks[0], TaskState.COMPLETED, "ONE")
    agent.script = FakeAgent().script
    async with world(store, agent) as after:
        assert await after.plugin.until(4) == ["ONE", "TWO", "THREE", "FOUR"]
        await until(lambda: after.lanes.queued == 0)


async def test_what_comes_due_after_its_line_was_cut_off_begins_nothing(store: Store) -> None:
    begun = asyncio.Event()

    async def late() -> None:
        begun.set()

    async with world(store) as desk:
        pass
    desk.tracker.spawn(late, "late")
    await asyncio.sleep(0)
    assert not begun.is_set()


async def test_a_cancel_marked_before_a_stop_is_sent_after_the_start(store: Store) -> None:
    agent = FakeAgent(Parked())
    async with world(store, agent) as before:
        await before.says("one")
        await until(lambda: has_task(store))
        [turn] = await store.unfinished()
        assert await store.mark_cancel(turn.id)
    async with world(store, agent) as after:
        await until(lambda: agent.cancels)
        await until(lambda: "Cancelled." in after.plugin.shown())
