"""A question of an agent is put once, and its answer continues exactly that task."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from core.agent import Ask, TaskEvent, TaskState
from core.errors import (
    TaskEnded,
)
from core.parts import text_of
from core.patience import Patience
from core.store import Store
from tests.core.turns import is_waiting
from tests.doubles.agent import FakeAgent, Parked, context, status, task, task_id
from tests.doubles.world import World, world
from tests.waiting import until


@pytest.mark.case("A2A-01")
async def test_the_answer_to_a_question_continues_exactly_that_task(store: Store) -> None:
    async def books(ask: Ask) -> AsyncIterator[TaskEvent]:
        if ask.task_id is None:
            yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)
        else:
            yield task(ask, TaskState.COMPLETED, f"booked for {text_of(ask.parts)}", time=2.0)

    async with world(store, FakeAgent(books)) as desk:
        await desk.says("book a table")
        assert await desk.plugin.until(1) == ["Which day?"]
        await desk.says("Tuesday")
        assert await desk.plugin.until(2) == ["Which day?", "booked for Tuesday"]
    first, second = desk.agent.asks
    assert (second.task_id, second.context_id) == (task_id(first), context(first))


@pytest.mark.case("A2A-02")
async def test_a_finished_task_is_never_continued_but_its_context_is(store: Store) -> None:
    async with world(store) as desk:
        await desk.says("Tuesday?")
        await desk.plugin.until(1)
        await desk.says("and Friday?")
        await desk.plugin.until(2)
    first, second = desk.agent.asks
    assert second.task_id is None
    assert second.context_id == context(first)


async def test_an_echo_of_the_answered_question_is_not_shown_as_a_new_one(store: Store) -> None:
    """Agents that answer a continuation at once return the task as it was, still asking."""

    async def slow(ask: Ask) -> AsyncIterator[TaskEvent]:
        if ask.task_id is None:
            yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)
            return
        yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)
        yield task(ask, TaskState.COMPLETED, "booked", time=2.0)

    async with world(store, FakeAgent(slow)) as desk:
        await desk.says("book a table")
        await desk.plugin.until(1)
        await desk.says("Tuesday")
        assert await desk.plugin.until(2) == ["Which day?", "booked"]


async def test_what_was_written_before_the_question_does_not_answer_it(store: Store) -> None:
    asked = asyncio.Event()

    async def asks(ask: Ask) -> AsyncIterator[TaskEvent]:
        if text_of(ask.parts) == "book":
            await asked.wait()
            yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)
        else:
            yield task(ask, TaskState.COMPLETED, text_of(ask.parts).upper(), time=2.0)

    async with world(store, FakeAgent(asks)) as desk:
        await desk.says("book")
        await until(lambda: desk.agent.asks)
        await desk.says("what time is it")
        asked.set()
        assert await desk.plugin.until(2) == ["Which day?", "WHAT TIME IS IT"]
        await desk.says("Tuesday")
        await desk.plugin.until(3)
    assert [ask.task_id is not None for ask in desk.agent.asks] == [False, False, True]


@asynccontextmanager
async def asked_twice(store: Store) -> AsyncIterator[World]:
    """A table and a car are to be booked, and of both the agent asked something."""
    asking = asyncio.Event()

    async def books(ask: Ask) -> AsyncIterator[TaskEvent]:
        if ask.task_id is not None:
            yield task(ask, TaskState.COMPLETED, f"booked for {text_of(ask.parts)}", time=2.0)
            return
        if text_of(ask.parts) == "table":
            yield task(ask, TaskState.WORKING)
            await asking.wait()
        yield task(ask, TaskState.INPUT_REQUIRED, message=f"{text_of(ask.parts)}?", time=1.0)

    async with world(store, FakeAgent(books), patience=Patience(foreground=0.01)) as desk:
        await desk.says("table")
        await until(lambda: is_waiting(store))
        await desk.says("car")
        assert await desk.plugin.until(1) == ["car?"]
        asking.set()
        assert await desk.plugin.until(2) == ["car?", "table?"]
        yield desk


async def test_with_several_questions_open_the_gateway_asks_which_and_starts_nothing(store: Store) -> None:
    async with asked_twice(store) as desk:
        await desk.says("Tuesday")
        await until(lambda: "".join(desk.plugin.shown()).endswith("1. table\n2. car"))
        assert len(desk.agent.asks) == 2


async def test_a_number_says_which_of_the_open_questions_was_answered(store: Store) -> None:
    async with asked_twice(store) as desk:
        await desk.says("Tuesday")
        await until(lambda: "".join(desk.plugin.shown()).endswith("1. table\n2. car"))
        await desk.says("2")
        await until(lambda: desk.plugin.shown()[-1] == "booked for Tuesday")
        assert desk.agent.asks[-1].task_id == task_id(desk.agent.asks[1])
        await desk.says("2. car")  # clicked twice
        await until(lambda: "not waiting any more" in "".join(desk.plugin.shown()))
        assert len(desk.agent.asks) == 3


@pytest.mark.case("A2A-12")
@pytest.mark.parametrize("state", [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED])
async def test_a_question_that_comes_twice_is_put_once(store: Store, state: TaskState) -> None:
    async def twice(ask: Ask) -> AsyncIterator[TaskEvent]:
        for _ in range(2):
            yield status(ask, state, "May I?", time=2.0)
        yield task(ask, state, message="May I?", time=2.0)

    async with world(store, FakeAgent(twice)) as desk:
        await desk.says("do it")
        await desk.plugin.until(1)
        await desk.says("/status")
        shown = await desk.plugin.until(2)
        assert sum("May I?" in text for text in shown) == 1


async def test_past_the_foreground_s_patience_the_next_question_starts_a_thread_of_its_own(store: Store) -> None:
    parked = Parked()
    async with world(store, FakeAgent(parked), patience=Patience(foreground=0.01)) as desk:
        await desk.says("slow")
        await until(lambda: is_waiting(store))
        desk.agent.script = FakeAgent().script
        await desk.says("quick")
        assert await desk.plugin.until(1) == ["QUICK"]
        parked.released.set()
        assert await desk.plugin.until(2) == ["QUICK", "SLOW"]


@pytest.mark.case("A2A-02")
async def test_an_answer_to_a_task_that_ended_meanwhile_starts_a_new_one_in_its_context(store: Store) -> None:
    async def ended(ask: Ask) -> AsyncIterator[TaskEvent]:
        if text_of(ask.parts) == "book":
            yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)
        elif ask.task_id:
            raise TaskEnded("it is completed")
        else:
            yield task(ask, TaskState.COMPLETED, "a new task's answer", time=2.0)

    async with world(store, FakeAgent(ended)) as desk:
        await desk.says("book")
        await desk.plugin.until(1)
        await desk.says("Tuesday")
        assert await desk.plugin.until(2) == ["Which day?", "a new task's answer"]
    book, refused, new = desk.agent.asks
    assert (refused.task_id, new.task_id) == (task_id(book), None)
    assert new.context_id == context(book)


async def _asks(ask: Ask) -> AsyncIterator[TaskEvent]:
    if text_of(ask.parts) == "book":
        yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)
    else:
        yield task(ask, TaskState.COMPLETED, text_of(ask.parts).upper(), time=2.0)


@pytest.mark.parametrize("command", ["/new", "/cancel", "/cancel all"])
async def test_a_question_that_a_command_closed_is_not_answered_by_the_next_message(store: Store, command: str) -> None:
    async with world(store, FakeAgent(_asks)) as desk:
        await desk.says("book")
        await desk.plugin.until(1)
        await desk.says(command)
        await until(lambda: desk.agent.cancels)
        await desk.says("hello")
        await until(lambda: "HELLO" in desk.plugin.shown())
        assert not any("nothing to cancel" in text for text in desk.plugin.shown())
    assert desk.agent.asks[-1].task_id is None
