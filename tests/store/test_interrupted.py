"""Tasks that wait for somebody: found, put back to work, answered by an operator, closed."""

import pytest

from core.agent import TaskState
from core.parts import Text
from core.turn import Observation, Turn, TurnEnd, TurnState
from gateway.store.records import Records
from gateway.store.sqlite import SqliteStore
from tests.store.line import Line, asking, task


def signing_in(turn: Turn) -> Observation:
    known = task(turn, TaskState.AUTH_REQUIRED, task_id="t1")
    return Observation(turn=turn, task=known, end=TurnEnd(TurnState.COMPLETED, waits_for_input=True))


async def test_a_turn_whose_question_is_open_goes_back_to_work_once(line: Line) -> None:
    turn = await line.begin(await line.say())
    turn = await line.observe(asking(turn, task_id="t1"))
    assert await line.store.asking(turn.id) is not None

    roused = await line.store.rouse(turn.id)
    assert roused is not None
    assert (roused.id, roused.waiting, roused.revision) == (turn.id, True, turn.revision + 1)
    assert await line.store.rouse(turn.id) is None
    assert await line.store.asking(turn.id) is None
    assert [found.id for found in await line.store.unfinished()] == [turn.id]
    await line.observe(asking(roused, task_id="t1"))
    assert await line.store.unfinished() == []
    assert (await line.begin(await line.say("Friday"))).task_id == "t1"


async def test_a_question_that_was_answered_or_closed_rouses_nothing(line: Line) -> None:
    turn = await line.begin(await line.say())
    turn = await line.observe(asking(turn, task_id="t1"))
    answer = await line.say("Friday")
    assert await line.store.rouse(turn.id) is None
    await line.begin(answer)
    assert await line.store.rouse(turn.id) is None

    other = await line.begin(await line.say(chat="8"))
    other = await line.observe(asking(other, task_id="t2"))
    await line.store.renew(other.conversation, line.clock.now())
    assert await line.store.rouse(other.id) is None
    assert await line.store.rouse("nobody-1") is None


async def test_what_waits_for_a_sign_in_is_found_after_a_start_and_other_questions_are_not(line: Line) -> None:
    turn = await line.begin(await line.say())
    turn = await line.observe(signing_in(turn))
    other = await line.begin(await line.say(chat="8"))
    await line.observe(asking(other, task_id="t2"))
    assert [found.id for found in await line.store.watched()] == [turn.id]

    await line.begin(await line.say("signed in"))
    assert await line.store.watched() == []


async def only_task(sqlite: SqliteStore) -> str:
    (item,) = (await Records(sqlite).tasks(limit=9, cursor=None, state=None)).items
    return str(item["id"])


async def test_an_operators_reply_continues_exactly_the_task_in_the_persons_place(sqlite: SqliteStore) -> None:
    line = Line(sqlite)
    turn = await line.begin(await line.say())
    turn = await line.observe(asking(turn, task_id="t1"))
    id = await only_task(sqlite)

    ready = await sqlite.reply(id, "Friday")
    assert ready is not None
    assert (ready.thread, ready.queued) == (turn.thread, 1)
    answer = await sqlite.begin(ready.thread, line.clock.now())
    assert answer is not None
    assert (answer.task_id, answer.address, answer.envelopes[0].parts) == ("t1", turn.address, (Text("Friday"),))
    assert answer.envelopes[0].person == turn.envelopes[0].person
    rows = await sqlite.rows("SELECT source, raw FROM raw_inbound WHERE source = 'operator'")
    assert [(row["source"], bytes(row["raw"])) for row in rows] == [("operator", b"Friday")]
    assert await sqlite.reply(id, "Saturday") is None
    await line.observe(asking(answer, task_id="t1"))
    assert (await line.begin(await line.say("no, Sunday"))).task_id == "t1"


async def test_a_task_that_asks_nothing_takes_no_reply(sqlite: SqliteStore) -> None:
    line = Line(sqlite)
    turn = await line.begin(await line.say())
    await line.answer(turn)
    assert await sqlite.reply(await only_task(sqlite), "Friday") is None
    assert await sqlite.close_question(await only_task(sqlite)) is None
    for unknown in ("999", "x"):
        assert await sqlite.reply(unknown, "Friday") is None


async def test_an_operator_closes_a_question(sqlite: SqliteStore) -> None:
    line = Line(sqlite)
    turn = await line.begin(await line.say())
    turn = await line.observe(asking(turn, task_id="t1"))
    closed = await sqlite.close_question(await only_task(sqlite))
    assert closed is not None
    assert (closed.agent, closed.task_id) == (turn.agent, "t1")
    assert (await line.begin(await line.say("Friday"))).task_id is None


@pytest.mark.parametrize("id", ["1x", "", "-1"])
async def test_what_is_no_id_of_a_task_finds_none(sqlite: SqliteStore, id: str) -> None:
    assert await sqlite.reply(id, "Friday") is None


# ---------------------------------------------------------------------------------------------- closed questions


async def test_a_closed_question_is_to_be_told_to_its_agent_until_it_was(line: Line) -> None:
    turn = await line.begin(await line.say())
    await line.observe(asking(turn, task_id="t"))
    assert await line.store.untold() == []

    (closed,) = await line.store.renew(turn.conversation, line.clock.now())

    assert (closed.task_id, list(await line.store.untold())) == ("t", [closed])
    await line.store.told(closed.agent, "another")
    assert list(await line.store.untold()) == [closed]
    await line.store.told(closed.agent, "t")
    assert await line.store.untold() == []
