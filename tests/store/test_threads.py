"""Conformance: which thread a message belongs to, from what the store knows at its admission."""

from dataclasses import replace

import pytest

from core.agent import TaskState
from core.envelope import Candidate
from core.turn import Observation, SubmissionState, TurnEnd, TurnState
from tests.store.line import Line, asking, message, piece, task


async def test_a_second_message_joins_the_foreground_while_it_is_queued(line: Line) -> None:
    first = await line.say("one")
    second = await line.say("two")

    assert second.thread == first.thread


async def test_a_second_message_joins_the_foreground_while_it_runs_and_waits_its_turn(line: Line) -> None:
    first = await line.say("one")
    turn = await line.begin(first)
    second = await line.say("two")

    assert second.thread == first.thread
    assert await line.store.begin(second.thread, 0.0) is None

    await line.answer(turn)
    assert [e.id for e in (await line.begin(second)).envelopes] == [second.envelope]


async def test_a_message_after_the_answer_starts_a_new_thread(line: Line) -> None:
    turn = await line.answered_question()

    assert (await line.say("next")).thread != turn.thread


async def test_a_burst_is_one_turn_up_to_the_limit_in_order(line: Line) -> None:
    messages = [await line.say(text) for text in "abcd"]

    turn = await line.begin(messages[0], limit=3)
    await line.answer(turn)
    rest = await line.begin(messages[0], limit=3)

    assert [e.id for e in turn.envelopes] == [m.envelope for m in messages[:3]]
    assert [e.id for e in rest.envelopes] == [messages[3].envelope]
    assert [e.seq for e in turn.envelopes + rest.envelopes] == sorted(e.seq for e in turn.envelopes + rest.envelopes)


async def test_a_thread_past_the_foregrounds_patience_leaves_room_for_the_next_question(line: Line) -> None:
    turn = await line.begin(await line.say("long"))
    await line.observe(Observation(turn=turn, task=task(turn, TaskState.WORKING), end=TurnEnd(TurnState.WAITING)))

    assert (await line.say("short")).thread != turn.thread


async def test_a_reply_to_a_shown_answer_resumes_its_thread(line: Line) -> None:
    turn = await line.answered_question()
    await line.show(turn.conversation, "m100")
    await line.say("something else")

    assert (await line.say("and?", reply_to="m100")).thread == turn.thread


async def test_a_reply_to_a_message_of_a_person_joins_its_thread(line: Line) -> None:
    first = await line.admit(message("one", message_id="55"))
    await line.answer(await line.begin(first))
    await line.say("two")

    assert (await line.say("and?", reply_to="55")).thread == first.thread


async def test_a_reply_to_something_unknown_is_an_ordinary_message(line: Line) -> None:
    first = await line.say("one")

    assert (await line.say("two", reply_to="nobody's")).thread == first.thread


async def test_ids_of_messages_are_known_in_their_own_chat_only(line: Line) -> None:
    turn = await line.answered_question(chat="1")
    await line.show(turn.conversation, "m100")

    assert (await line.say("and?", chat="2", reply_to="m100")).thread != turn.thread


async def test_a_reply_to_a_notice_of_the_desk_is_an_ordinary_message(line: Line) -> None:
    help = await line.begin(await line.command("help"))
    await line.answer(help, piece("notice:help", "commands"))
    await line.show(help.conversation, "m100")

    after = await line.say("thanks", reply_to="m100")

    assert not after.is_desk
    assert after.thread != help.thread


async def test_the_answer_to_an_open_question_joins_its_thread(line: Line) -> None:
    turn = await line.begin(await line.say("book a table"))
    await line.ask_back(turn)

    assert (await line.say("Friday")).thread == turn.thread


@pytest.mark.case("SEC-03")
async def test_a_question_is_open_to_the_person_it_asks_and_to_nobody_else(line: Line) -> None:
    turn = await line.begin(await line.say("book a table", chat="-100", sender="ann"))
    await line.ask_back(turn)

    assert (await line.say("lunch?", chat="-100", sender="bob")).thread != turn.thread
    assert (await line.say("Friday", chat="-100", sender="ann")).thread == turn.thread


async def test_with_several_questions_open_the_desk_asks_which_is_meant(line: Line) -> None:
    first = await line.begin(await line.say("book a table"))
    await line.say("book a car")
    await line.ask_back(first)
    (second,) = await line.store.ready()
    turn = await line.store.begin(second.thread, line.clock.now())
    assert turn is not None
    await line.ask_back(turn)

    which = await line.say("Friday")

    assert which.is_desk
    assert (await line.begin(which)).envelopes[0].command == "which"


async def test_a_command_has_a_thread_of_its_own_and_leaves_the_foreground_alone(line: Line) -> None:
    first = await line.say("one")
    status = await line.command("status")

    assert status.is_desk
    assert status.thread != first.thread
    assert (await line.say("two")).thread == first.thread


