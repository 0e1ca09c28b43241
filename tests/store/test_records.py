"""What operators and chat pages see of the store."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.agent import TaskState
from core.delivery import DeliveryState
from core.envelope import Unreadable
from core.errors import StoreUnavailable
from core.identity import Address
from core.turn import Disposition, Observation, TurnEnd, TurnState
from gateway.states import MADE_OF_TASKS
from gateway.store.records import Records
from gateway.store.sqlite import SqliteStore
from tests.doubles.clock import ManualClock
from tests.store.line import DESK, Line, asking, message, piece, task, unknown


@pytest.fixture
async def line(tmp_path: Path) -> AsyncIterator[Line]:
    clock = ManualClock()
    async with SqliteStore(tmp_path / "desk.db", clock=clock) as store:
        await store.hold()
        yield Line(store, clock)


@pytest.fixture
def records(line: Line) -> Records:
    assert isinstance(line.store, SqliteStore)
    return Records(line.store)


async def test_an_empty_store_has_nothing_to_show(records: Records) -> None:
    summary = await records.summary(ids=True)

    assert summary["unknown"] == 0
    assert summary["unknown_ids"] == []
    assert (await records.sessions(limit=10, cursor=None, state=None)).items == []
    assert await records.task("1") is None


async def test_the_summary_counts_everything_by_state(line: Line, records: Records) -> None:
    await line.show((await line.answered_question(chat="1")).conversation, "m1")
    await line.begin(await line.say(chat="2"))
    await line.say(chat="3")
    await line.store.admit(DESK, (message(refusal="not_allowed"), Unreadable(("x",), "1", b"{", "torn")))
    failed = await line.begin(await line.say(chat="4"))
    await line.observe(Observation(turn=failed, end=TurnEnd(TurnState.FAILED, "declined")))
    await line.begin(await line.command("help", chat="5"))

    summary = await records.summary(ids=False)

    assert summary["sessions"] == {"all": 5}
    assert summary["envelopes"] == {"taken": 4, "queued": 1, "refused": 1, "unreadable": 1}
    assert summary["threads"] == {"queued": 1, "running": 2}
    assert summary["turns"] == {"completed": 1, "running": 2, "failed": 1}
    assert summary["submissions"] == {"submitted": 2, "intended": 1}
    assert summary["tasks"] == {"completed": 1}
    assert summary["deliveries"] == {"delivered": 1}
    assert summary["unreadable"] == 1


async def test_what_nobody_knows_is_counted_and_named_by_the_channels_ids(line: Line, records: Records) -> None:
    first = await line.begin(await line.admit(message(external_id="4001", chat="1")))
    await line.answer(first, piece("artifact:1", "a", "b"))
    for _ in range(2):
        await line.settle(await line.claim(first.conversation), DeliveryState.UNKNOWN)
    await line.observe(unknown(await line.begin(await line.admit(message(external_id="4002", chat="2")))))
    await line.answered_question(chat="3")

    summary = await records.summary(ids=True)

    assert summary["unknown"] == 3
    assert sorted(int(id) for id in summary["unknown_ids"]) == [4001, 4002]
    assert summary["deliveries"] == {"unknown": 2, "queued": 1, "delivered": 0}
    assert summary["submissions"]["submission_unknown"] == 1


async def test_sessions_are_listed_newest_first_page_by_page(line: Line, records: Records) -> None:
    sessions = [(await line.begin(await line.say(chat=str(n)))).session for n in range(5)]

    first = await records.sessions(limit=3, cursor=None, state=None)
    second = await records.sessions(limit=3, cursor=first.next, state=None)

    assert sorted(item["ref"] for item in [*first.items, *second.items]) == sorted(sessions)
    assert [item["ref"] for item in [*first.items, *second.items]] == sorted(sessions, reverse=True)
    assert second.next is None
    assert first.items[0]["owner"].startswith("desk:")


async def test_sessions_with_work_can_be_told_from_idle_ones(line: Line, records: Records) -> None:
    active = await line.begin(await line.say(chat="1"))
    idle = await line.answered_question(chat="2")

    for state, session in (("active", active.session), ("idle", idle.session)):
        page = await records.sessions(limit=9, cursor=None, state=state)
        assert [item["ref"] for item in page.items] == [session]


async def test_a_session_shows_its_timeline_in_order(line: Line, records: Records) -> None:
    line.clock.time += 1
    turn = await line.begin(await line.say("hello"))
    line.clock.time += 1
    await line.answer(turn, piece("artifact:1", "hi"))
    line.clock.time += 1
    await line.show(turn.conversation, "m1")

    session = await records.session(turn.session)

    assert session is not None
    assert [(m["what"], m["state"]) for m in session["timeline"]] == [
        ("message", "taken"),
        ("turn", "completed"),
        ("delivery artifact:1", "delivered"),
    ]
    assert session["timeline"][0]["time"] == "1970-01-12T13:46:40.000Z"
    assert await records.session("no session") is None


async def test_an_envelopes_facts_lead_to_its_turn(line: Line, records: Records) -> None:
    admitted = await line.admit(message(external_id="4001"))
    queued = await records.envelope(admitted.envelope)
    turn = await line.begin(admitted)
    taken = await records.envelope(admitted.envelope)

    assert queued is not None
    assert taken is not None
    assert (queued["state"], queued["turn"]) == ("queued", "")
    assert (taken["state"], taken["turn"], taken["thread"]) == ("taken", turn.id, turn.thread)
    assert (taken["external_id"], taken["owner"], taken["session"]) == ("4001", turn.owner, turn.session)
    assert await records.envelope("no envelope") is None


async def test_a_task_shows_what_its_agent_said_over_all_its_turns(line: Line, records: Records) -> None:
    turn = await line.begin(await line.say("book a table"))
    await line.observe(asking(turn, task_id="t1"))
    answer = await line.begin(await line.say("Friday"))
    await line.answer(answer)

    page = await records.tasks(limit=9, cursor=None, state="input-required")

    assert [item["task_id"] for item in page.items] == ["t1"]
    shown = await records.task(page.items[0]["id"])
    assert shown is not None
    assert (shown["turn"], shown["disposition"], shown["unconfirmed"]) == (turn.id, "tracked", False)
    other = (await records.tasks(limit=9, cursor=None, state="completed")).items[0]
    said = await records.task(other["id"])
    assert said is not None
    assert [record["kind"] for record in said["inbox"]] == ["task"]


async def test_what_could_not_be_read_is_listed_with_its_error_and_shown_with_its_body(
    line: Line, records: Records
) -> None:
    await line.store.admit(DESK, (message("whole"), Unreadable(("x",), "1", b"{\xff", "torn")))
    await line.store.admit(DESK, (Unreadable(("y",), "2", b"y" * 70_000, "long"),))

    page = await records.unreadable(limit=1, cursor=None)
    rest = await records.unreadable(limit=9, cursor=page.next)

    assert [item["error"] for item in (*page.items, *rest.items)] == ["long", "torn"]
    torn = await records.unreadable_one(rest.items[0]["id"])
    assert torn is not None
    assert (torn["body"], torn["is_cut"], torn["account"]) == ("{\\xff", False, DESK.account)
    long = await records.unreadable_one(page.items[0]["id"])
    assert long is not None
    assert (len(long["body"]), long["bytes"], long["is_cut"]) == (65_536, 70_000, True)
    assert await records.unreadable_one("1") is None


async def test_a_task_is_known_by_its_agents_id_too_where_only_one_is_called_so(line: Line, records: Records) -> None:
    turn = await line.begin(await line.say())
    await line.observe(asking(turn, task_id="agents:own/1"))

    found = await records.task("agents:own/1")

    assert found is not None
    assert (found["id"], found["served_task"]) == ("1", "")
    other = await line.begin(await line.say("on", chat="8"))
    await line.observe(
        Observation(turn=replace(other, agent="elsewhere"), task=replace(task(other), task_id="agents:own/1"))
    )
    assert await records.task("agents:own/1") is None


@pytest.mark.parametrize("made_of", [*MADE_OF_TASKS])
async def test_tasks_are_listed_by_what_the_gateway_makes_of_them(line: Line, records: Records, made_of: str) -> None:
    for number, each in enumerate(Disposition):
        turn = await line.begin(await line.say(chat=str(number)))
        seen = replace(task(turn, TaskState.WORKING), disposition=each, unconfirmed=each is Disposition.TRACKED)
        await line.observe(Observation(turn=turn, task=seen))

    (listed,) = (await records.tasks(limit=9, cursor=None, state=made_of)).items

    assert made_of == listed["disposition"] or (made_of == "unconfirmed" and listed["unconfirmed"])


async def test_a_task_that_ended_is_not_shown_as_waiting_for_its_cancel(line: Line, records: Records) -> None:
    turn = await line.begin(await line.say())
    ended = replace(task(turn, TaskState.CANCELED), disposition=Disposition.CANCEL_ASKED)
    await line.observe(Observation(turn=turn, task=ended))

    (listed,) = (await records.tasks(limit=9, cursor=None, state="canceled")).items

    assert listed["disposition"] == "tracked"
    assert (await records.tasks(limit=9, cursor=None, state="cancel_asked")).items == []


@pytest.mark.parametrize("id", ["", "x", "-1", "01", "1" * 30])
async def test_a_task_that_nobody_knows_is_none(line: Line, records: Records, id: str) -> None:
    turn = await line.begin(await line.say())
    await line.observe(Observation(turn=turn, task=task(turn, TaskState.WORKING)))

    assert await records.task(id) is None
    assert await records.task("1") is not None


async def test_deliveries_are_listed_by_state_and_shown_with_their_attempts(line: Line, records: Records) -> None:
    turn = await line.begin(await line.say())
    await line.answer(turn, piece("artifact:1", "a", "b", "c"))
    delivery = await line.claim(turn.conversation)
    await line.settle(delivery, DeliveryState.QUEUED, reason="throttled: slow down")
    delivery = await line.show(turn.conversation, "m1")
    await line.settle(await line.claim(turn.conversation), DeliveryState.UNKNOWN, reason="no answer")

    for state, parts in (("delivered", [0]), ("unknown", [1]), ("queued", [2]), (None, [2, 1, 0])):
        page = await records.deliveries(limit=9, cursor=None, state=state)
        assert [item["part"] for item in page.items] == parts
    shown = await records.delivery(delivery.id)
    assert shown is not None
    assert [(t["n"], t["outcome"], t["reason"]) for t in shown["tries"]] == [
        (1, "queued", "throttled: slow down"),
        (2, "delivered", ""),
    ]
    assert (shown["account"], shown["chat"], shown["turn"], shown["owner"]) == ("desk", "7", turn.id, turn.owner)


async def test_an_attempt_under_way_is_shown_without_an_end(line: Line, records: Records) -> None:
    delivery = await line.claim((await line.answered_question()).conversation)

    shown = await records.delivery(delivery.id)

    assert shown is not None
    assert [(t["n"], t["ended"], t["outcome"]) for t in shown["tries"]] == [(1, None, "")]
    assert await records.delivery("0" * 32 + "-1-1") is None


async def test_pages_of_deliveries_and_tasks_go_on_where_the_last_one_ended(line: Line, records: Records) -> None:
    for n in range(5):
        await line.answered_question(chat=str(n))

    for read, key in ((records.deliveries, "id"), (records.tasks, "id")):
        seen, cursor = [], None
        for _ in range(3):
            page = await read(limit=2, cursor=cursor, state=None)
            seen += [item[key] for item in page.items]
            cursor = page.next
        assert len(set(seen)) == 5
        assert cursor is None


@pytest.mark.parametrize("cursor", ["x y", "1;", "é", "", "nope", "-1", "1_0", "٣"])
async def test_a_cursor_that_no_list_gave_is_an_error(records: Records, cursor: str) -> None:
    for read in (records.sessions, records.tasks, records.deliveries):
        with pytest.raises(ValueError):
            await read(limit=1, cursor=cursor, state=None)


async def test_a_chats_history_has_both_sides_in_order(line: Line) -> None:
    address = Address(DESK, "7")
    assert await line.store.history(address) == ()  # type: ignore[attr-defined]
    line.clock.time += 1
    turn = await line.begin(await line.say("hello"))
    turn = await line.observe(Observation(turn=turn, pieces=(piece("artifact:1", "h", "i"),)))
    shown = []
    for id in "12":
        line.clock.time += 1
        shown.append(await line.show(turn.conversation, id))
    await line.answer(turn, piece("artifact:1", "hey"))
    line.clock.time += 1
    shown.append(await line.show(turn.conversation, "1"))

    history = await line.store.history(address)  # type: ignore[attr-defined]

    assert [(e.is_theirs, e.text or e.payload) for e in history] == [
        (True, "hello"),
        (False, {"text": "h"}),
        (False, {"text": "i"}),
        (False, {"text": "hey"}),
    ]
    assert [e.id for e in history[1:]] == [delivery.id for delivery in shown]
    assert history[3].replaces == (shown[0].id, shown[1].id)
    assert await line.store.history(address, limit=1) == history[-1:]  # type: ignore[attr-defined]


async def test_a_store_that_stands_by_shows_nothing(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "other.db") as store:
        with pytest.raises(StoreUnavailable):
            await Records(store).summary(ids=False)
