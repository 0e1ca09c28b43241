"""The SQLite writer: many operations, one commit; one bad one fails alone; too many are refused at once."""

import asyncio
import errno
import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from core.envelope import Candidate
from core.errors import StoreUnavailable
from core.store import Admitted
from gateway.store.sqlite import SqliteStore
from gateway.store.sqlite.log import CHECKPOINT_AFTER
from gateway.store.sqlite.transaction import Operation
from gateway.store.sqlite.writer import BATCH, Writer
from tests.doubles.clock import ManualClock
from tests.store.line import DESK, Line, message, piece
from tests.waiting import until


async def test_what_arrives_in_one_turn_of_the_loop_is_one_commit(sqlite: SqliteStore, tmp_path: Path) -> None:
    reader = sqlite3.connect(tmp_path / "desk.db")
    before = reader.execute("PRAGMA data_version").fetchone()[0]

    await asyncio.gather(*(sqlite.admit(DESK, (message(),)) for _ in range(100)))

    # The version another connection sees grows with each commit, but only when it looks.
    assert reader.execute("PRAGMA data_version").fetchone()[0] == before + 1
    assert reader.execute("SELECT count(*) FROM envelope").fetchone()[0] == 100
    reader.close()


async def test_nothing_is_lost_over_many_batches(sqlite: SqliteStore) -> None:
    admissions = await asyncio.gather(*(sqlite.admit(DESK, (message(chat=str(n % 50)),)) for n in range(3 * BATCH)))

    assert len({a.envelope for (a,) in admissions if isinstance(a, Admitted)}) == 3 * BATCH


async def test_one_bad_row_fails_alone(sqlite: SqliteStore) -> None:
    bad: Candidate = message("\ud800")
    batch = [message(), bad, message()]

    results = await asyncio.gather(*(sqlite.admit(DESK, (each,)) for each in batch), return_exceptions=True)

    assert [isinstance(result, BaseException) for result in results] == [False, True, False]
    assert len(await sqlite.ready()) == 1
    assert sqlite.healthy is None


async def test_what_a_failed_operation_did_before_is_not_remembered(sqlite_line: Line) -> None:
    bad = message("\ud800", chat="1", keys=("u:1",))
    with pytest.raises(TypeError, match="surrogates"):
        await sqlite_line.store.admit(DESK, (message(chat="1", keys=("u:2",)), bad))

    assert isinstance(await sqlite_line.admit(message(chat="1", keys=("u:1",))), Admitted)
    assert isinstance(await sqlite_line.admit(message(chat="1", keys=("u:2",))), Admitted)


async def test_past_the_bound_of_waiting_operations_the_next_is_refused_at_once(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "desk.db", clock=ManualClock(), max_waiting=10) as store:
        await store.hold()
        arrivals = [store.admit(DESK, (message(),)) for _ in range(10)]
        for _ in range(5):
            with pytest.raises(StoreUnavailable):
                store.admit(DESK, (message(),))

        assert {type(admission) for (admission,) in await asyncio.gather(*arrivals)} == {Admitted}
        assert isinstance((await store.admit(DESK, (message(),)))[0], Admitted)


async def test_an_operation_given_up_before_its_batch_began_is_not_done(sqlite_line: Line) -> None:
    turn = await sqlite_line.answered_question()
    claim = asyncio.ensure_future(sqlite_line.store.claim(turn.conversation, sqlite_line.clock.now()))
    asyncio.get_running_loop().call_soon(claim.cancel)
    with pytest.raises(asyncio.CancelledError):
        await claim

    assert await sqlite_line.store.begun() == []


async def test_closing_finishes_what_waits(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "desk.db") as store:
        await store.hold()
        arrivals = [asyncio.ensure_future(store.admit(DESK, (message(),))) for _ in range(3 * BATCH)]
        await asyncio.sleep(0)
        await store.close()
        results = await asyncio.gather(*arrivals)

    assert len(results) == 3 * BATCH


async def test_a_store_that_is_closed_says_so(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "desk.db") as store:
        await store.hold()
        await store.close()

        with pytest.raises(StoreUnavailable):
            await store.admit(DESK, (message(),))


