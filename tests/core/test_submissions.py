"""A message is at its agent once: it is looked for before anything is sent again."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from core.agent import Ask, Snapshot, TaskEvent, TaskState
from core.errors import (
    Declined,
    NotAccepted,
    OutcomeUnknown,
    TaskEnded,
)
from core.parts import text_of
from core.routes import Route, Routes
from core.store import Store
from tests.doubles.agent import FakeAgent, task, task_id
from tests.doubles.world import SOON, world
from tests.waiting import until


def known(agent: FakeAgent, id: str) -> Snapshot:
    """The task as the agent has it."""
    found = agent.tasks[id]
    assert isinstance(found, Snapshot)
    return found


@pytest.mark.case("F18")
async def test_a_task_the_agent_forgot_is_told_once_as_lost_and_not_sent_again(store: Store) -> None:
    async def cut(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        agent.tasks.clear()

    agent = FakeAgent(cut)
    async with world(store, agent) as desk:
        await desk.says("hi")
        shown = "".join(await desk.plugin.until(2))
        assert "no longer knows this task" in shown
        assert len(agent.asks) == 1


@pytest.mark.case("A2A-16")
async def test_a_message_that_was_certainly_not_taken_is_sent_again_with_its_same_id(store: Store) -> None:
    agent = FakeAgent()
    agent.errors = [NotAccepted("connection refused"), NotAccepted("503", retry_after=0.01)]
    async with world(store, agent) as desk:
        await desk.says("hi")
        assert await desk.plugin.until(1) == ["HI"]
    assert len({ask.message_id for ask in agent.asks}) == 1
    assert len(agent.asks) == 3


@pytest.mark.case("F10")
async def test_what_waits_for_an_agent_goes_on_when_it_is_back_the_oldest_first(store: Store) -> None:
    agent, other = FakeAgent(), FakeAgent(name="other")
    routes = Routes("agent", (Route("other", command="ask"),))
    async with world(store, agent, routes=routes, others=[other]) as desk:
        agent.errors = [NotAccepted("away", retry_after=3600.0) for _ in range(3)]
        other.errors = [NotAccepted("away", retry_after=3600.0)]
        for sender in ("ann", "bob", "eve"):
            await desk.says(f"from {sender}", sender)
        await desk.says("/ask one who is still away", "joe")
        await until(lambda: len(desk.events.of("submission.not_accepted")) == 4)
        desk.tracker.agent_is_back("agent")
        await until(lambda: len(agent.asks) == 6)
        assert [text_of(ask.parts) for ask in agent.asks[3:]] == ["from ann", "from bob", "from eve"]
        assert len(other.asks) == 1
        await until(lambda: [desk.plugin.shown(it) for it in ("ann", "bob")] == [["FROM ANN"], ["FROM BOB"]])


@pytest.mark.case("F05")
async def test_a_lost_answer_is_looked_for_before_anything_is_repeated(store: Store) -> None:
    agent = FakeAgent()
    agent.find_error = None

    async def cut(ask: Ask) -> AsyncIterator[TaskEvent]:
        found = agent.tasks[task_id(ask)] = task(ask, TaskState.COMPLETED, "found")
        if found.state.is_terminal:
            raise OutcomeUnknown("cut")
        yield found

    agent.script = cut
    async with world(store, agent) as desk:
        await desk.says("hi")
        assert await desk.plugin.until(1) == ["found"]
        assert len(agent.asks) == 1


async def test_a_submission_that_cannot_be_found_is_shown_as_unknown_and_repeated_only_when_asked(
    store: Store,
) -> None:
    agent = FakeAgent()
    agent.errors = [OutcomeUnknown("cut")]
    async with world(store, agent) as desk:
        await desk.says("hi")
        shown = "".join(await desk.plugin.until(3))
        assert "cannot tell whether the agent got your message" in shown
        assert len(agent.asks) == 1
        await desk.says("/again")
        await until(lambda: "HI" in desk.plugin.shown())
    first, second = agent.asks
    assert first.message_id == second.message_id


@pytest.mark.case("A2A-16")
async def test_an_agent_known_to_deduplicate_is_simply_asked_again(store: Store) -> None:
    agent = FakeAgent()
    agent.errors = [OutcomeUnknown("cut")]
    async with world(store, agent, resubmits=True) as desk:
        await desk.says("hi")
        assert await desk.plugin.until(1) == ["HI"]


async def test_a_lost_answer_to_a_question_is_looked_for_and_shown_as_unknown(store: Store) -> None:
    async def asks(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)

    agent = FakeAgent(asks)
    async with world(store, agent) as desk:
        await desk.says("book")
        await desk.plugin.until(1)
        agent.errors = [OutcomeUnknown("cut")]
        await desk.says("Tuesday")
        await until(lambda: any("cannot tell" in text for text in desk.plugin.shown()))
        assert len(agent.asks) == 2


async def test_why_an_agent_declined_is_for_the_operator_and_not_for_the_person(store: Store) -> None:
    agent = FakeAgent()
    agent.errors = [Declined("http://127.0.0.1:9999 is a private address; set allow_private_network")]
    async with world(store, agent) as desk:
        await desk.says("hi")
        shown = "".join(await desk.plugin.until(2))
        assert "127.0.0.1" not in shown
        [refused] = desk.events.of("submission.refused")
        assert "private address" in str(refused["error"])
        assert "said" not in refused


async def test_what_an_agent_says_of_its_own_failure_is_for_the_operator(store: Store) -> None:
    agent = FakeAgent()
    agent.errors = [Declined("agent x: answered error -32603", code=-32603, sample='{"message": "no such model"}')]
    async with world(store, agent) as desk:
        await desk.says("hi")
        shown = "".join(await desk.plugin.until(2))
        assert "model" not in shown
        [refused] = desk.events.of("submission.refused")
        assert (refused["error"], refused["said"]) == ("agent x: answered error -32603", '{"message": "no such model"}')


async def test_an_agent_whose_answers_are_all_lost_is_asked_again_with_pauses_and_not_for_ever(store: Store) -> None:
    agent = FakeAgent()
    agent.errors = [OutcomeUnknown("cut") for _ in range(10_000)]
    async with world(store, agent, resubmits=True, patience=replace(SOON, give_up=0.1)) as desk:
        await desk.says("hi")
        await until(lambda: any("cannot tell" in text for text in desk.plugin.shown()))
    assert len(agent.asks) < 100
    assert len({ask.message_id for ask in agent.asks}) == 1


@pytest.mark.case("A2A-02")
@pytest.mark.parametrize("is_found", [True, False], ids=["found", "asked again"])
async def test_a_new_task_in_the_place_of_one_that_ended_is_followed_after_a_restart(
    store: Store, is_found: bool
) -> None:
    """What the agent makes of the message is another task than the one that the message was for."""
    before, agent = asyncio.Event(), FakeAgent()

    async def ended(ask: Ask) -> AsyncIterator[TaskEvent]:
        if text_of(ask.parts) == "book":
            yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)
        elif f"task-{ask.message_id}" in agent.tasks:
            yield known(agent, f"task-{ask.message_id}")
        elif ask.task_id:
            agent.tasks[ask.task_id] = replace(known(agent, ask.task_id), state=TaskState.COMPLETED, time=2.0)
            raise TaskEnded("it is completed")
        else:
            agent.tasks[task_id(ask)] = task(ask, TaskState.COMPLETED, "a new task's answer", time=3.0)
            before.set()
            await asyncio.Event().wait()

    agent.script, agent.find_error = ended, None if is_found else Declined("no listing here")
    async with world(store, agent, resubmits=True) as desk:
        await desk.says("book")
        await desk.plugin.until(1)
        await desk.says("Tuesday")
        await before.wait()
    async with world(store, agent, resubmits=True) as after:
        assert await after.plugin.until(1) == ["a new task's answer"]
        assert not after.events.of("task.foreign_event")
