"""Conformance: what /status shows, and what /cancel, /new and /again change."""

import pytest

from core.agent import TaskState
from core.delivery import DeliveryState
from core.store import Admitted
from core.turn import Disposition, Observation, SubmissionState, TurnEnd, TurnState
from tests.store.line import Line, message, piece, task, unknown

LATER = 1 << 40  # a seq that no message has yet


async def cancel(
    line: Line, where: Admitted, *, before: int = LATER, person: str | None = None, everything: bool = False
) -> tuple[tuple[str, ...], int]:
    covered = await line.store.want_cancel(
        where.conversation, before, person=person, everything=everything, now=line.clock.now()
    )
    return covered.turns, covered.dropped


async def test_nothing_to_cancel_is_nothing_covered(line: Line) -> None:
    turn = await line.answered_question()
    admitted = await line.command("cancel")

    assert await cancel(line, admitted) == ((), 0)
    assert turn.conversation == admitted.conversation


async def test_a_cancel_marks_the_running_turn_and_drops_what_is_queued_behind_it(line: Line) -> None:
    first = await line.say("one")
    turn = await line.begin(first)
    await line.say("two")

    assert await cancel(line, first) == ((turn.id,), 1)

    (found,) = await line.store.unfinished()
    assert found.cancel_wanted
    turn = await line.observe(Observation(turn=turn, task=task(turn, TaskState.CANCELED)))
    assert turn.cancel_wanted
    await line.observe(Observation(turn=turn, end=TurnEnd(TurnState.CANCELLED)))
    assert await line.store.ready() == []


async def test_a_cancel_before_the_turn_began_drops_its_message(line: Line) -> None:
    first = await line.say("one")

    assert await cancel(line, first) == ((), 1)
    assert await line.store.begin(first.thread, 0.0) is None
    assert await line.store.ready() == []


async def test_a_cancel_never_covers_a_message_admitted_after_it(line: Line) -> None:
    await line.say("one")
    command = await line.begin(await line.command("cancel"))
    after = await line.say("two")

    assert await cancel(line, after, before=command.envelopes[0].seq) == ((), 1)
    assert (await line.begin(after)).envelopes[0].id == after.envelope


async def test_a_turn_begun_by_a_later_message_is_not_covered(line: Line) -> None:
    command = await line.begin(await line.command("cancel"))
    later = await line.say("one")
    await line.begin(later)

    assert await cancel(line, later, before=command.envelopes[0].seq) == ((), 0)


async def test_without_a_foreground_the_newest_waiting_thread_is_covered(line: Line) -> None:
    turns = []
    for text in ("one", "two"):
        turn = await line.begin(await line.say(text))
        end = TurnEnd(TurnState.WAITING)
        turns.append(await line.observe(Observation(turn=turn, task=task(turn, TaskState.WORKING), end=end)))
    where = await line.command("cancel")

    assert await cancel(line, where) == ((turns[1].id,), 0)


async def test_cancelling_everything_covers_every_thread_of_the_conversation_and_no_other(line: Line) -> None:
    first = await line.begin(await line.say("one", chat="1"))
    end = TurnEnd(TurnState.WAITING)
    await line.observe(Observation(turn=first, task=task(first, TaskState.WORKING), end=end))
    second = await line.say("two", chat="1")
    await line.say("three", chat="2")

    turns, dropped = await cancel(line, second, everything=True)

    assert (turns, dropped) == ((first.id,), 1)
    assert len(await line.store.ready()) == 1


async def test_in_a_group_a_cancel_covers_ones_own_messages(line: Line) -> None:
    ann = await line.say("one", chat="-1", sender="ann")
    turn = await line.begin(ann)
    bob = await line.say("two", chat="-1", sender="bob")
    command = await line.begin(await line.command("cancel", chat="-1", sender="bob"))

    turns, dropped = await cancel(line, bob, person=command.envelopes[0].person.id)

    assert (turns, dropped) == ((), 1)
    assert not (await line.store.unfinished())[0].cancel_wanted
    assert turn.thread == bob.thread


async def test_a_cancelled_question_is_closed(line: Line) -> None:
    turn = await line.begin(await line.say("book a table"))
    await line.ask_back(turn)

    await cancel(line, await line.command("cancel"))

    assert (await line.say("Friday")).thread != turn.thread
    assert (await line.store.view(turn.conversation)).works[0].text == "Friday"


async def test_an_answer_that_was_queued_is_dropped_with_its_question(line: Line) -> None:
    turn = await line.begin(await line.say("book a table"))
    await line.ask_back(turn)
    answer = await line.say("Friday")

    assert await cancel(line, answer) == ((), 1)
    assert await line.store.begin(turn.thread, 0.0) is None


async def test_status_of_an_idle_chat_is_empty(line: Line) -> None:
    view = await line.store.view((await line.command("status")).conversation)

    assert view.works == ()
    assert (view.unknown_deliveries, view.unknown_submissions, view.parked_until) == (0, 0, None)


async def test_status_shows_each_thread_with_its_question_agent_and_task(line: Line) -> None:
    first = await line.say("count to 30")
    turn = await line.begin(first)
    await line.say("and then?")
    working = task(turn, TaskState.WORKING)
    await line.observe(Observation(turn=turn, submission=SubmissionState.SUBMITTED, task=working))

    (work,) = (await line.store.view(first.conversation)).works

    assert (work.thread, work.state, work.agent, work.text) == (first.thread, "running", "agent", "count to 30")
    assert (work.queued, work.task_state, work.disposition) == (1, "working", Disposition.TRACKED)
    assert (work.since, work.heard) == (turn.begun, working.heard)


