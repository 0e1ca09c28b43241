"""Conformance: what is queued is shown in order, attempted once at a time, and accounted for."""

import asyncio
from dataclasses import replace

import pytest

from core.agent import TaskState
from core.delivery import Delivery, DeliveryState, Op
from core.envelope import ContextScope
from core.store import NotBefore, Settlement
from core.turn import Observation, Turn
from tests.store.line import DESK, HOUR, Line, answered, message, piece, task

DELIVERED, UNKNOWN, QUEUED, DEAD = (
    DeliveryState.DELIVERED,
    DeliveryState.UNKNOWN,
    DeliveryState.QUEUED,
    DeliveryState.DEAD,
)


async def test_an_answer_is_queued_with_its_observation_and_claimed_for_its_address(line: Line) -> None:
    turn = await line.begin(await line.admit(message("hello", chat="9", topic="2", language="zh")))
    await line.answer(turn, piece("artifact:1", "hi"))

    delivery = await line.claim(turn.conversation)

    assert (delivery.turn, delivery.payload, delivery.address) == (turn.id, {"text": "hi"}, turn.address)
    assert (delivery.attempt, delivery.op, delivery.part, delivery.parts) == (1, Op.SHOW, 0, 1)
    assert (delivery.language, delivery.is_direct, delivery.is_repeat) == ("zh", True, False)
    assert delivery.not_after == line.clock.now() + 24 * HOUR


async def test_parts_are_sent_in_order_and_the_next_only_after_the_one_before(line: Line) -> None:
    turn = await line.begin(await line.say())
    await line.answer(turn, piece("artifact:1", "a", "b", "c"))

    first = await line.claim(turn.conversation)
    assert await line.lane_is_empty(turn.conversation)
    assert await line.settle(first, DELIVERED, ids=("1",))
    second = await line.claim(turn.conversation)

    assert [d.payload["text"] for d in (first, second)] == ["a", "b"]
    assert (second.part, second.parts) == (1, 3)


@pytest.mark.case("DEL-04")
async def test_equal_words_by_two_roads_are_one_delivery(line: Line) -> None:
    turn = await line.begin(await line.say())
    turn = await line.observe(Observation(turn=turn, pieces=(piece("artifact:1", "hi"),)))
    await line.answer(turn, piece("artifact:1", "hi"))

    await line.show(turn.conversation, "1")
    assert await line.lane_is_empty(turn.conversation)


async def test_changed_words_take_the_place_of_what_was_shown(line: Line) -> None:
    turn = await line.begin(await line.say())
    turn = await line.observe(Observation(turn=turn, pieces=(piece("artifact:1", "a", "b"),)))
    await line.show(turn.conversation, "1")
    await line.show(turn.conversation, "2")
    await line.answer(turn, piece("artifact:1", "A", "B"))

    first = await line.show(turn.conversation, "1")
    second = await line.show(turn.conversation, "2")

    assert [(d.op, d.replaces) for d in (first, second)] == [(Op.REPLACE, ("1",)), (Op.REPLACE, ("2",))]


async def test_fewer_parts_take_the_place_of_all_that_was_shown(line: Line) -> None:
    turn = await line.begin(await line.say())
    turn = await line.observe(Observation(turn=turn, pieces=(piece("artifact:1", "a", "b", "c"),)))
    for id in "123":
        await line.show(turn.conversation, id)
    await line.answer(turn, piece("artifact:1", "A"))

    assert (await line.claim(turn.conversation)).replaces == ("1", "2", "3")


async def test_words_that_changed_before_they_were_shown_are_shown_once(line: Line) -> None:
    turn = await line.begin(await line.say())
    turn = await line.observe(Observation(turn=turn, pieces=(piece("artifact:1", "a", "b"),)))
    await line.answer(turn, piece("artifact:1", "A"))

    delivery = await line.show(turn.conversation, "1")

    assert (delivery.payload, delivery.op) == ({"text": "A"}, Op.SHOW)
    assert await line.lane_is_empty(turn.conversation)


