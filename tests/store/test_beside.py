"""Conformance: what goes on beside a turn's own road: late words, cancels, previews, and what is queued behind it."""

from core.agent import Road, TaskState
from core.delivery import DeliveryState
from core.turn import Disposition, InboxRecord, Observation
from tests.store.line import Line, answered, message, piece, task


async def test_an_ended_turn_says_whether_more_of_its_thread_is_queued(line: Line) -> None:
    turn = await line.begin(await line.say("one"))
    await line.say("two")

    first = await line.answer(turn, piece("artifact:1", "hi"))
    second = await line.store.begin(turn.thread, 0.0)

    assert second is not None
    assert (first.more, (await line.answer(second)).more) == (True, False)


async def test_a_turn_that_asked_says_where_what_was_queued_behind_it_went(line: Line) -> None:
    turn = await line.begin(await line.say("one"))
    await line.say("two")

    asked = await line.ask_back(turn)

    assert asked.moved not in ("", turn.thread)
    moved = await line.store.begin(asked.moved, 0.0)
    assert moved is not None
    assert (await line.ask_back(moved)).moved == ""


async def test_what_is_queued_behind_a_turn_at_work_is_ready_after_a_start_too(line: Line) -> None:
    turn = await line.begin(await line.say("one"))
    await line.say("two")

    [ready] = await line.store.ready()

    assert (ready.thread, ready.queued, ready.account) == (turn.thread, 1, "desk")


async def test_what_an_agent_says_after_the_end_is_recorded_and_shown_to_nobody(line: Line) -> None:
    turn = await line.answered_question()
    await line.show(turn.conversation, "m1")

    late = InboxRecord(Road.STREAM, "status", {})
    await line.store.note(Observation(turn, task=task(turn, TaskState.FAILED), records=(late,)), 0.0)

    assert await line.lane_is_empty(turn.conversation)
    assert await line.store.unfinished() == []


async def test_an_operator_s_cancel_is_kept_while_the_turn_is_at_work(line: Line) -> None:
    turn = await line.begin(await line.say())

    assert await line.store.mark_cancel(turn.id)
    [left] = await line.store.unfinished()
    assert left.cancel_wanted

    await line.answer(left)
    assert not await line.store.mark_cancel(turn.id)
    assert not await line.store.mark_cancel("nobody's")


async def test_the_first_delivery_takes_the_place_of_the_preview_and_the_next_does_not(line: Line) -> None:
    turn = await line.begin(await line.say())
    await line.store.previewed(turn.id, "preview-1")
    [left] = await line.store.unfinished()
    await line.observe(answered(left, piece("artifact:1", "a", "b")))

    first = await line.claim(turn.conversation)
    await line.settle(first, DeliveryState.DELIVERED, ids=("preview-1",))
    second = await line.claim(turn.conversation)

    assert (left.preview, first.preview, second.preview) == ("preview-1", "preview-1", "")


async def test_a_preview_waits_for_its_answer_however_often_that_is_refused(line: Line) -> None:
    turn = await line.begin(await line.say())
    await line.store.previewed(turn.id, "preview-1")
    await line.answer(turn, piece("artifact:1", "a"))

    await line.settle(await line.claim(turn.conversation), DeliveryState.QUEUED)

    assert (await line.claim(turn.conversation)).preview == "preview-1"


async def test_a_turn_that_continues_a_task_knows_how_that_stood(line: Line) -> None:
    asked = await line.ask_back(await line.begin(await line.say("book")))
    turn = await line.begin(await line.admit(message("Tuesday", chat="7")))

    assert asked.task is not None
    assert turn.task is not None
    assert (turn.task_id, turn.task.state) == (asked.task.task_id, TaskState.INPUT_REQUIRED)
    assert turn.task.disposition is Disposition.TRACKED
