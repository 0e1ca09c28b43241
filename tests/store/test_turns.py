"""Conformance: a turn is begun once, and changes only by observations decided on its present revision."""

import asyncio
from dataclasses import replace

import pytest

from core.agent import TaskState
from core.envelope import Moved
from core.errors import ForeignTask
from core.turn import Observation, SubmissionState, Turn, TurnEnd, TurnState
from tests.store.line import DESK, Line, answered, asking, message, piece, task


async def test_a_turn_carries_what_it_answers_whom_it_asks_and_where_its_answer_goes(line: Line) -> None:
    admitted = await line.admit(message("hello", chat="-7", topic="3", is_direct=False, language="zh", agent="one"))

    turn = await line.begin(admitted)

    assert (turn.thread, turn.conversation, turn.owner) == (admitted.thread, admitted.conversation, admitted.owner)
    assert (turn.address.source.account, turn.address.chat, turn.address.topic) == ("desk", "-7", "3")
    assert (turn.agent, turn.is_direct, turn.language) == ("one", False, "zh")
    assert (turn.submission, turn.asked, turn.revision) == (SubmissionState.INTENDED, True, 0)
    assert turn.message_id == f"fd-{turn.id}"
    assert turn.context_id is None


async def test_of_two_that_begin_at_once_one_gets_the_turn(line: Line) -> None:
    admitted = await line.say()

    turns = await asyncio.gather(*(line.store.begin(admitted.thread, 0.0) for _ in range(5)))

    assert sum(turn is not None for turn in turns) == 1


async def test_a_thread_that_nobody_knows_has_nothing_to_begin(line: Line) -> None:
    assert await line.store.begin("0" * 32 + "-1", 0.0) is None
    assert await line.store.begin("no id at all", 0.0) is None


async def test_a_message_admitted_while_the_store_answers_nothing_is_found_by_the_next_look(line: Line) -> None:
    turn = await line.begin(await line.say("one"))
    nothing, admitted = await asyncio.gather(line.store.begin(turn.thread, 0.0), line.say("two"))
    await line.answer(turn)

    assert nothing is None
    assert [e.id for e in (await line.begin(admitted)).envelopes] == [admitted.envelope]


async def test_a_message_admitted_while_the_turn_ends_is_not_lost(line: Line) -> None:
    turn = await line.begin(await line.say("one"))
    _, admitted = await asyncio.gather(line.answer(turn), line.say("two"))

    assert [e.id for e in (await line.begin(admitted)).envelopes] == [admitted.envelope]


async def test_an_observation_decided_on_an_old_revision_changes_nothing(line: Line) -> None:
    turn = await line.begin(await line.say())
    await line.observe(Observation(turn=turn, task=task(turn, TaskState.WORKING)))

    assert await line.store.observe(answered(turn, piece("artifact:1", "hi")), 0.0) is None
    assert await line.lane_is_empty(turn.conversation)


async def test_of_two_observations_decided_on_one_revision_one_holds(line: Line) -> None:
    turn = await line.begin(await line.say())
    words = [answered(turn, piece("artifact:1", text)) for text in ("one", "two")]

    results = await asyncio.gather(*(line.store.observe(each, line.clock.now()) for each in words))

    assert [result is None for result in results] == [False, True]
    assert (await line.claim(turn.conversation)).payload == {"text": "one"}
    assert len([turn for turn in results if turn]) == 1


async def test_of_two_bare_ends_decided_on_one_revision_one_holds(line: Line) -> None:
    """Together, and with no record whose key would be taken: the revision alone must tell."""
    turn = await line.begin(await line.say())
    end = Observation(turn=turn, submission=SubmissionState.SUBMITTED, end=TurnEnd(TurnState.COMPLETED))

    results = await asyncio.gather(*(line.store.observe(end, line.clock.now()) for _ in range(2)))

    assert [result is None for result in results] == [False, True]


async def test_an_ended_turn_takes_no_further_observation(line: Line) -> None:
    turn = await line.answer(await line.begin(await line.say()))

    assert await line.store.observe(answered(turn), 0.0) is None


