"""Several open questions: what is offered to the writer of a message, and what choosing one does."""

from collections.abc import Sequence

import pytest

from core.parts import text_of
from core.store import Admitted
from core.turn import Turn
from tests.store.line import Line

QUESTIONS = ("book a table", "book a car")


async def asked_both(line: Line, **by: str) -> tuple[Turn, Turn]:
    """Two questions are open to one person: the second thread began while the first one was at work."""
    first = await line.begin(await line.say(QUESTIONS[0], **by))
    await line.say(QUESTIONS[1], **by)
    await line.ask_back(first)
    (second,) = await line.store.ready()
    turn = await line.store.begin(second.thread, line.clock.now())
    assert turn is not None
    await line.ask_back(turn)
    return first, turn


async def words(line: Line, admitted: Admitted) -> Sequence[str]:
    return [text_of(envelope.parts) for envelope in (await line.begin(admitted)).envelopes]


async def offered(line: Line, which: Admitted) -> list[tuple[str, str]]:
    return [(each.thread, each.about) for each in await line.store.offered(which.thread)]


async def test_the_desk_is_told_which_questions_were_open(line: Line) -> None:
    first, second = await asked_both(line)

    which = await line.say("Friday")

    assert which.is_desk
    assert await offered(line, which) == [(first.thread, QUESTIONS[0]), (second.thread, QUESTIONS[1])]


@pytest.mark.parametrize("choice", ["2", "2. book a car"])
async def test_who_chooses_has_written_the_waiting_message_as_the_answer(line: Line, choice: str) -> None:
    _, second = await asked_both(line)
    await line.say("Friday")

    answer = await line.say(choice)

    assert answer.thread == second.thread
    turn = await line.begin(answer)
    assert [text_of(envelope.parts) for envelope in turn.envelopes] == ["Friday"]
    assert turn.task_id is not None


async def is_over(line: Line, said: Admitted) -> bool:
    """Whether the desk is to say that the choice is out of date."""
    return said.is_desk and (await line.begin(said)).envelopes[0].command == "choice_over"


async def test_a_line_that_was_never_offered_is_a_message(line: Line) -> None:
    await asked_both(line)
    await line.say("Friday")

    again = await line.say("2. book a bus")

    assert again.is_desk
    assert await words(line, again) == ["2. book a bus"]


async def test_a_menu_is_clicked_once(line: Line) -> None:
    await asked_both(line)
    await line.say("Friday")
    await line.begin(await line.say("2. book a car"))

    assert await is_over(line, await line.say("2. book a car"))
    assert await is_over(line, await line.say("1. book a table"))


async def test_a_menu_that_is_older_than_the_last_message_chooses_nothing(line: Line) -> None:
    first, _ = await asked_both(line)
    await line.say("Friday")
    await line.begin(await line.say("at noon", reply_to=first.envelopes[0].message_id))

    assert await is_over(line, await line.say("2. book a car"))


async def test_a_new_start_leaves_the_menus_of_before_behind(line: Line) -> None:
    first, _ = await asked_both(line)
    await line.say("Friday")
    await line.store.renew(first.conversation, line.clock.now())

    assert await is_over(line, await line.say("1. book a table"))
    assert await words(line, await line.say("1")) == ["1"]


async def test_a_line_that_was_offered_to_somebody_else_is_a_message(line: Line) -> None:
    await asked_both(line, chat="-100", sender="ann")
    await line.say("Friday", chat="-100", sender="ann")

    assert await words(line, await line.say("2. book a car", chat="-100", sender="bob")) == ["2. book a car"]


async def test_a_choice_is_made_once(line: Line) -> None:
    first, second = await asked_both(line)
    await line.say("Friday")
    await line.begin(await line.say("2"))

    answer = await line.say("2")  # people, to the one question that is left

    assert answer.thread == first.thread != second.thread
    assert await words(line, answer) == ["2"]


async def test_of_several_messages_the_newest_waits_for_the_choice(line: Line) -> None:
    await asked_both(line)
    await line.say("Friday")
    await line.say("Saturday")

    assert await words(line, await line.say("1")) == ["Saturday"]


async def test_a_command_between_message_and_choice_changes_nothing(line: Line) -> None:
    first, _ = await asked_both(line)
    await line.say("Friday")
    await line.command("status")

    answer = await line.say("1")

    assert answer.thread == first.thread
    assert await words(line, answer) == ["Friday"]


async def test_a_question_that_was_closed_meanwhile_is_written_to_as_by_a_reply(line: Line) -> None:
    _, second = await asked_both(line)
    await line.say("Friday")
    closed = await line.store.want_cancel(
        second.conversation, 10**9, person=None, everything=True, now=line.clock.now()
    )
    assert closed.closed

    answer = await line.say("2")

    assert answer.thread == second.thread
    assert await words(line, answer) == ["Friday"]


async def test_whoever_answered_otherwise_meanwhile_chooses_nothing(line: Line) -> None:
    first, second = await asked_both(line)
    await line.say("Friday")
    await line.begin(await line.say("at noon", reply_to=first.envelopes[0].message_id))

    answer = await line.say("2")  # people, to the one question that is left

    assert answer.thread == second.thread
    assert await words(line, answer) == ["2"]


async def test_a_number_of_somebody_else_chooses_nothing(line: Line) -> None:
    first, second = await asked_both(line, chat="-100", sender="ann")
    await line.say("Friday", chat="-100", sender="ann")

    other = await line.say("2", chat="-100", sender="bob")

    assert other.thread not in (first.thread, second.thread)
    assert await words(line, other) == ["2"]