async def test_what_was_queued_before_the_question_does_not_answer_it(line: Line) -> None:
    first = await line.say("book a table")
    second, third = await line.say("what is the weather?"), await line.say("and tomorrow?")
    await line.ask_back(await line.begin(first))

    (moved,) = await line.store.ready()
    turn = await line.store.begin(moved.thread, line.clock.now(), limit=9)

    assert moved.thread != first.thread
    assert turn is not None
    assert [e.id for e in turn.envelopes] == [second.envelope, third.envelope]
    assert turn.task_id is None


async def test_what_moved_behind_a_question_is_the_foreground(line: Line) -> None:
    first = await line.say("book a table", chat="-100", sender="ann")
    await line.say("what is the weather?", chat="-100", sender="bob")
    await line.ask_back(await line.begin(first))
    (moved,) = await line.store.ready()

    assert (await line.say("and tomorrow?", chat="-100", sender="bob")).thread == moved.thread


async def test_a_message_for_another_agent_starts_a_thread_of_its_own_beside_the_one_at_work(line: Line) -> None:
    first = await line.begin(await line.admit(message(agent="one")))
    beside = await line.begin(await line.admit(message(agent="two")))
    behind = [await line.admit(message(agent=agent)) for agent in ("one", "two", "one")]

    assert [turn.agent for turn in (first, beside)] == ["one", "two"]
    assert [admitted.thread for admitted in behind] == [first.thread, beside.thread, first.thread]


async def test_a_message_joins_the_thread_that_the_fallback_of_its_agent_works_on(line: Line) -> None:
    first = await line.begin(await line.admit(message(agent="one")))
    await line.observe(Observation(turn=first, agent="two"))

    assert (await line.admit(message(agent="one"))).thread != first.thread
    candidate = replace(message(agent="one"), fallbacks={"one": "two"})
    await line.store.renew(first.conversation, line.clock.now())
    again = await line.begin(await line.admit(message(agent="one")))
    again = await line.observe(Observation(turn=again, agent="two"))
    assert (await line.admit(candidate)).thread == again.thread


async def test_a_turn_that_changes_its_agent_takes_its_thread_along_and_asks_in_that_agents_context(
    line: Line,
) -> None:
    await line.answer(await line.begin(await line.admit(message(agent="two"))))
    turn = await line.begin(await line.admit(message(agent="one")))
    assert turn.context_id is None
    behind = await line.admit(message(agent="one"))

    changed = await line.observe(Observation(turn=turn, agent="two", asked=False))

    assert (changed.agent, changed.context_id, changed.asked) == ("two", f"context of {turn.session}", False)
    [unfinished] = await line.store.unfinished()
    assert (unfinished.agent, unfinished.context_id) == ("two", changed.context_id)
    await line.answer(changed)
    assert (await line.begin(behind)).agent == "two"


async def test_a_chosen_agent_gets_the_next_messages_as_far_as_they_may_be_given_to_it(line: Line) -> None:
    def next_message(*choices: str, is_called: bool = False) -> Candidate:
        return replace(message(agent="one"), choices=choices, is_called=is_called)

    first = await line.answer(await line.begin(await line.admit(message(agent="one"))))
    await line.store.choose(first.conversation, "two")

    for candidate, agent in (
        (next_message("one", "two"), "two"),
        (next_message("one"), "one"),
        (next_message("one", "two", is_called=True), "one"),
        (replace(next_message("one", "two"), command="agents"), "two"),
    ):
        turn = await line.begin(await line.admit(candidate))
        assert turn.agent == agent
        await line.answer(turn)

    await line.store.choose(first.conversation, "")
    assert (await line.begin(await line.admit(next_message("one", "two")))).agent == "one"


async def test_two_threads_may_wait_on_one_task_id_that_the_agent_gave_twice(line: Line) -> None:
    """In one conversation; to another one the task is not given (test_turns.py)."""

    def said(text: str, sender: str) -> Candidate:
        return message(text, chat="-7", sender=sender, is_direct=False)

    for sender in ("ann", "bob"):
        turn = await line.begin(await line.admit(said("hello", sender)))
        await line.observe(asking(turn, task_id="the only id it knows"))

    turns = [await line.begin(await line.admit(said("Friday", sender))) for sender in ("ann", "bob")]

    assert turns[0].thread != turns[1].thread
    assert [turn.task_id for turn in turns] == ["the only id it knows"] * 2


async def test_a_message_that_joins_a_failed_thread_by_reply_starts_it_again(line: Line) -> None:
    first = await line.admit(message(message_id="55"))
    turn = await line.begin(first)
    end = TurnEnd(TurnState.FAILED, "declined")
    await line.observe(Observation(turn=turn, submission=SubmissionState.REJECTED, end=end))

    again = await line.say("once more", reply_to="55")

    assert again.thread == first.thread
    assert (await line.begin(again)).envelopes[0].id == again.envelope


async def test_a_reply_to_a_message_that_moved_behind_a_question_joins_its_new_thread(line: Line) -> None:
    first = await line.say("book a table")
    await line.admit(message("what is the weather?", message_id="56"))
    await line.ask_back(await line.begin(first))
    (moved,) = await line.store.ready()

    assert (await line.say("and tomorrow?", reply_to="56")).thread == moved.thread