async def test_an_observation_returns_the_turn_as_it_is_now(line: Line) -> None:
    turn = await line.begin(await line.say())
    working = task(turn, TaskState.WORKING)

    now = await line.observe(Observation(turn=turn, submission=SubmissionState.SUBMITTED, task=working, context_id="c"))

    expected = replace(turn, submission=SubmissionState.SUBMITTED, task=working, context_id="c", revision=1)
    assert now == expected


async def test_a_turn_that_was_certainly_not_asked_says_so(line: Line) -> None:
    turn = await line.begin(await line.say())

    turn = await line.observe(Observation(turn=turn, asked=False))
    assert not turn.asked
    (found,) = await line.store.unfinished()
    assert found == turn

    assert (await line.observe(Observation(turn=turn, asked=True))).asked


@pytest.mark.case("DEL-20")
async def test_the_remote_context_goes_on_in_its_session_and_in_no_other(line: Line) -> None:
    first = await line.answered_question(chat="1")
    same = await line.begin(await line.say(chat="1"))
    other = await line.begin(await line.say(chat="2"))

    assert same.context_id == first.context_id is not None
    assert other.context_id is None


async def test_a_new_conversation_leaves_the_remote_context_and_the_thread_behind(line: Line) -> None:
    await line.answered_question()
    running = await line.begin(await line.say("long"))
    await line.store.renew(running.conversation, line.clock.now())

    fresh = await line.say("something new")

    assert fresh.thread != running.thread
    assert (await line.begin(fresh)).context_id is None
    assert await line.store.unfinished()


async def test_work_from_before_a_new_conversation_does_not_bring_its_context_back(line: Line) -> None:
    running = await line.begin(await line.say("long"))
    await line.store.renew(running.conversation, line.clock.now())
    await line.answer(running)

    assert (await line.begin(await line.say("new"))).context_id is None


async def test_the_next_message_of_a_question_continues_exactly_its_task(line: Line) -> None:
    turn = await line.begin(await line.say("book a table"))
    asked = await line.ask_back(turn)

    answer = await line.begin(await line.say("Friday"))

    assert asked.task is not None
    assert answer.task_id == asked.task.task_id
    assert answer.task == asked.task
    assert answer.context_id == asked.context_id


async def test_a_finished_task_is_not_continued(line: Line) -> None:
    turn = await line.begin(await line.say("book a table"))
    await line.ask_back(turn)
    await line.answer(await line.begin(await line.say("Friday")))

    assert (await line.begin(await line.say("thanks"))).task_id is None


async def test_a_parked_turn_goes_on_and_its_thread_takes_the_next_message_afterwards(line: Line) -> None:
    turn = await line.begin(await line.admit(message("long", message_id="55")))
    end = TurnEnd(TurnState.WAITING)
    turn = await line.observe(Observation(turn=turn, task=task(turn, TaskState.WORKING), end=end))
    behind = await line.say("and?", reply_to="55")

    assert turn.waiting
    assert behind.thread == turn.thread
    assert await line.store.begin(turn.thread, 0.0) is None

    await line.answer(turn, piece("artifact:1", "done"))
    assert (await line.begin(behind)).envelopes[0].id == behind.envelope


async def test_a_desks_turn_has_no_submission_and_ends_like_any_other(line: Line) -> None:
    turn = await line.begin(await line.command("help"))

    assert turn.is_desk
    await line.answer(turn, piece("notice:help", "commands"))
    assert await line.store.unfinished() == []


async def test_after_a_start_every_turn_at_work_is_found_as_it_was_left(line: Line) -> None:
    running = await line.begin(await line.say(chat="1"))
    waiting = await line.begin(await line.say(chat="2"))
    end = TurnEnd(TurnState.WAITING)
    waiting = await line.observe(Observation(turn=waiting, task=task(waiting, TaskState.WORKING), end=end))
    await line.answered_question(chat="3")

    found = {turn.id: turn for turn in await line.store.unfinished()}

    assert found == {running.id: running, waiting.id: waiting}


