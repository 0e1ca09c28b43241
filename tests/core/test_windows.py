"""Answers that ride on a pending request: taken once, given again to whoever comes again, and never said twice."""

import pytest

from core.clock import SystemClock
from core.delivery import Delivery, Refusal, Rejected
from core.plugin import Accepted, Capabilities, Duplicate
from core.store import Store
from core.window import Gather, ReplyWindow
from tests.doubles.agent import FakeAgent, Parked
from tests.doubles.clock import ManualClock
from tests.doubles.plugin import FakePlugin
from tests.doubles.world import World, world
from tests.waiting import until

PATIENT = 10.0  # seconds; how long a request of these tests stays open
CLOSED = Rejected(Refusal.WINDOW_CLOSED, "the person has to write first")


def carry(delivery: Delivery) -> str | None:
    """These requests take what is shorter than a part of the channel."""
    text = str(delivery.payload["text"])
    return text if len(text) < 40 else None


def join(first: str, second: str) -> str | None:
    both = f"{first}+{second}"
    return both if len(both) < 40 else None


async def asks(
    desk: World,
    text: str,
    key: str,
    *,
    returns: bool = False,
    left: float = PATIENT,
    gathers: float = 0.0,
) -> ReplyWindow:
    """A request that brings a message and stays open."""
    now = desk.clock.now()
    gather = Gather(now + gathers, join) if gathers else None
    window = ReplyWindow(now + left, carry, returns=returns, gather=gather)
    (admission,) = await desk.door.accept([desk.inbound(text, "ann", keys=(key,))], window=window)
    assert isinstance(admission, Accepted | Duplicate)
    return window


async def outcomes(desk: World, count: int) -> list[object]:
    await until(lambda: len(desk.events.of("delivery.attempted")) >= count)
    return [fields["outcome"] for fields in desk.events.of("delivery.attempted")]


async def test_an_answer_rides_on_the_request_that_waits_and_is_presumed(store: Store) -> None:
    async with world(store) as desk:
        window = await asks(desk, "hello", "1")
        assert await window.answer(PATIENT) == "HELLO"
        window.written()
        window.leave()
        assert await outcomes(desk, 1) == ["presumed"]
        assert desk.plugin.sent == []


async def test_the_same_request_again_gets_the_same_answer_and_asks_nobody(store: Store) -> None:
    async with world(store) as desk:
        first = await asks(desk, "hello", "1")
        assert await first.answer(PATIENT) == "HELLO"
        first.written()
        first.leave()
        again = await asks(desk, "hello", "1")
        assert await again.answer(PATIENT) == "HELLO"
        assert len(desk.agent.asks) == 1


async def test_the_same_request_long_after_gets_nothing(store: Store) -> None:
    async with world(store) as desk:
        first = await asks(desk, "hello", "1", left=0.01)
        assert await first.answer(PATIENT) == "HELLO"
        first.written()
        first.leave()
        assert await outcomes(desk, 1) == ["presumed"]
    late = SystemClock().now() + 2 * PATIENT
    async with world(store) as desk:
        desk.outbox.windows._clock = ManualClock(late)
        again = await asks(desk, "hello", "1")
        assert await again.answer(PATIENT) is None
        assert desk.agent.asks == []


async def test_when_nobody_waits_any_more_it_is_sent(store: Store) -> None:
    agent, parked = FakeAgent(), Parked()
    agent.script = parked
    async with world(store, agent) as desk:
        window = await asks(desk, "hello", "1")
        assert await window.answer(0.01) is None
        window.leave()
        parked.released.set()
        assert await desk.plugin.until(1) == ["HELLO"]
        assert await outcomes(desk, 1) == ["delivered"]