async def test_a_writer_can_be_closed_twice(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "desk.db", busy_timeout=1, max_waiting=10)
    await writer.start()
    await writer.close()
    await writer.close()

    with pytest.raises(StoreUnavailable):
        writer.run(lambda tx: tx.execute("SELECT 1"))


@pytest.mark.case("F03")
async def test_nothing_is_answered_before_it_is_on_the_disk(tmp_path: Path) -> None:
    began, may_end = threading.Event(), threading.Event()

    def slow_disk(file: int) -> None:
        began.set()
        may_end.wait()
        os.fsync(file)

    writer = Writer(tmp_path / "desk.db", busy_timeout=1, max_waiting=10, sync=slow_disk)
    await writer.start()
    written = writer.run(put("one"))
    await asyncio.to_thread(began.wait)
    behind = writer.run(put("two"))

    assert names(tmp_path) == ["one"]  # written, and the next waits for it
    assert (written.done(), behind.done(), writer.waiting) == (False, False, 2)
    may_end.set()
    await asyncio.gather(written, behind)
    assert names(tmp_path) == ["one", "two"]
    await writer.close()


@pytest.mark.case("F03")
async def test_what_is_synced_is_the_log_that_was_written(tmp_path: Path) -> None:
    synced: list[str] = []
    writer = Writer(
        tmp_path / "desk.db",
        busy_timeout=1,
        max_waiting=10,
        sync=lambda file: synced.append(Path(f"/proc/self/fd/{file}").resolve().name),
    )
    await writer.start()
    await writer.run(put("one"))

    assert synced == ["desk.db-wal"]
    await writer.close()


@pytest.mark.case("F03")
async def test_a_log_that_a_new_connection_began_is_the_one_that_is_synced(tmp_path: Path) -> None:
    synced: list[str] = []
    writer = Writer(
        tmp_path / "desk.db",
        busy_timeout=1,
        max_waiting=10,
        sync=lambda file: synced.append(os.readlink(f"/proc/self/fd/{file}")),
    )
    await writer.start()
    await writer.run(put("one"))
    with pytest.raises(StoreUnavailable):
        await writer.run(breaking)
    await writer.run(put("two"))

    assert synced == [str(tmp_path / "desk.db-wal")] * 2  # of a removed file the kernel says "(deleted)"
    await writer.close()


@pytest.mark.case("F03")
async def test_after_a_failed_sync_nothing_is_promised_any_more(tmp_path: Path) -> None:
    disk: list[OSError] = []

    def failing_disk(_file: int) -> None:
        if disk:
            raise disk[0]

    writer = Writer(tmp_path / "desk.db", busy_timeout=1, max_waiting=10, sync=failing_disk)
    await writer.start()
    await writer.run(put("one"))
    disk.append(OSError(errno.EIO, "Input/output error"))
    with pytest.raises(StoreUnavailable, match=r"Input/output error.*restart"):
        await writer.run(put("two"))
    disk.clear()

    with pytest.raises(StoreUnavailable, match="restart"):
        await writer.run(put("three"))
    assert writer.healthy is not None
    await writer.close()