async def test_answers_of_one_chat_share_a_lane_and_chats_do_not(line: Line) -> None:
    one, two = await line.answered_question(chat="1", answer="a"), await line.answered_question(chat="1", answer="b")
    other = await line.answered_question(chat="2", answer="c")

    first = await line.claim(one.conversation)

    assert two.conversation == one.conversation
    assert first.payload == {"text": "a"}
    assert (await line.claim(other.conversation)).payload == {"text": "c"}


async def test_only_one_of_two_drainers_gets_the_attempt(line: Line) -> None:
    turn = await line.answered_question()

    claims = await asyncio.gather(*(line.store.claim(turn.conversation, line.clock.now()) for _ in range(5)))

    assert sum(isinstance(claim, Delivery) for claim in claims) == 1


async def test_a_postponed_delivery_is_due_later_and_keeps_its_place(line: Line) -> None:
    turn = await line.answered_question()
    delivery = await line.claim(turn.conversation)
    due = line.clock.now() + 30
    assert await line.store.settle(Settlement(delivery, QUEUED, "throttled", due=due), line.clock.now())

    assert await line.store.claim(turn.conversation, line.clock.now()) == NotBefore(due)
    line.clock.time = due
    again = await line.claim(turn.conversation)
    assert (again.id, again.attempt, again.is_repeat) == (delivery.id, 2, False)


@pytest.mark.case("T82")
async def test_a_clock_that_is_set_back_puts_off_no_delivery(line: Line) -> None:
    turn = await line.answered_question()
    line.clock.time -= HOUR
    delivery = await line.claim(turn.conversation)

    await line.store.settle(Settlement(delivery, QUEUED, "throttled", due=line.clock.now() + 30), line.clock.now())
    line.clock.time -= 24 * HOUR

    assert (await line.claim(turn.conversation)).id == delivery.id


async def test_a_repeat_after_an_unknown_outcome_is_marked(line: Line) -> None:
    turn = await line.answered_question()
    delivery = await line.claim(turn.conversation)
    now = line.clock.now()
    await line.store.settle(Settlement(delivery, QUEUED, "no answer", due=now, repeat=True), now)

    assert (await line.claim(turn.conversation)).is_repeat


async def test_an_attempt_is_settled_once(line: Line) -> None:
    turn = await line.answered_question()
    delivery = await line.claim(turn.conversation)
    await line.settle(delivery, QUEUED)
    second = await line.claim(turn.conversation)

    await line.settle(delivery, DeliveryState.REJECTED)
    await line.settle(second, DELIVERED, ids=("1",))
    await line.settle(second, UNKNOWN)

    assert (await line.store.view(turn.conversation)).unknown_deliveries == 0
    assert await line.lane_is_empty(turn.conversation)


@pytest.mark.case("DEL-03")
async def test_an_attempt_under_way_at_a_start_is_found_and_nothing_else_of_its_lane_is_sent(line: Line) -> None:
    turn = await line.begin(await line.say())
    await line.answer(turn, piece("artifact:1", "a", "b"))
    delivery = await line.claim(turn.conversation)

    assert await line.store.begun() == [delivery]
    assert await line.lane_is_empty(turn.conversation)

    assert await line.settle(delivery, UNKNOWN, reason="stopped")
    assert await line.store.begun() == []
    assert (await line.claim(turn.conversation)).payload == {"text": "b"}


@pytest.mark.case("DEL-03")
async def test_what_is_older_than_its_age_is_buried_counted_from_its_queueing(line: Line) -> None:
    turn = await line.answered_question()
    line.clock.time += 23 * HOUR
    delivery = await line.claim(turn.conversation)
    await line.settle(delivery, QUEUED)
    line.clock.time += 2 * HOUR

    assert await line.lane_is_empty(turn.conversation)
    line.clock.time += 8 * 24 * HOUR
    assert await line.lane_is_empty(turn.conversation)