async def test_between_two_requests_of_one_sender_an_answer_waits_for_the_next(store: Store) -> None:
    agent, parked = FakeAgent(), Parked()
    agent.script = parked
    async with world(store, agent) as desk:
        first = await asks(desk, "hello", "1", returns=True)
        assert await first.answer(0.01) is None
        first.leave(unheard=True)
        parked.released.set()
        await until(lambda: desk.events.of("turn.finished"))
        second = await asks(desk, "hello", "1", returns=True)
        assert await second.answer(PATIENT) == "HELLO"
        second.written()
        second.leave()
        assert await outcomes(desk, 1) == ["presumed"]
        assert desk.plugin.sent == []


async def test_an_answer_that_nobody_fetches_is_sent_after_all(store: Store) -> None:
    agent, parked = FakeAgent(), Parked()
    agent.script = parked
    async with world(store, agent) as desk:
        first = await asks(desk, "hello", "1", returns=True, left=0.1)
        assert await first.answer(0.01) is None
        first.leave(unheard=True)
        parked.released.set()
        assert await desk.plugin.until(1) == ["HELLO"]
        assert await outcomes(desk, 1) == ["delivered"]


async def test_a_request_that_broke_while_it_was_answered_gets_the_answer_when_it_comes_again(store: Store) -> None:
    async with world(store) as desk:
        first = await asks(desk, "hello", "1")
        assert await first.answer(PATIENT) == "HELLO"
        first.leave(unheard=True)
        second = await asks(desk, "hello", "1")
        assert await second.answer(PATIENT) == "HELLO"
        second.written()
        second.leave()
        assert await outcomes(desk, 1) == ["presumed"]


async def test_a_request_that_broke_and_does_not_come_again_leaves_an_unknown(store: Store) -> None:
    async with world(store, on_unknown="skip") as desk:
        window = await asks(desk, "hello", "1", left=0.1)
        assert await window.answer(PATIENT) == "HELLO"
        window.writes()
        window.leave(unheard=True)
        assert (await outcomes(desk, 1))[0] == "unknown"
        assert "HELLO" not in desk.plugin.shown("ann")


async def test_an_answer_that_no_request_began_to_write_is_sent_after_all(store: Store) -> None:
    """It came when its sender had just stopped listening."""
    async with world(store) as desk:
        window = await asks(desk, "hello", "1")
        assert await window.answer(PATIENT) == "HELLO"
        window.leave()
        assert await desk.plugin.until(1) == ["HELLO"]
        assert await outcomes(desk, 1) == ["delivered"]


async def test_what_a_request_cannot_carry_is_sent_and_the_request_goes_on_waiting(store: Store) -> None:
    async with world(store) as desk:
        window = await asks(desk, "x" * 60, "1")
        assert await desk.plugin.until(1) == ["X" * 40]
        assert await window.answer(PATIENT) == "X" * 20
        window.written()
        window.leave()
        assert await outcomes(desk, 2) == ["delivered", "presumed"]


async def test_the_channels_own_words_close_a_window_and_the_answer_is_sent(store: Store) -> None:
    agent, parked = FakeAgent(), Parked()
    agent.script = parked
    async with world(store, agent) as desk:
        window = await asks(desk, "hello", "1")
        assert await window.close("one moment", PATIENT) == "one moment"
        window.written()
        window.leave()
        again = await asks(desk, "hello", "1")
        assert await again.answer(PATIENT) == "one moment"
        again.leave()
        parked.released.set()
        assert await desk.plugin.until(1) == ["HELLO"]


async def test_an_answer_that_was_faster_than_the_channels_own_words_is_what_is_written(store: Store) -> None:
    async with world(store) as desk:
        window = await asks(desk, "hello", "1")
        assert await window.answer(PATIENT) == "HELLO"
        assert await window.close("one moment", PATIENT) == "HELLO"
        window.written()
        window.leave()


async def test_what_waits_for_a_person_rides_on_their_next_message(store: Store) -> None:
    plugin = FakePlugin()
    plugin.outcomes.append(CLOSED)
    async with world(store, plugin=plugin) as desk:
        await desk.says("first")
        assert await outcomes(desk, 1) == ["waiting_for_user"]
        window = await asks(desk, "second", "2")
        assert await window.answer(PATIENT) == "FIRST"
        window.written()
        window.leave()
        assert await desk.plugin.until(1) == ["SECOND"]
        assert await outcomes(desk, 3) == ["waiting_for_user", "presumed", "delivered"]


