"""A cancel overtakes, is sent when it can be, and what comes after it is not shown."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from core.agent import Artifact, Ask, Snapshot, TaskEvent, TaskRef, TaskState
from core.errors import AgentError, CancelRefused, NotAccepted, NotAuthorised, TaskEnded, TaskUnknown, Unreachable
from core.helm import Delegate
from core.parts import Text
from core.session import Bounds
from core.store import Store
from tests.doubles.agent import FakeAgent, Parked, task, task_id
from tests.doubles.plugin import FakePlugin
from tests.doubles.world import SOON, world
from tests.waiting import until


@pytest.mark.case("DEL-12")
async def test_status_and_cancel_overtake_running_work(store: Store) -> None:
    async with world(store, FakeAgent(Parked()), bounds=Bounds(max_turns=1)) as desk:
        await desk.says("count the stars")
        await until(lambda: desk.agent.tasks)
        await desk.says("/status")
        [line, *_] = await desk.plugin.until(1)
        assert "count the stars" in line
        await desk.says("/cancel")
        await until(lambda: desk.agent.cancels)
        await until(lambda: "Cancelled." in desk.plugin.shown())


async def test_a_person_reads_what_a_cancel_covers(store: Store) -> None:
    async with world(store, FakeAgent(Parked()), bounds=Bounds(max_turns=1)) as desk:
        await desk.says("count the stars")
        await until(lambda: desk.agent.tasks)
        await desk.says("and the moons")
        await desk.says("/cancel")
        said = "I am asking the agent to stop. One message that was still waiting will not be worked on."
        await until(lambda: said in "".join(desk.plugin.shown()))


@pytest.mark.case("A2A-16")
async def test_a_cancel_before_the_task_has_an_id_is_sent_when_the_id_arrives(store: Store) -> None:
    named = asyncio.Event()

    async def slow_to_name(ask: Ask) -> AsyncIterator[TaskEvent]:
        await named.wait()
        yield task(ask, TaskState.WORKING)
        await asyncio.Event().wait()

    async with world(store, FakeAgent(slow_to_name)) as desk:
        await desk.says("work")
        await until(lambda: desk.agent.asks)
        await desk.says("/cancel")
        await desk.plugin.until(1)
        assert desk.agent.cancels == []
        named.set()
        await until(lambda: desk.agent.cancels)
        await until(lambda: "Cancelled." in desk.plugin.shown())


@pytest.mark.case("A2A-15")
async def test_a_cancel_the_agent_refuses_is_told_truthfully_and_its_output_discarded(store: Store) -> None:
    parked, agent = Parked(), FakeAgent()
    agent.script, agent.cancel_error = parked, CancelRefused("no")
    async with world(store, agent) as desk:
        await desk.says("work")
        await until(lambda: agent.tasks)
        await desk.says("/cancel")
        await until(lambda: any("cannot stop" in text for text in desk.plugin.shown()))
        parked.released.set()
        await desk.says("next")
        await until(lambda: "NEXT" in desk.plugin.shown())
        assert "WORK" not in desk.plugin.shown()


@pytest.mark.case("A2A-15")
async def test_a_task_that_goes_on_after_a_refused_cancel_keeps_its_words_to_itself(store: Store) -> None:
    goes_on, agent = asyncio.Event(), FakeAgent()
    agent.cancel_error = CancelRefused("no")

    async def stubborn(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        await goes_on.wait()

    async def follows(ref: TaskRef) -> AsyncIterator[TaskEvent]:
        yield Snapshot(ref.task_id, ref.context_id, TaskState.WORKING)
        await goes_on.wait()
        yield Snapshot(ref.task_id, ref.context_id, TaskState.COMPLETED, None, (), (Artifact("a1", (Text("LATE"),)),))
        told.set()

    told = asyncio.Event()
    agent.script, agent.follows = stubborn, follows
    async with world(store, agent) as desk:
        await desk.says("work")
        await until(lambda: agent.tasks)
        await desk.says("/cancel")
        await until(lambda: any("cannot stop" in text for text in desk.plugin.shown()))
        goes_on.set()
        await told.wait()
        agent.script = FakeAgent().script
        await desk.says("do this instead")
        await until(lambda: "DO THIS INSTEAD" in desk.plugin.shown())
        assert "LATE" not in desk.plugin.shown()


async def test_a_cancel_while_the_agent_cannot_be_reached_is_heeded(store: Store) -> None:
    agent = FakeAgent()
    agent.errors = [NotAccepted("refused", retry_after=0.01) for _ in range(1000)]
    async with world(store, agent) as desk:
        await desk.says("hi")
        await until(lambda: len(agent.asks) > 2)
        await desk.says("/cancel")
        await until(lambda: "Cancelled." in desk.plugin.shown())
        count = len(agent.asks)
        await desk.says("/status")
        await until(lambda: any("Nothing" in text for text in desk.plugin.shown()))
        assert len(agent.asks) == count


async def test_two_ways_to_end_a_turn_at_one_instant_are_one_end(store: Store) -> None:
    """The foreground's patience runs out while a message that was not taken is being recorded."""
    agent = FakeAgent()
    agent.errors = [NotAccepted("refused", retry_after=0.001) for _ in range(10)]
    async with world(store, agent, patience=replace(SOON, foreground=0.01)) as desk:
        await desk.says("hi")
        assert await desk.plugin.until(1) == ["HI"]
        assert desk.events.of("turn.failed") == []