async def test_status_shows_what_is_queued_and_what_waits_for_an_answer(line: Line) -> None:
    turn = await line.begin(await line.say("book a table"))
    await line.ask_back(turn)
    await line.say("tomorrow", sender="someone else")

    works = (await line.store.view(turn.conversation)).works

    assert [(w.text, w.state, w.waits_for_input, w.queued) for w in works] == [
        ("book a table", "waiting", True, 0),
        ("tomorrow", "queued", False, 0),
    ]


async def test_status_counts_what_nobody_knows_and_shows_when_a_throttled_chat_goes_on(line: Line) -> None:
    turn = await line.begin(await line.say())
    await line.answer(turn, piece("artifact:1", "a", "b"))
    await line.settle(await line.claim(turn.conversation), DeliveryState.UNKNOWN)
    await line.observe(unknown(await line.begin(await line.say("two"))))

    view = await line.store.view(turn.conversation)

    assert (view.unknown_deliveries, view.unknown_submissions) == (1, 1)
    assert view.parked_until == line.clock.now()


async def test_a_long_question_is_shown_by_its_beginning(line: Line) -> None:
    admitted = await line.say("x" * 5000)

    assert (await line.store.view(admitted.conversation)).works[0].text == "x" * 200


async def test_a_lost_submission_goes_back_to_work_with_its_same_message_id(line: Line) -> None:
    lost = await line.begin(await line.say("one"))
    await line.observe(unknown(lost))

    ready = await line.store.unknown_submission(lost.conversation, line.clock.now())

    assert ready is not None
    assert (ready.thread, ready.queued) == (lost.thread, 1)
    assert await line.store.ready() == [ready]
    turn = await line.store.begin(lost.thread, line.clock.now())
    assert turn is not None
    assert (turn.message_id, turn.envelopes, turn.id) == (lost.message_id, lost.envelopes, lost.id)
    assert turn.submission is SubmissionState.INTENDED
    assert turn.revision > lost.revision + 1
    await line.answer(turn, piece("artifact:1", "hi"))
    assert (await line.claim(turn.conversation)).payload == {"text": "hi"}


async def test_what_is_queued_behind_a_lost_submission_is_not_counted_in_again(line: Line) -> None:
    first = await line.say("one")
    lost = await line.begin(first)
    await line.say("two")
    await line.observe(unknown(lost))

    ready = await line.store.unknown_submission(lost.conversation, line.clock.now())

    assert ready is not None
    assert ready.queued == 1


async def test_of_several_lost_submissions_the_newest_goes_first_and_each_once(line: Line) -> None:
    for text in ("one", "two"):
        await line.observe(unknown(await line.begin(await line.say(text))))
    where = (await line.command("again")).conversation

    ready = [await line.store.unknown_submission(where, line.clock.now()) for _ in range(3)]

    turns = [await line.store.begin(each.thread, 0.0) for each in ready if each]
    texts = [turn.envelopes[0].parts[0] for turn in turns if turn]
    assert [getattr(text, "text", "") for text in texts] == ["two", "one"]
    assert ready[2] is None


async def test_nobody_continues_with_a_resumed_turn_from_before(line: Line) -> None:
    lost = await line.begin(await line.say("one"))
    ended = await line.observe(unknown(lost))
    await line.store.unknown_submission(lost.conversation, line.clock.now())
    await line.store.begin(lost.thread, line.clock.now())

    assert await line.store.observe(Observation(turn=ended, asked=False), 0.0) is None


async def test_messages_behind_a_resumed_turn_wait_for_it(line: Line) -> None:
    lost = await line.begin(await line.admit(message("one", message_id="55")))
    await line.observe(unknown(lost))
    await line.store.unknown_submission(lost.conversation, line.clock.now())
    behind = await line.say("two", reply_to="55")

    turn = await line.store.begin(lost.thread, line.clock.now(), limit=9)
    assert turn is not None
    assert turn.id == lost.id
    await line.answer(turn)
    assert (await line.begin(behind)).envelopes[0].id == behind.envelope


async def test_a_lost_submission_put_back_can_be_cancelled(line: Line) -> None:
    lost = await line.begin(await line.say("one"))
    await line.observe(unknown(lost))
    await line.store.unknown_submission(lost.conversation, line.clock.now())
    command = await line.command("cancel")

    assert await cancel(line, command) == ((), 1)
    assert [ready.thread for ready in await line.store.ready()] == [command.thread]


@pytest.mark.parametrize("conversation", ["", "no conversation"])
async def test_a_conversation_that_nobody_knows_has_nothing(line: Line, conversation: str) -> None:
    await line.store.renew(conversation, 0.0)

    assert (await line.store.view(conversation)).works == ()
    assert await line.store.again(conversation, 0.0) == 0
    assert await line.store.unknown_submission(conversation, 0.0) is None
    covered = await line.store.want_cancel(conversation, LATER, person=None, everything=True, now=0.0)
    assert (covered.turns, covered.dropped) == ((), 0)
