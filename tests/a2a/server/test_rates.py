"""How often a caller may write: what stops two agents that answer each other, and hinders nobody else."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from a2a.server.port import Caller, Overloaded, Send
from a2a.server.rates import KNOWN, MINUTE, Rates
from core.agent import Ask, Reply, TaskEvent, TaskState
from core.parts import Text
from core.store import Store
from tests.a2a.server.desk import ANN, BOB, Desk, desk
from tests.doubles.agent import FakeAgent, task


class Watched:
    """Rates at a clock that the test moves."""

    def __init__(self, in_context: int = 0, of_pair: int = 0) -> None:
        self.now, self.told = 1000.0, list[tuple[str, str, str]]()
        self.rates = Rates(in_context, of_pair, lambda: self.now, lambda *pair: self.told.append(pair))

    def takes(self, caller: Caller = ANN, agent: str = "agent", context: str = "c") -> bool:
        try:
            self.rates.take(caller, agent, context)
        except Overloaded:
            return False
        return True


@pytest.mark.case("T74")
def test_a_context_takes_so_many_messages_in_any_minute_and_then_none_until_it_was_quiet_for_one() -> None:
    watched = Watched(in_context=3)
    assert [watched.takes() for _ in range(5)] == [True, True, True, False, False]
    for _ in range(3):
        watched.now += MINUTE - 1
        assert not watched.takes()  # whoever goes on is in the loop still
    watched.now += MINUTE
    assert [watched.takes() for _ in range(4)] == [True, True, True, False]


@pytest.mark.case("T74")
def test_a_pair_that_is_broken_off_is_told_of_once() -> None:
    watched = Watched(in_context=1)
    for _ in range(5):
        watched.takes(Caller("team", "acme"), "research", "trip")
    watched.takes(Caller("team", "acme"), "research", "other")

    assert watched.told == [("acme", "research", "trip")]


def test_who_writes_no_faster_than_that_is_never_refused() -> None:
    watched = Watched(in_context=2, of_pair=2)
    for _ in range(50):
        watched.now += MINUTE / 2
        assert watched.takes()


def test_every_caller_agent_and_context_counts_for_itself_and_one_that_begins_does_not() -> None:
    watched = Watched(in_context=1)
    others = [(BOB, "agent", "c"), (ANN, "other", "c"), (ANN, "agent", "d"), (Caller("ann", "app"), "agent", "c")]
    assert watched.takes()
    assert [watched.takes(*other) for other in others] == [True] * 4
    assert [watched.takes(context="") for _ in range(3)] == [True] * 3
    assert not watched.takes()


def test_a_pair_may_be_bounded_over_all_its_contexts() -> None:
    watched = Watched(of_pair=2)
    assert [watched.takes(context=str(n)) for n in range(3)] == [True, True, False]
    assert watched.takes(BOB, context="0")


def test_what_is_remembered_is_bounded() -> None:
    watched = Watched(in_context=1)
    for n in range(2 * KNOWN):
        watched.takes(context=str(n))
    assert len(watched.rates._pairs) == KNOWN


async def taken(there: Desk, **message: Any) -> int:
    """How many messages are taken, one after the other, until one is refused."""
    for count in range(1000):
        try:
            await there.tasks.send(ANN, Send(there.message("and you?", **message)))
        except Overloaded as refused:
            told = (refused.retry_after, "this context got 120 messages" in str(refused))
            return count if told == (MINUTE, True) else -1
    return 1000


@pytest.mark.case("T74")
async def test_an_agent_that_answers_each_message_with_a_message_is_stopped(store: Store) -> None:
    async def replies(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield Reply(f"to-{ask.message_id}", ask.context_id or "c", (Text("and you?"),))

    async with desk(store, agent := FakeAgent(replies)) as there:
        assert (await taken(there, context="c"), await taken(there, context="c"), len(agent.asks)) == (120, 0, 120)
        loops = there.told.of("a2a.loop")
        assert [(told["agent"], told["context"], told["level"]) for told in loops] == [("agent", "c", "warning")]
        assert await there.tasks.send(ANN, Send(there.message("hello", context="another")))


async def test_a_task_s_messages_count_in_its_context(store: Store) -> None:
    async def asks(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?")

    async with desk(store, FakeAgent(asks)) as there:
        asked = await there.send("book")
        assert await taken(there, task=asked.id) == 120
