"""Reply windows in every engine: opened with their envelope, answered once, kept over a restart, gone in time."""

from core.delivery import Delivery, DeliveryState
from core.envelope import ContextScope
from core.store import AlreadySeen, HeldWindow, NotBefore, Settlement
from gateway.store.sqlite import SqliteStore
from tests.store.line import DESK, HOUR, Line, message, piece

UNTIL = 15.0  # seconds from now


async def opened(line: Line) -> tuple[str, str]:
    """An envelope with a window, and its conversation."""
    candidate = message("hello")
    (admitted,) = await line.store.admit(DESK, (candidate,), window=line.clock.now() + UNTIL)
    return candidate.envelope_id, admitted.conversation  # type: ignore[union-attr]


async def claimed(line: Line) -> Delivery:
    turn = await line.answered_question("and this?")
    return await line.claim(turn.conversation)


async def test_a_message_that_came_with_a_window_finds_it_when_it_comes_again(line: Line) -> None:
    candidate, repeated = message("hello", keys=("1",)), message("hello", keys=("1",))
    until = line.clock.now() + UNTIL
    (admitted,) = await line.store.admit(DESK, (candidate,), window=until)
    (again,) = await line.store.admit(DESK, (repeated,), window=until + 5)

    assert again == AlreadySeen(candidate.envelope_id, HeldWindow(admitted.conversation, until))  # type: ignore[union-attr]
    assert await line.store.held(candidate.envelope_id) == HeldWindow(admitted.conversation, until)  # type: ignore[union-attr]


async def test_what_is_refused_or_came_without_one_has_no_window(line: Line) -> None:
    await line.say()
    candidate = message("stranger")
    assert await line.store.held(candidate.envelope_id) is None
    assert not await line.store.ride(candidate.envelope_id, "", "words", was_asked=True)


async def test_a_window_is_answered_once(line: Line) -> None:
    envelope, conversation = await opened(line)
    delivery = await claimed(line)
    assert await line.store.ride(envelope, delivery.id, "first", was_asked=True)
    assert not await line.store.ride(envelope, "", "second", was_asked=True)

    held = await line.store.held(envelope)
    assert held == HeldWindow(conversation, line.clock.now() + UNTIL, "first", was_asked=True)


async def test_an_answer_that_nobody_fetched_leaves_the_window_as_it_was(line: Line) -> None:
    envelope, conversation = await opened(line)
    delivery = await claimed(line)
    await line.store.ride(envelope, delivery.id, "first", was_asked=False)
    await line.store.unride(envelope, "another-999")
    assert not await line.store.ride(envelope, "", "second", was_asked=False)
    await line.store.unride(envelope, delivery.id)
    assert await line.store.held(envelope) == HeldWindow(conversation, line.clock.now() + UNTIL)


async def test_what_is_due_behind_an_attempt_can_ride_along_with_it(line: Line) -> None:
    turn = await line.answered_question("one", answer="a")
    await line.answered_question("two", answer="b")
    first = await line.claim(turn.conversation)
    second = await line.store.claim_behind(first, line.clock.now())
    assert second is not None
    assert second.payload == {"text": "b"}
    assert await line.store.claim_behind(first, line.clock.now()) is None
    for each in (second, first):
        await line.settle(each, DeliveryState.PRESUMED)
    assert await line.lane_is_empty(turn.conversation)


async def test_after_a_start_an_attempt_knows_the_window_that_took_it(line: Line) -> None:
    envelope, _ = await opened(line)
    delivery = await claimed(line)
    await line.store.ride(envelope, delivery.id, "first", was_asked=True)

    (begun,) = await line.store.begun()
    assert (begun.id, begun.window) == (delivery.id, envelope)


async def test_an_old_window_is_removed_and_a_young_one_is_not(sqlite: SqliteStore, sqlite_line: Line) -> None:
    envelope, _ = await opened(sqlite_line)
    await sqlite.prune(sqlite_line.clock.now())
    assert await sqlite.held(envelope) is not None
    await sqlite.prune(sqlite_line.clock.now() + 2 * HOUR)
    assert await sqlite.held(envelope) is None


async def test_a_message_that_comes_again_hands_over_while_its_window_is_open(line: Line) -> None:
    candidate, now = message("hello", keys=("1",)), line.clock.now()
    (admitted,) = await line.store.admit(DESK, (candidate,), window=now + UNTIL)
    turn = await line.answer(await line.begin(admitted), piece("artifact:1", "late"))  # type: ignore[arg-type]
    await line.settle(await line.claim(turn.conversation), DeliveryState.WAITING_FOR_USER)

    (again,) = await line.store.admit(DESK, (message("hello", keys=("1",)),), window=now + UNTIL)
    assert again == AlreadySeen(candidate.envelope_id, HeldWindow(turn.conversation, now + UNTIL), hands_over=True)
    assert (await line.claim(turn.conversation)).payload == {"text": "late"}


async def test_a_message_that_comes_again_too_late_or_after_its_answer_hands_nothing_over(line: Line) -> None:
    candidate, now = message("hello", keys=("1",)), line.clock.now()
    (admitted,) = await line.store.admit(DESK, (candidate,), window=now + UNTIL)
    turn = await line.answer(await line.begin(admitted), piece("artifact:1", "late"))  # type: ignore[arg-type]
    await line.settle(await line.claim(turn.conversation), DeliveryState.WAITING_FOR_USER)
    for late in (UNTIL, 0.0):
        if not late:
            await line.store.ride(candidate.envelope_id, "", "soon", was_asked=True)
        line.clock.time = now + late
        (again,) = await line.store.admit(DESK, (message("hello", keys=("1",)),), window=line.clock.now() + UNTIL)
        assert not again.hands_over  # type: ignore[union-attr]
    assert await line.lane_is_empty(turn.conversation)


async def test_what_was_put_off_is_due_as_soon_as_a_request_with_a_window_is_there(line: Line) -> None:
    candidate, now = message("hello", keys=("1",)), line.clock.now()
    turn = await line.answered_question(answer="late")
    claimed = await line.claim(turn.conversation)
    await line.store.settle(Settlement(claimed, DeliveryState.QUEUED, due=now + HOUR), now)

    assert not (await line.say("without one")).hands_over
    assert await line.store.claim(turn.conversation, now) == NotBefore(now + HOUR)
    (admitted,) = await line.store.admit(DESK, (candidate,), window=now + UNTIL)
    assert admitted.hands_over  # type: ignore[union-attr]
    late = await line.claim(turn.conversation)
    assert late.payload == {"text": "late"}

    await line.store.settle(Settlement(late, DeliveryState.QUEUED, due=now + HOUR), now)
    (again,) = await line.store.admit(DESK, (message("hello", keys=("1",)),), window=now + UNTIL)
    assert again.hands_over  # type: ignore[union-attr]
    assert (await line.claim(turn.conversation)).payload == {"text": "late"}


async def test_an_event_hands_nothing_over_and_a_message_does(line: Line) -> None:
    turn = await line.answered_question(answer="late")
    await line.settle(await line.claim(turn.conversation), DeliveryState.WAITING_FOR_USER)
    event = await line.admit(message("unsubscribe", scope=ContextScope.NOTIFY))
    assert not event.hands_over
    said = await line.say("hello again")
    assert said.hands_over
    assert (await line.claim(turn.conversation)).payload == {"text": "late"}
    assert not (await line.say("and again")).hands_over