async def test_an_unknown_part_does_not_hold_up_what_follows(line: Line) -> None:
    turn = await line.begin(await line.say())
    await line.answer(turn, piece("artifact:1", "a", "b"))

    assert await line.settle(await line.claim(turn.conversation), UNKNOWN)

    assert (await line.claim(turn.conversation)).payload == {"text": "b"}


async def test_a_notice_is_queued_behind_once_for_each_turn(line: Line) -> None:
    turn = await line.begin(await line.say())
    await line.answer(turn, piece("artifact:1", "a", "b"))
    offer = piece("notice:delivery_unknown", "/again")
    for _ in range(2):
        delivery = await line.claim(turn.conversation)
        await line.store.settle(Settlement(delivery, UNKNOWN, "no answer"), line.clock.now(), offer)

    assert (await line.show(turn.conversation, "9")).payload == {"text": "/again"}
    assert await line.lane_is_empty(turn.conversation)


async def test_a_dead_address_takes_everything_queued_for_it_along(line: Line) -> None:
    turn = await line.answered_question(chat="1")
    await line.answered_question(chat="1")
    other = await line.answered_question(chat="2")
    delivery = await line.claim(turn.conversation)

    more = await line.store.settle(Settlement(delivery, DEAD, "blocked: by the user", blocked=True), line.clock.now())

    assert not more
    assert await line.lane_is_empty(turn.conversation)
    assert not await line.lane_is_empty(other.conversation)


async def test_what_waits_for_the_person_is_queued_whole_when_they_write_again(line: Line) -> None:
    turn = await line.begin(await line.say())
    await line.answer(turn, piece("artifact:1", "a", "b"))
    await line.settle(await line.claim(turn.conversation), DeliveryState.WAITING_FOR_USER)
    assert await line.lane_is_empty(turn.conversation)
    line.clock.time += 100 * HOUR

    await line.say("I am back")

    shown = [await line.show(turn.conversation, id) for id in "12"]
    assert [delivery.payload["text"] for delivery in shown] == ["a", "b"]


async def test_a_direct_answer_quotes_its_question_only_when_another_message_came_in_between(line: Line) -> None:
    turn = await line.begin(await line.admit(message("one", message_id="55")))
    await line.answer(turn, piece("artifact:1", "a", "b"))
    assert (await line.show(turn.conversation, "1")).quote == ""

    turn = await line.begin(await line.admit(message("two", message_id="56")))
    await line.answer(turn, piece("artifact:1", "a", "b"))
    await line.say("three")

    quotes = [(await line.show(turn.conversation, id)).quote for id in ("2", "3", "4")]
    assert quotes == ["", "56", ""]


async def test_an_event_comes_between_no_question_and_its_answer(line: Line) -> None:
    turn = await line.begin(await line.admit(message("one", message_id="55")))
    await line.admit(message("left", scope=ContextScope.NOTIFY))
    await line.answer(turn, piece("artifact:1", "a"))
    assert (await line.show(turn.conversation, "1")).quote == ""


async def test_where_others_read_along_the_first_part_quotes_its_question(line: Line) -> None:
    turn = await line.begin(await line.admit(message(chat="-7", message_id="55", is_direct=False)))
    await line.answer(turn, piece("artifact:1", "a", "b"))

    assert [(await line.show(turn.conversation, id)).quote for id in "12"] == ["55", ""]


async def test_what_was_unknown_is_shown_again_marked_and_once(line: Line) -> None:
    turn = await line.answered_question(answer="old")
    await line.settle(await line.claim(turn.conversation), UNKNOWN)
    newest = await line.begin(await line.say())
    await line.answer(newest, piece("artifact:1", "a", "b"))
    for _ in range(2):
        await line.settle(await line.claim(turn.conversation), UNKNOWN)

    assert await line.store.again(turn.conversation, line.clock.now()) == 2
    shown = [await line.show(turn.conversation, id) for id in "12"]

    assert [(d.payload["text"], d.is_repeat, d.attempt) for d in shown] == [("a", True, 2), ("b", True, 2)]
    assert await line.store.again(turn.conversation, line.clock.now()) == 1
    await line.show(turn.conversation, "3")
    assert await line.store.again(turn.conversation, line.clock.now()) == 0