async def test_after_a_start_every_thread_with_something_to_begin_is_found_oldest_first(line: Line) -> None:
    first, second = await line.say(chat="1"), await line.say(chat="2")
    await line.say(chat="1")
    await line.begin(await line.say(chat="3"))

    ready = await line.store.ready()

    assert [(each.thread, each.queued) for each in ready] == [(first.thread, 2), (second.thread, 1)]
    assert ready[0].owner == first.owner


async def test_a_turn_that_failed_leaves_its_thread_free(line: Line) -> None:
    turn = await line.begin(await line.say())
    await line.observe(Observation(turn=turn, end=TurnEnd(TurnState.FAILED, "the agent is gone")))

    assert await line.store.unfinished() == []
    assert (await line.say("next")).thread != turn.thread


async def test_a_task_of_one_agent_is_one_record_over_all_turns(line: Line) -> None:
    turn = await line.begin(await line.say())
    turn = await line.observe(asking(turn, task_id="t1"))
    answer = await line.begin(await line.say("Friday"))
    done = task(answer, TaskState.COMPLETED, task_id="t1")
    await line.observe(Observation(turn=answer, task=done, end=TurnEnd(TurnState.COMPLETED)))

    assert (await line.store.view(turn.conversation)).works == ()


async def test_a_turn_of_another_store_is_not_known(line: Line) -> None:
    turn = await line.begin(await line.say())
    stray = replace(turn, id="0" * 32 + turn.id[32:])

    assert await line.store.observe(answered(stray), 0.0) is None


# ---------------------------------------------------------------------------------------------- another's task


def claimed(turn: Turn, state: TaskState = TaskState.WORKING) -> Observation:
    """The agent answers with a task that is called "t"."""
    return Observation(turn=turn, submission=SubmissionState.SUBMITTED, task=task(turn, state, task_id="t"))


@pytest.mark.case("F17")
@pytest.mark.parametrize("is_over", [True, False])
async def test_a_task_stays_with_its_conversation_whether_it_asks_or_has_ended(line: Line, is_over: bool) -> None:
    first = await line.begin(await line.say(chat="7"))
    ended = answered(first, piece("artifact:1", "for ann"))
    await line.observe(replace(ended, task=task(first, task_id="t")) if is_over else asking(first, task_id="t"))
    other = await line.begin(await line.say("and me?", chat="8"))

    whole = replace(answered(other, piece("artifact:1", "for ann")), task=task(other, task_id="t"))
    for observation in (claimed(other), whole):
        with pytest.raises(ForeignTask):
            await line.observe(observation)

    assert await line.lane_is_empty(other.conversation)
    assert await line.answer(other, piece("artifact:1", "my own"))
    if not is_over:
        answer = await line.begin(await line.say("Tuesday", chat="7"))
        assert answer.task_id == "t"
        assert await line.observe(claimed(answer, TaskState.COMPLETED))


@pytest.mark.case("F17")
async def test_of_two_conversations_that_claim_a_task_at_once_one_has_it(line: Line) -> None:
    turns = [await line.begin(await line.say(chat=chat)) for chat in ("7", "8", "9")]
    bystander = await line.begin(await line.say(chat="10"))

    outcomes = await asyncio.gather(
        *(line.observe(claimed(turn)) for turn in turns), line.answer(bystander), return_exceptions=True
    )

    assert [type(outcome) for outcome in outcomes] == [Turn, ForeignTask, ForeignTask, Turn]


async def test_an_agent_may_go_on_with_one_task_through_a_conversation(line: Line) -> None:
    for text in ("one", "two"):
        turn = await line.begin(await line.say(text))
        await line.observe(claimed(turn))
        await line.observe(replace(answered(replace(turn, revision=1)), task=task(turn, task_id="t")))


@pytest.mark.case("F17")
async def test_a_task_goes_with_its_chat_when_that_moves(line: Line) -> None:
    first = await line.begin(await line.say(chat="7"))
    await line.observe(claimed(first))
    await line.say("written there before the move was known", chat="8")
    await line.store.admit(DESK, (Moved(("u:9",), "9", b"{}", "7", "8"),))
    later = await line.begin(await line.say(chat="8"))

    assert await line.observe(claimed(later))