async def waiting(desk: World, text: str) -> None:
    """An answer that waits for its person."""
    before = len(desk.events.of("delivery.attempted"))
    await desk.says(text)
    assert (await outcomes(desk, before + 1))[-1] == "waiting_for_user"


async def test_where_nothing_can_be_sent_afterwards_an_earlier_answer_takes_the_present_one_along(store: Store) -> None:
    plugin = FakePlugin()
    plugin.outcomes.append(CLOSED)
    async with world(store, plugin=plugin) as desk:
        await waiting(desk, "first")
        window = await asks(desk, "second", "2", gathers=PATIENT)
        assert await window.answer(PATIENT) == "FIRST+SECOND"
        window.written()
        window.leave()
        assert await outcomes(desk, 3) == ["waiting_for_user", "presumed", "presumed"]
        assert desk.plugin.sent == []


async def test_what_finds_no_room_beside_an_earlier_answer_goes_another_way(store: Store) -> None:
    plugin = FakePlugin()
    plugin.outcomes.append(CLOSED)
    async with world(store, plugin=plugin) as desk:
        await waiting(desk, "f" * 30)
        window = await asks(desk, "s" * 30, "2", gathers=PATIENT)
        assert await window.answer(PATIENT) == "F" * 30
        window.written()
        window.leave()
        assert await desk.plugin.until(1) == ["S" * 30]


async def test_an_earlier_answer_waits_for_the_present_one_only_so_long(store: Store) -> None:
    plugin, agent, parked = FakePlugin(), FakeAgent(), Parked()
    plugin.outcomes.append(CLOSED)
    async with world(store, agent, plugin) as desk:
        await waiting(desk, "first")
        agent.script = parked
        window = await asks(desk, "second", "2", gathers=0.05)
        assert await window.answer(PATIENT) == "FIRST"
        window.written()
        window.leave()
        parked.released.set()
        assert await desk.plugin.until(1) == ["SECOND"]


async def test_after_a_restart_an_answer_that_was_taken_is_given_to_whoever_comes_again(store: Store) -> None:
    async with world(store) as desk:
        window = await asks(desk, "hello", "1")
        assert await window.answer(PATIENT) == "HELLO"
    async with world(store) as desk:
        again = await asks(desk, "hello", "1")
        assert await again.answer(PATIENT) == "HELLO"
        again.written()
        again.leave()
        assert await outcomes(desk, 1) == ["presumed"]
        assert desk.plugin.sent == []


async def test_after_a_restart_silence_is_presumed_where_whoever_got_no_answer_would_have_come_again(
    store: Store,
) -> None:
    plugin = FakePlugin(Capabilities(asks_again=0.1))
    async with world(store, plugin=plugin) as desk:
        window = await asks(desk, "hello", "1", left=3.0)
        assert await window.answer(PATIENT) == "HELLO"
    async with world(store, plugin=plugin) as desk:
        assert await outcomes(desk, 1) == ["presumed"]
        assert desk.plugin.sent == []


@pytest.mark.parametrize(
    "again", [None, 0.4, 0.0], ids=["nobody asks again", "the last request", "asked again while nobody was here"]
)
async def test_after_a_restart_silence_that_says_nothing_is_unknown(store: Store, again: float | None) -> None:
    plugin = FakePlugin(Capabilities(asks_again=again))
    async with world(store, plugin=plugin) as desk:
        window = await asks(desk, "hello", "1", left=0.3)
        assert await window.answer(PATIENT) == "HELLO"
        clock = desk.clock
    await until(lambda: clock.now() > window.until)
    async with world(store, plugin=plugin) as desk:
        assert (await outcomes(desk, 1))[0] == "unknown"
        assert "HELLO" not in desk.plugin.shown("ann")
