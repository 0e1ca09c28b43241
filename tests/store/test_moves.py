"""Conformance: a chat that gets a new id takes everything along, in one transaction."""

import pytest

from core.delivery import DeliveryState
from core.envelope import Moved
from core.store import NotAdmitted, Settlement
from tests.store.line import DESK, Line, message, piece

MOVED = Moved(("u:9",), "9", b"{}", "-1", "-100")


async def move(line: Line) -> None:
    assert await line.store.admit(DESK, (MOVED,)) == (NotAdmitted("moved"),)


@pytest.mark.case("TG-31")
async def test_queued_deliveries_and_frozen_addresses_follow_a_chat_to_its_new_id(line: Line) -> None:
    queued = await line.answered_question(chat="-1")
    running = await line.begin(await line.say(chat="-1"))

    await move(line)

    assert (await line.claim(queued.conversation)).address.chat == "-100"
    assert (await line.store.unfinished())[0].address.chat == "-100"
    assert (await line.say(chat="-100")).conversation == queued.conversation
    assert (await line.say(chat="-100")).thread == running.thread


@pytest.mark.case("TG-31")
async def test_old_ids_are_known_as_aliases_over_any_number_of_moves(line: Line) -> None:
    first = await line.say(chat="-1")
    await move(line)
    await line.store.admit(DESK, (Moved(("u:10",), "10", b"{}", "-100", "-200"),))

    assert await line.store.aliases(DESK) == {"-1": "-200", "-100": "-200"}
    assert (await line.say(chat="-1")).conversation == first.conversation


@pytest.mark.case("TG-31")
async def test_a_move_learned_from_a_refused_delivery_is_the_same_and_the_delivery_goes_again(line: Line) -> None:
    turn = await line.answered_question(chat="-1")
    delivery = await line.claim(turn.conversation)
    settlement = Settlement(delivery, DeliveryState.QUEUED, "moved", due=line.clock.now(), moved_to="-100")

    assert await line.store.settle(settlement, line.clock.now())

    again = await line.claim(turn.conversation)
    assert (again.id, again.address.chat) == (delivery.id, "-100")
    assert await line.store.aliases(DESK) == {"-1": "-100"}


@pytest.mark.case("TG-31")
async def test_a_move_onto_a_chat_that_wrote_already_makes_one_conversation_of_both(line: Line) -> None:
    old = await line.answered_question(chat="-1", answer="from before")
    new = await line.answered_question(chat="-100", answer="from after")

    await move(line)

    first = await line.show(old.conversation, "1")
    second = await line.show(old.conversation, "2")
    assert [d.payload["text"] for d in (first, second)] == ["from before", "from after"]
    assert {d.conversation for d in (first, second)} == {new.conversation}
    assert {d.address.chat for d in (first, second)} == {"-100"}


async def test_work_that_ran_through_a_merge_answers_in_the_one_conversation(line: Line) -> None:
    running = await line.begin(await line.say(chat="-1"))
    new = await line.say(chat="-100")
    await move(line)

    await line.answer(running, piece("artifact:1", "hi"))

    delivery = await line.claim(running.conversation)
    assert (delivery.conversation, delivery.address.chat) == (new.conversation, "-100")


async def test_after_a_merge_replies_and_commands_reach_the_work_of_both(line: Line) -> None:
    old = await line.admit(message(chat="-1", message_id="55"))
    turn = await line.begin(old)
    await line.say(chat="-100")
    await move(line)

    assert (await line.say("and?", chat="-100", reply_to="55")).thread == old.thread
    covered = await line.store.want_cancel(old.conversation, 1 << 40, person=None, everything=True, now=0.0)
    assert covered.turns == (turn.id,)
    assert covered.dropped == 2


async def test_topics_of_a_chat_move_with_it(line: Line) -> None:
    topic = await line.admit(message(chat="-1", topic="3"))

    await move(line)

    assert (await line.admit(message(chat="-100", topic="3"))).conversation == topic.conversation


async def test_a_chat_that_moves_back_is_no_alias_of_itself(line: Line) -> None:
    await move(line)
    await line.store.admit(DESK, (Moved(("u:10",), "10", b"{}", "-100", "-1"),))

    assert await line.store.aliases(DESK) == {"-100": "-1"}


@pytest.mark.case("TG-31")
async def test_a_chat_that_took_another_one_in_may_move_to_that_ones_place(line: Line) -> None:
    old = await line.say(chat="-1")
    new = await line.say(chat="-100")
    await move(line)

    await line.store.admit(DESK, (Moved(("u:10",), "10", b"{}", "-100", "-1"),))

    assert (await line.say(chat="-1")).conversation == new.conversation
    turn = await line.begin(old)
    assert (turn.conversation, turn.address.chat) == (new.conversation, "-1")


async def test_a_move_to_where_it_is_changes_nothing(line: Line) -> None:
    first = await line.say(chat="-1")
    await line.store.admit(DESK, (Moved(("u:10",), "10", b"{}", "-1", "-1"),))

    assert await line.store.aliases(DESK) == {}
    assert (await line.say(chat="-1")).conversation == first.conversation


async def test_a_move_is_learned_once(line: Line) -> None:
    await move(line)

    (again,) = await line.store.admit(DESK, (MOVED,))

    assert not isinstance(again, NotAdmitted)
