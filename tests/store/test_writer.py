"""The SQLite writer: many operations, one commit; one bad one fails alone; too many are refused at once."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from core.envelope import Candidate
from core.errors import StoreUnavailable
from core.store import Admitted
from gateway.store.sqlite import SqliteStore
from gateway.store.sqlite.writer import BATCH, Writer
from tests.store.line import DESK, Line, ManualClock, message


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
        arrivals = [store.admit(DESK, (message(),)) for _ in range(15)]
        results = await asyncio.gather(*arrivals, return_exceptions=True)

        assert [isinstance(result, StoreUnavailable) for result in results] == [False] * 10 + [True] * 5
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
async def test_every_commit_is_synchronous_and_in_the_write_ahead_log(sqlite: SqliteStore) -> None:
    settings = await sqlite._run(
        lambda tx: [tx.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    )

    assert settings == ["wal", 2]
