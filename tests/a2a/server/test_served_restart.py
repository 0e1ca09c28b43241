"""Restarts: a task outlives the process that took it, or says honestly that it did not."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from a2a.server.port import Filter, PushConfig, Send, ServedTask
from core.agent import Artifact, ArtifactUpdate, Ask, TaskEvent, TaskState
from core.parts import Text
from core.session import Bounds
from core.store import Store
from gateway.store.sqlite import SqliteStore
from tests.a2a.server.desk import ANN, Desk, desk, each, lines, opened, shown, texts
from tests.doubles.agent import FakeAgent, context, status, task, task_id
from tests.fakes.push_receiver import PushReceiver
from tests.waiting import until


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with opened(tmp_path) as sqlite:
        yield sqlite


async def works(ask: Ask) -> AsyncIterator[TaskEvent]:
    yield task(ask, TaskState.WORKING)
    yield ArtifactUpdate(task_id(ask), context(ask), Artifact("a1", (Text("sealed"),)), last=True)
    await asyncio.Event().wait()


async def left_at_work(store: Store, agent: FakeAgent) -> str:
    """A process that ends while the agent is at work, after it sealed an artifact."""
    async with desk(store, agent) as there:
        first = await there.send("hello", waits=False)
        await until(lambda: has_artifact(there, first.id))
        return first.id


async def has_artifact(there: Desk, task_id: str) -> bool:
    return bool((await there.tasks.get(ANN, task_id)).artifacts)


@pytest.mark.case("F06")
async def test_a_task_at_work_goes_on_after_a_restart_and_ends(store: Store) -> None:
    agent = FakeAgent(works)
    id = await left_at_work(store, agent)
    (known,) = agent.tasks.values()
    assert not isinstance(known, Exception)
    agent.tasks[known.task_id] = task(agent.asks[0], TaskState.COMPLETED, "sealed", "more")
    async with desk(store, agent) as there:
        done = await until(lambda: ended(there, id))

        assert (shown(done), len(agent.asks)) == (["sealed", "more"], 1)


async def ended(there: Desk, id: str) -> ServedTask | None:
    found = await there.tasks.get(ANN, id)
    return found if found.state.is_terminal else None


async def test_who_subscribes_after_a_restart_begins_with_what_was_sealed_before(store: Store) -> None:
    agent = FakeAgent(works)
    id = await left_at_work(store, agent)
    gate = asyncio.Event()

    async def follows(_ref: object) -> AsyncIterator[TaskEvent]:
        ask = agent.asks[0]
        yield task(ask, TaskState.WORKING, "sealed")
        await gate.wait()
        yield task(ask, TaskState.COMPLETED, "sealed", message="done")

    agent.follows = follows
    async with desk(store, agent) as there:
        stream = each(there.tasks.subscribe(ANN, id))
        whole = await anext(stream)
        gate.set()
        rest = [event async for event in stream]

        assert isinstance(whole, ServedTask)
        assert (whole.state, shown(whole), lines(rest)) == (TaskState.WORKING, ["sealed"], ["completed"])


@pytest.mark.case("F18")
async def test_a_task_that_the_agent_forgot_meanwhile_fails_honestly(store: Store) -> None:
    agent = FakeAgent(works)
    id = await left_at_work(store, agent)
    agent.tasks.clear()
    async with desk(store, agent) as there:
        failed = await until(lambda: ended(there, id))

        assert (failed.state, shown(failed)) == (TaskState.FAILED, ["sealed"])
        assert failed.message is not None


@pytest.mark.case("F05")
async def test_a_message_whose_answer_was_lost_by_a_restart_fails_without_being_sent_twice(store: Store) -> None:
    async def silent(ask: Ask) -> AsyncIterator[TaskEvent]:
        await asyncio.Event().wait()
        yield status(ask, TaskState.WORKING)

    agent = FakeAgent(silent)
    async with desk(store, agent) as there:
        first = await there.send("hello", waits=False)
        await until(lambda: agent.asks)
    async with desk(store, agent) as there:
        failed = await until(lambda: ended(there, first.id))

        assert (failed.state, len(agent.asks)) == (TaskState.FAILED, 1)
        assert failed.message is not None
        assert "/again" not in str(failed.message.parts)


async def test_a_question_outlives_a_restart(store: Store) -> None:
    async def asks(ask: Ask) -> AsyncIterator[TaskEvent]:
        state = TaskState.INPUT_REQUIRED if ask.task_id is None else TaskState.COMPLETED
        yield task(ask, state, message="Which day?" if ask.task_id is None else "")

    agent = FakeAgent(asks)
    async with desk(store, agent) as there:
        asked = await there.send("book")
    async with desk(store, agent) as there:
        assert await there.tasks.get(ANN, asked.id) == asked
        done = await there.send("Tuesday", task=asked.id)

        assert (done.state, texts(done)) == (TaskState.COMPLETED, ["book", "Which day?", "Tuesday"])


async def test_what_was_accepted_and_not_begun_is_begun_after_a_restart(store: Store) -> None:
    agent = FakeAgent()
    async with desk(store, agent, bounds=Bounds(max_turns=0)) as there:
        first = await there.send("hello", waits=False)
    assert agent.asks == []
    async with desk(store, agent) as there:
        assert shown(await until(lambda: ended(there, first.id))) == ["HELLO"]


async def test_configs_outlive_a_restart_and_are_told_what_comes_after_it(store: Store) -> None:
    agent = FakeAgent(works)
    async with PushReceiver() as receiver:
        async with desk(store, agent, allow_push_private=True) as there:
            config = PushConfig(f"{receiver.base}/hook")
            first = await there.tasks.send(ANN, Send(there.message("hello"), waits=False, push=config))
            assert isinstance(first, ServedTask)
            await until(lambda: has_artifact(there, first.id))
        agent.tasks[f"task-{agent.asks[0].message_id}"] = task(agent.asks[0], TaskState.COMPLETED, "sealed")
        async with desk(store, agent, allow_push_private=True, on_unknown="repeat"):
            await receiver.changes.until(lambda: receiver.told("/hook")[-1:] == ["completed"])


async def test_receivers_hear_of_no_end_while_a_message_from_before_a_restart_is_queued(store: Store) -> None:
    """What one turn came to is not what the task came to; after a start nobody has called about the task yet."""

    async def ends(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.COMPLETED, "second")

    agent = FakeAgent(works)
    async with PushReceiver() as receiver:
        async with desk(store, agent, allow_push_private=True) as there:
            config = PushConfig(f"{receiver.base}/hook")
            first = await there.tasks.send(ANN, Send(there.message("hello"), waits=False, push=config))
            assert isinstance(first, ServedTask)
            await until(lambda: has_artifact(there, first.id))
            await there.send("and more", waits=False, task=first.id)
        agent.tasks[f"task-{agent.asks[0].message_id}"] = task(agent.asks[0], TaskState.COMPLETED, "sealed")
        agent.script = ends
        async with desk(store, agent, allow_push_private=True, on_unknown="repeat") as there:
            await until(lambda: ended(there, first.id))
            await receiver.changes.until(lambda: receiver.told("/hook")[-1:] == ["completed"])

        told = receiver.told("/hook")
        assert (told.count("completed"), told.count("second")) == (1, 1), told


async def test_a_list_is_the_same_after_a_restart(store: Store) -> None:
    async with desk(store, FakeAgent()) as there:
        for n in range(3):
            await there.send(str(n))
        before = await there.tasks.list(ANN, Filter(size=2))
    async with desk(store, FakeAgent()) as there:
        assert await there.tasks.list(ANN, Filter(size=2)) == before