async def test_an_agent_that_cannot_be_reached_just_then_is_told_later_that_its_question_is_closed(
    store: Store,
) -> None:
    async def asks(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)

    agent = FakeAgent(asks)
    async with world(store, agent) as desk:
        await desk.says("book")
        await desk.plugin.until(1)
        agent.cancel_error = Unreachable("connection refused")
        await desk.says("/cancel")
        await until(lambda: len(agent.cancels) > 1)
        agent.cancel_error = None
        ask = agent.asks[0]
        await until(lambda: agent.tasks[task_id(ask)] == task(ask, TaskState.CANCELED))


async def asks(ask: Ask) -> AsyncIterator[TaskEvent]:
    yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)


async def test_an_agent_that_refuses_the_gateway_is_told_with_other_credentials_that_its_question_is_closed(
    store: Store,
) -> None:
    """Credentials that are changed by SIGHUP make another agent of the same name."""
    agent, after = FakeAgent(asks), FakeAgent()
    async with world(store, agent) as desk:
        await desk.says("book")
        await desk.plugin.until(1)
        agent.cancel_error = NotAuthorised("HTTP 401")
        await desk.says("/cancel")
        await until(lambda: agent.cancels)
        desk.delegates[agent.name] = Delegate(after)
        await until(lambda: after.cancels == [task_id(agent.asks[0])])


@pytest.mark.parametrize("command", ["/cancel", "/new"])
async def test_an_agent_that_was_not_told_before_a_kill_that_its_question_is_closed_is_told_after_it(
    store: Store, command: str
) -> None:
    agent = FakeAgent(asks)
    async with world(store, agent) as desk:
        await desk.says("book")
        await desk.plugin.until(1)
        agent.cancel_error = Unreachable("connection refused")
        await desk.says(command)
        await until(lambda: agent.cancels)
    agent.cancel_error = None
    agent.cancels.clear()
    async with world(store, agent):
        await until(lambda: agent.cancels == [task_id(agent.asks[0])])


@pytest.mark.parametrize("refusal", [None, CancelRefused("no"), TaskEnded("over"), TaskUnknown("what?")])
async def test_an_agent_that_was_told_that_its_question_is_closed_is_not_told_again(
    store: Store, refusal: AgentError | None
) -> None:
    agent = FakeAgent(asks)
    agent.cancel_error = refusal
    async with world(store, agent) as desk:
        await desk.says("book")
        await desk.plugin.until(1)
        await desk.says("/cancel")
        await until(lambda: agent.cancels)

        async def nobody() -> bool:
            return not await store.untold()

        await until(nobody)
    async with world(store, agent, FakePlugin()) as after:
        await after.says("hello", keys=("u:9",), message_id="m9")
        await after.plugin.until(1)
    assert len(agent.cancels) == 1