async def test_a_lock_that_another_process_holds_shortly_is_waited_for_without_holding_up_the_loop(
    tmp_path: Path,
) -> None:
    writer = Writer(tmp_path / "desk.db", busy_timeout=60, max_waiting=10)
    await writer.start()
    other = sqlite3.connect(tmp_path / "desk.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    written = writer.run(put("one"))
    turns = await asyncio.wait_for(asyncio.gather(*(asyncio.sleep(0, n) for n in range(3))), 30)

    assert (turns, written.done(), writer.healthy) == ([0, 1, 2], False, None)
    other.execute("ROLLBACK")
    await written
    assert names(tmp_path) == ["one"]
    other.close()
    await writer.close()


async def test_the_log_is_brought_into_the_database_now_and_then_and_does_not_grow(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "desk.db", busy_timeout=1, max_waiting=3 * CHECKPOINT_AFTER, sync=lambda _file: None)
    await writer.start()
    sizes = []
    for turn in range(5):
        await asyncio.gather(*(writer.run(put(f"{turn}-{n}")) for n in range(CHECKPOINT_AFTER)))
        await until(lambda: "store checkpoint" not in {thread.name for thread in threading.enumerate()})
        await writer.run(put(f"{turn}"))
        sizes.append((tmp_path / "desk.db-wal").stat().st_size)

    assert sizes[-1] < 2 * sizes[0]
    await writer.close()


def put(name: str) -> Operation[object]:
    return lambda tx: tx.execute("INSERT INTO lease VALUES (?, '', 0, 0)", (name,)) and None


def breaking(_tx: object) -> None:
    """The connection may be wrong after such an error, so another one takes its place."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    raise error


def names(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "desk.db")) as db:
        return [name for (name,) in db.execute("SELECT name FROM lease ORDER BY name")]


async def test_a_turn_begins_without_waiting_for_the_disk_and_is_durable_after_a_sync(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "desk.db") as store:
        await store.hold()
        line = Line(store)
        admitted = await line.say("hello")
        beginning = store.begin(admitted.thread, line.clock.now())

        with pytest.raises(StopIteration) as done:
            beginning.send(None)
        assert done.value.value is not None
        assert begun(tmp_path) == []
        await store.sync()
        assert begun(tmp_path) == [done.value.value.id]


async def test_a_turn_that_was_begun_is_stored_soon_though_nothing_else_is(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "desk.db") as store:
        await store.hold()
        line = Line(store)
        turn = await line.begin(await line.say("hello"))

        await until(lambda: begun(tmp_path) == [turn.id])


async def test_a_turn_lost_with_its_process_begins_again_as_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "after the crash"
    folder.mkdir()
    async with SqliteStore(tmp_path / "desk.db") as store:
        await store.hold()
        line = Line(store)
        admitted = await line.say("hello")
        lost = await line.begin(admitted)
        for name in ("desk.db", "desk.db-wal"):
            (folder / name).write_bytes((tmp_path / name).read_bytes())
    async with SqliteStore(folder / "desk.db") as store:
        await store.hold()

        assert [ready.thread for ready in await store.ready()] == [admitted.thread]
        again = await Line(store).begin(admitted)
        assert (again.id, again.message_id) == (lost.id, lost.message_id)


async def test_what_a_lost_batch_was_to_take_along_goes_with_the_next(sqlite_line: Line) -> None:
    turn = await sqlite_line.begin(await sqlite_line.say("hello"))
    with pytest.raises(TypeError, match="surrogates"):
        await sqlite_line.say("\ud800")

    assert [one.id for one in await sqlite_line.store.unfinished()] == [turn.id]
    assert (await sqlite_line.answer(turn, piece("a", "hi"))).revision == 1


async def test_a_turn_that_was_begun_outlives_a_broken_connection(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "desk.db", busy_timeout=1, max_waiting=10)
    await writer.start()
    writer.at_once(later("one"))
    with pytest.raises(StoreUnavailable):
        await writer.run(breaking)
    assert (writer.memory, writer.owes) == (None, True)
    await writer.run(put("two"))

    assert names(tmp_path) == ["one", "two"]
    assert not writer.owes
    await writer.close()


async def test_rows_that_cannot_be_written_at_all_are_told_of_and_do_not_hold_up_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    writer = Writer(tmp_path / "desk.db", busy_timeout=1, max_waiting=10)
    await writer.start()
    await writer.run(put("one"))
    writer.at_once(later("one"))
    await asyncio.gather(writer.run(put("two")), writer.run(put("three")))

    assert names(tmp_path) == ["one", "three", "two"]
    assert [record.levelname for record in caplog.records if record.name == "frontdesk.store"] == ["ERROR"]
    await writer.close()


async def test_closing_writes_what_was_done_at_once(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "desk.db", busy_timeout=1, max_waiting=10)
    await writer.start()
    writer.at_once(later("one"))
    await writer.close()

    assert names(tmp_path) == ["one"]


def later(name: str) -> Operation[None]:
    return lambda tx: tx.late("INSERT INTO lease VALUES (?, '', 0, 0)", (name,))


def begun(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "desk.db")) as db:
        return [id for (id,) in db.execute("SELECT id FROM turn")]