async def test_after_a_start_conversations_with_something_queued_are_found(line: Line) -> None:
    turn = await line.answered_question(chat="1")
    await line.show((await line.answered_question(chat="2")).conversation, "1")

    assert await line.store.lanes() == [(turn.conversation, DESK)]


async def test_an_operator_queues_an_unknown_delivery_once_more_as_a_repeat(line: Line) -> None:
    turn = await line.answered_question()
    delivery = await line.claim(turn.conversation)
    await line.settle(delivery, UNKNOWN)
    line.clock.time += 48 * HOUR

    assert await line.store.retry(delivery.id, line.clock.now()) == turn.conversation

    again = await line.show(turn.conversation, "1")
    assert (again.id, again.is_repeat) == (delivery.id, True)


async def test_an_operator_queues_a_dead_delivery_once_more_as_it_is(line: Line) -> None:
    turn = await line.answered_question()
    delivery = await line.claim(turn.conversation)
    await line.settle(delivery, DEAD)

    assert await line.store.retry(delivery.id, line.clock.now()) == turn.conversation
    assert not (await line.claim(turn.conversation)).is_repeat


async def test_what_is_under_way_or_shown_cannot_be_retried_or_discarded(line: Line) -> None:
    turn = await line.answered_question()
    delivery = await line.claim(turn.conversation)
    assert await line.store.retry(delivery.id, line.clock.now()) is None
    assert await line.store.discard(delivery.id) is None

    await line.settle(delivery, DELIVERED, ids=("1",))
    assert await line.store.retry(delivery.id, line.clock.now()) is None
    assert await line.store.discard(delivery.id) is None


async def test_a_discarded_delivery_makes_way_for_the_next(line: Line) -> None:
    turn = await line.begin(await line.say())
    await line.answer(turn, piece("artifact:1", "a", "b"))
    delivery = await line.claim(turn.conversation)
    await line.settle(delivery, QUEUED)

    assert await line.store.discard(delivery.id) == turn.conversation
    assert await line.store.discard(delivery.id) is None
    assert (await line.claim(turn.conversation)).payload == {"text": "b"}


@pytest.mark.parametrize("id", ["", "nonsense", "0" * 32 + "-1-1", "-", "1", "9" * 40])
async def test_a_delivery_that_nobody_knows_is_neither_retried_nor_discarded(line: Line, id: str) -> None:
    await line.settle(await line.claim((await line.answered_question()).conversation), UNKNOWN)

    assert await line.store.retry(id, line.clock.now()) is None
    assert await line.store.discard(id) is None


async def test_an_empty_or_unknown_lane_has_nothing_to_claim(line: Line) -> None:
    assert await line.lane_is_empty((await line.say()).conversation)
    assert await line.lane_is_empty("no conversation")


async def test_a_settlement_for_a_conversation_nobody_knows_changes_nothing(line: Line) -> None:
    delivery = await line.claim((await line.answered_question()).conversation)
    stray = replace(delivery, conversation="no conversation")

    assert not await line.store.settle(Settlement(stray, DELIVERED, ids=("1",)), line.clock.now())


async def test_output_without_parts_is_nothing_to_show(line: Line) -> None:
    turn: Turn = await line.begin(await line.say())
    turn = await line.observe(Observation(turn=turn, task=task(turn, TaskState.WORKING), pieces=(piece("artifact:1"),)))

    assert await line.lane_is_empty(turn.conversation)
    assert await line.store.observe(answered(turn, piece("artifact:1", "words")), line.clock.now()) is not None
    assert (await line.claim(turn.conversation)).payload == {"text": "words"}
