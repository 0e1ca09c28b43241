"""Agents that misbehave behind the server side: what a caller is told is ordered, final, and never another's."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import permutations

import pytest

from a2a.server.port import Send, ServedEvent, ServedTask
from core.agent import Artifact, ArtifactUpdate, Ask, TaskEvent, TaskState
from core.errors import Declined, NotAccepted, NotAuthorised
from core.parts import Text, text_of
from core.store import Store
from tests.a2a.server.desk import ANN, BOB, PATIENT, Desk, desk, each, lines, shown
from tests.core.turns import is_waiting
from tests.doubles.agent import FakeAgent, context, status, task, task_id
from tests.doubles.world import SOON
from tests.waiting import until


async def streamed(there: Desk) -> list[ServedEvent]:
    return [event async for event in each(there.tasks.stream(ANN, Send(there.message("hello"))))]


def sealed(ask: Ask, text: str = "one") -> ArtifactUpdate:
    return ArtifactUpdate(task_id(ask), context(ask), Artifact("a1", (Text(text),)), last=True)


@pytest.mark.case("F10")
async def test_a_task_is_at_work_while_its_agent_cannot_be_reached_and_goes_on_when_it_can(store: Store) -> None:
    async with desk(store, agent := FakeAgent()) as there:
        agent.errors = [NotAccepted("refused"), NotAccepted("refused")]

        assert shown(await there.send("hello")) == ["HELLO"]


@pytest.mark.parametrize(
    ("error", "state"), [(Declined("out of cheese"), "rejected"), (NotAuthorised("who?"), "failed")]
)
async def test_an_agent_that_will_not_take_the_message_ends_the_task_without_its_reasons(
    store: Store, error: Declined, state: str
) -> None:
    async with desk(store, agent := FakeAgent()) as there:
        agent.errors = [error]
        done = await there.send("hello")

        assert (done.state.value, done.message is not None) == (state, True)
        assert str(error) not in str(done.message)


@pytest.mark.case("F15")
async def test_what_an_agent_says_five_times_is_told_once(store: Store) -> None:
    async def repeats(ask: Ask) -> AsyncIterator[TaskEvent]:
        for event in (status(ask, TaskState.WORKING, "so"), task(ask, TaskState.COMPLETED, "one")):
            for _ in range(5):
                yield event

    async with desk(store, FakeAgent(repeats)) as there:
        assert lines(await streamed(there)) == ["submitted", "working", "working", "one", "completed"]


@pytest.mark.case("F16")
@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_in_whatever_order_an_agent_says_it_a_task_ends_once_and_stays_so(
    store: Store, order: tuple[int, ...]
) -> None:
    async def shuffled(ask: Ask) -> AsyncIterator[TaskEvent]:
        said: list[TaskEvent] = [
            status(ask, TaskState.WORKING, "so", 2.0),
            sealed(ask),
            task(ask, TaskState.COMPLETED, "one", time=3.0),
        ]
        agent.tasks[task_id(ask)] = task(ask, TaskState.COMPLETED, "one", time=3.0)
        for n in order:
            yield said[n]

    async with desk(store, agent := FakeAgent(shuffled)) as there:
        events = await streamed(there)
        assert isinstance(events[0], ServedTask)
        done = await there.tasks.get(ANN, events[0].id)

        assert lines(events)[-1] == "completed"
        assert lines(events).count("completed") == 1
        assert (done.state, shown(done)) == (TaskState.COMPLETED, ["one"])


@pytest.mark.case("F17")
async def test_what_an_agent_says_of_another_task_is_not_told(store: Store) -> None:
    async def confused(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield status(ask, TaskState.WORKING)
        yield replace(sealed(ask, "somebody's secret"), task_id="another", context_id="other")
        yield task(ask, TaskState.COMPLETED, "one")

    async with desk(store, FakeAgent(confused)) as there:
        events = await streamed(there)

        assert lines(events) == ["submitted", "working", "one", "completed"]
        assert there.world.events.of("task.foreign_event")


@pytest.mark.case("F17")
async def test_an_agent_that_answers_with_the_task_of_another_caller_tells_nothing_of_it(store: Store) -> None:
    released = asyncio.Event()

    async def mixes_up(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(agent.asks[0], TaskState.WORKING)
        await released.wait()
        yield task(agent.asks[0], TaskState.COMPLETED, "for ann alone")

    async with desk(store, agent := FakeAgent(mixes_up)) as there:
        mine = asyncio.ensure_future(there.send("hello"))
        await until(lambda: agent.tasks)
        theirs = await there.send("hello", BOB)
        released.set()

        assert (theirs.state, shown(theirs)) == (TaskState.FAILED, [])
        assert shown(await mine) == ["for ann alone"]
        assert there.world.events.of("task.foreign_event")


@pytest.mark.case("F19")
async def test_a_task_completed_with_nothing_is_completed_with_nothing(store: Store) -> None:
    async def empty(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.COMPLETED)

    async with desk(store, FakeAgent(empty)) as there:
        done = await there.send("hello")

        assert (done.state, done.artifacts, done.message) == (TaskState.COMPLETED, (), None)


@pytest.mark.case("F12")
async def test_a_stream_that_falls_silent_is_asked_and_what_it_missed_is_told(store: Store) -> None:
    async def silent(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        agent.tasks[task_id(ask)] = task(ask, TaskState.COMPLETED, "one", time=5.0)
        await asyncio.Event().wait()

    async with desk(store, agent := FakeAgent(silent), patience=SOON) as there:
        assert lines(await streamed(there)) == ["submitted", "working", "one", "completed"]


@pytest.mark.case("A2A-19")
async def test_a_caller_hears_once_that_its_task_does_not_move_though_it_answered_what_it_was_asked(
    store: Store,
) -> None:
    """Its agent goes on listing the question."""

    async def deaf(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.INPUT_REQUIRED, message="May I?", time=1.0)

    async with desk(store, agent := FakeAgent(deaf), patience=replace(SOON, stale=0.1)) as there:
        asked = await there.send("do it")
        await there.send("yes", task=asked.id, waits=False)

        async def told() -> ServedTask | None:
            known = await there.tasks.get(ANN, asked.id)
            return known if known.message is not None and "nothing new" in text_of(known.message.parts) else None

        known = await until(told)
        seen = len(agent.gets)
        await until(lambda: len(agent.gets) > seen + 5)

        assert (asked.state, known.state) == (TaskState.INPUT_REQUIRED, TaskState.WORKING)
        assert "/cancel" not in str(known.message)
        assert await there.tasks.get(ANN, asked.id) == known
        assert len(there.world.events.of("task.silent")) == 1


async def test_an_artifact_that_the_whole_task_does_not_have_is_gone(store: Store) -> None:
    async def takes_back(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        yield sealed(ask, "draft")
        final = task(ask, TaskState.COMPLETED)
        yield replace(final, artifacts=(Artifact("a2", (Text("final"),)),))

    async with desk(store, FakeAgent(takes_back)) as there:
        done = await there.send("hello")

        assert shown(done) == ["final"]
        assert done == await there.tasks.get(ANN, done.id)


@pytest.mark.case("A2A-20")
async def test_work_that_outlasts_the_foreground_goes_on_and_is_answered(store: Store) -> None:
    gate = asyncio.Event()

    async def slow(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        await gate.wait()
        yield task(ask, TaskState.COMPLETED, "at last")

    async with desk(store, FakeAgent(slow), patience=replace(PATIENT, foreground=0.0)) as there:
        sending = asyncio.ensure_future(there.send("hello"))
        await until(lambda: is_waiting(store))
        gate.set()

        assert shown(await sending) == ["at last"]
