"""Cancelling: by the existing road, both legs, and only what the agent says is so."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from a2a.server.port import NotCancelable
from core.agent import Ask, TaskEvent, TaskState
from core.errors import CancelRefused
from core.store import Store
from tests.a2a.server.desk import ANN, desk
from tests.doubles.agent import FakeAgent, status, task
from tests.waiting import until


async def works(ask: Ask) -> AsyncIterator[TaskEvent]:
    yield task(ask, TaskState.WORKING)
    await asyncio.Event().wait()


async def asks(ask: Ask) -> AsyncIterator[TaskEvent]:
    yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?")


async def test_a_cancel_reaches_the_agent_and_says_what_it_says(store: Store) -> None:
    async with desk(store, agent := FakeAgent(works)) as there:
        first = await there.send("hello", waits=False)
        await until(lambda: agent.tasks)
        cancelled = await there.tasks.cancel(ANN, first.id)

        assert cancelled.state is TaskState.CANCELED
        assert agent.cancels == [f"task-{agent.asks[0].message_id}"]
        assert cancelled == await there.tasks.get(ANN, first.id)


async def test_a_cancel_of_a_task_that_asks_ends_it_and_tells_the_agent(store: Store) -> None:
    async with desk(store, agent := FakeAgent(asks)) as there:
        asked = await there.send("book")
        cancelled = await there.tasks.cancel(ANN, asked.id)

        assert cancelled.state is TaskState.CANCELED
        assert cancelled == await there.tasks.get(ANN, asked.id)
        await until(lambda: agent.cancels)


async def test_what_has_ended_cannot_be_cancelled(store: Store) -> None:
    async with desk(store, FakeAgent(asks)) as there:
        asked = await there.send("book")
        await there.tasks.cancel(ANN, asked.id)

        with pytest.raises(NotCancelable, match="canceled"):
            await there.tasks.cancel(ANN, asked.id)


@pytest.mark.case("A2A-15")
async def test_an_agent_that_will_not_stop_makes_the_task_not_cancelable_and_it_goes_on(store: Store) -> None:
    gate = asyncio.Event()

    async def slowly(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        await gate.wait()
        yield task(ask, TaskState.COMPLETED, "done")

    async with desk(store, agent := FakeAgent(slowly)) as there:
        agent.cancel_error = CancelRefused("no")
        first = await there.send("hello", waits=False)
        await until(lambda: agent.tasks)
        with pytest.raises(NotCancelable, match="will not stop"):
            await there.tasks.cancel(ANN, first.id)
        gate.set()

        await until(lambda: is_in(there.tasks.get(ANN, first.id), TaskState.COMPLETED))


async def is_in(getting: object, state: TaskState) -> bool:
    return (await getting).state is state  # type: ignore[misc]


async def test_a_blocking_send_ends_with_the_cancel_of_its_task(store: Store) -> None:
    async with desk(store, agent := FakeAgent(works)) as there:
        sending = asyncio.ensure_future(there.send("hello"))
        await until(lambda: agent.tasks)
        (record,) = [await store.followed(id) for id in there.plugin._lives._lives]
        assert record is not None
        await there.tasks.cancel(ANN, record.id)

        assert (await sending).state is TaskState.CANCELED


@pytest.mark.case("A2A-16")
async def test_a_cancel_before_the_agent_has_said_anything_is_kept_for_when_it_does(store: Store) -> None:
    gate = asyncio.Event()

    async def late(ask: Ask) -> AsyncIterator[TaskEvent]:
        await gate.wait()
        yield task(ask, TaskState.WORKING)
        yield status(ask, TaskState.WORKING, "on it")
        await asyncio.Event().wait()

    async with desk(store, agent := FakeAgent(late)) as there:
        first = await there.send("hello", waits=False)
        await until(lambda: agent.asks)
        cancelling = asyncio.ensure_future(there.tasks.cancel(ANN, first.id))
        await until(lambda: is_wanted(store))
        gate.set()

        assert (await cancelling).state is TaskState.CANCELED


async def is_wanted(store: Store) -> bool:
    return any(turn.cancel_wanted for turn in await store.unfinished())
