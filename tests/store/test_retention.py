"""What is past its time goes; what may still lead somewhere stays."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.agent import TaskState
from core.delivery import DeliveryState
from core.envelope import ContextScope
from core.store import AlreadySeen
from core.turn import Disposition, Observation, TurnEnd, TurnState
from gateway.store.sqlite import SqliteStore
from gateway.store.sqlite.retention import FIRST_SHARE, ROUND, STEP, KeyRound
from tests.doubles.clock import ManualClock
from tests.store.line import DESK, HOUR, Line, message, piece, task

MONTH = 31 * 24 * HOUR
TABLES = (
    "raw_inbound",
    "dedupe",
    "envelope",
    "thread",
    "turn",
    "remote_task",
    "inbox",
    "delivery",
    "attempt",
    "receipt",
)


@pytest.fixture
async def line(tmp_path: Path) -> AsyncIterator[Line]:
    clock = ManualClock()
    async with SqliteStore(tmp_path / "desk.db", clock=clock) as store:
        await store.hold()
        yield Line(store, clock)


def engine(line: Line) -> SqliteStore:
    assert isinstance(line.store, SqliteStore)
    return line.store


async def counts(line: Line) -> dict[str, int]:
    store = engine(line)
    return {name: (await store.rows(f"SELECT count(*) AS n FROM {name}"))[0]["n"] for name in TABLES}


async def age(line: Line, seconds: float = MONTH) -> int:
    """Let time pass, with one new message as the newest of everything, and sweep."""
    line.clock.time += seconds
    await line.admit(message(chat="newest", command="help"))
    return await engine(line).prune(line.clock.now())


async def test_a_finished_line_is_removed_with_everything_of_it_but_its_address(line: Line) -> None:
    turn = await line.answered_question()
    await line.show(turn.conversation, "m1")

    assert await age(line) > 0

    found = await counts(line)
    assert found == dict.fromkeys(TABLES, 0) | {"raw_inbound": 1, "dedupe": 2, "envelope": 1, "thread": 1}
    assert (await line.say()).conversation == turn.conversation


async def test_nothing_younger_than_retention_goes(line: Line) -> None:
    turn = await line.answered_question()
    await line.show(turn.conversation, "m1")
    before = await counts(line)

    line.clock.time += 47 * HOUR
    assert await engine(line).prune(line.clock.now()) == 0

    assert await counts(line) == before


async def test_keys_go_after_the_horizon_and_not_before(line: Line) -> None:
    first = await line.admit(message(keys=("u:1",)))
    line.clock.time += 71 * HOUR
    await engine(line).prune(line.clock.now())
    assert await line.store.admit(DESK, (message(keys=("u:1",)),)) == (AlreadySeen(first.envelope),)

    line.clock.time += 73 * HOUR
    await engine(line).prune(line.clock.now())
    assert (await counts(line))["dedupe"] == 0


@pytest.mark.parametrize("state", [TaskState.WORKING, TaskState.INPUT_REQUIRED])
async def test_a_turn_whose_task_is_open_stays_however_old(line: Line, state: TaskState) -> None:
    turn = await line.begin(await line.say())
    waits = state is TaskState.INPUT_REQUIRED
    end = TurnEnd(TurnState.COMPLETED if waits else TurnState.WAITING, waits_for_input=waits)
    await line.observe(Observation(turn=turn, task=task(turn, state), end=end))

    await age(line, 12 * MONTH)

    assert {name: n for name, n in (await counts(line)).items() if name in ("turn", "remote_task")} == {
        "turn": 1,
        "remote_task": 1,
    }
    assert (await line.say("Friday")).conversation == turn.conversation


async def test_a_task_that_was_lost_at_its_agent_keeps_nothing(line: Line) -> None:
    turn = await line.begin(await line.say())
    lost = task(turn, TaskState.WORKING)
    lost = type(lost)(lost.task_id, lost.context_id, lost.state, disposition=Disposition.LOST_AT_REMOTE)
    await line.observe(Observation(turn=turn, task=lost, end=TurnEnd(TurnState.INTERRUPTED, "lost")))

    await age(line)

    assert (await counts(line))["turn"] == 0


@pytest.mark.parametrize("state", [DeliveryState.UNKNOWN, DeliveryState.WAITING_FOR_USER])
async def test_a_delivery_whose_fate_is_open_stays_however_old(line: Line, state: DeliveryState) -> None:
    turn = await line.answered_question()
    await line.settle(await line.claim(turn.conversation), state)

    await age(line, 12 * MONTH)

    assert (await counts(line))["delivery"] == 1
    assert await line.store.view(turn.conversation) is not None


async def test_a_queued_message_stays_however_old(line: Line) -> None:
    admitted = await line.say()

    await age(line, 12 * MONTH)

    assert (await line.begin(admitted)).envelopes[0].id == admitted.envelope


async def test_what_no_turn_took_goes_too(line: Line) -> None:
    dropped = await line.say("never mind")
    await line.store.want_cancel(dropped.conversation, 1 << 40, person=None, everything=True, now=0.0)
    await line.admit(message(scope=ContextScope.NOTIFY))
    await line.store.admit(DESK, (message(refusal="not_allowed"),))

    await age(line)

    found = await counts(line)
    assert (found["envelope"], found["raw_inbound"]) == (1, 1)


async def test_a_thread_goes_with_its_last_turn_only(line: Line) -> None:
    old = await line.begin(await line.admit(message("one", message_id="55")))
    await line.answer(old, piece("artifact:1", "hi"))
    await line.show(old.conversation, "m1")
    line.clock.time += 29 * 24 * HOUR
    young = await line.begin(await line.say("two", reply_to="55"))
    await line.answer(young)

    await age(line, 2 * 24 * HOUR)

    found = await counts(line)
    assert (found["turn"], found["thread"]) == (1, 2)
    assert (await line.say("three", reply_to=young.envelopes[0].message_id)).thread == young.thread


async def test_seqs_go_on_growing_after_everything_went(line: Line) -> None:
    first = await line.begin(await line.say())
    await line.answer(first)
    await age(line)
    await engine(line).close()
    async with SqliteStore(engine(line).path, clock=line.clock) as store:
        await store.hold()
        again = Line(store, line.clock)
        assert (await again.begin(await again.say())).envelopes[0].seq > first.envelopes[0].seq


async def test_a_sweep_takes_more_rows_than_one_step(line: Line) -> None:
    for n in range(450):
        await line.store.admit(DESK, (message(keys=(f"u:{n}",), refusal="not_allowed"),))

    assert await age(line) >= 900


async def test_after_the_first_round_a_sweep_looks_at_no_more_keys_than_its_time_allows(line: Line) -> None:
    await fill_with_keys(line, 40 * STEP)
    sweeps, store = engine(line)._key_round, engine(line)
    await store.prune(line.clock.now())
    assert (sweeps.length, sweeps.after) == (41, ("", ""))  # the last step found nothing more

    line.clock.time += ROUND / 20
    await store.prune(line.clock.now())

    assert (sweeps.steps, sweeps.after[1]) == (3, f"key {3 * STEP - 1:09}")


async def test_every_round_comes_to_every_key(line: Line) -> None:
    await fill_with_keys(line, 40 * STEP)
    store = engine(line)
    await store.prune(line.clock.now())
    line.clock.time += 73 * HOUR
    removed = 0
    for _ in range(22):
        line.clock.time += ROUND / 20
        removed += await store.prune(line.clock.now())

    assert (removed, (await counts(line))["dedupe"]) == (40 * STEP, 0)


async def test_before_anybody_knows_how_many_keys_there_are_the_sweeps_grow(line: Line) -> None:
    keys = KeyRound()
    shares = []
    for _ in range(4):
        keys.begin_sweep(0.0)
        shares.append(keys.share)
        while keys.advance(("desk", "k")):
            pass

    assert shares == [FIRST_SHARE, FIRST_SHARE, 2 * FIRST_SHARE, 4 * FIRST_SHARE]


async def fill_with_keys(line: Line, count: int) -> None:
    """As many keys as messages would leave, without the messages."""
    expires = line.clock.now() + 72 * HOUR
    rows = [("desk", f"key {n:09}", "", expires) for n in range(count)]
    await engine(line)._run(lambda tx: [tx.execute("INSERT INTO dedupe VALUES (?, ?, ?, ?)", row) for row in rows])
