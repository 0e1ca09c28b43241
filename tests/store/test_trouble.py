"""A file that cannot be written: nothing is acknowledged that is not stored, and it heals by itself."""

import asyncio
import os
import resource
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from core.errors import ConfigurationError, StoreUnavailable
from core.store import Admitted, AlreadySeen
from gateway.store.rules import Policy
from gateway.store.sqlite import SqliteStore, schema
from tests.doubles.clock import ManualClock
from tests.store.line import DESK, Line, locked, message
from tests.waiting import until


@pytest.mark.case("T81")
@pytest.mark.case("DEL-07")
async def test_a_locked_database_acknowledges_nothing_and_heals(sqlite: SqliteStore) -> None:
    update = message(keys=("u:1",))
    with locked(sqlite.path):
        with pytest.raises(StoreUnavailable) as caught:
            await sqlite.admit(DESK, (update,))
        assert caught.value.retry_after > 0
        assert sqlite.healthy is not None
        assert "locked" in sqlite.healthy

    (admission,) = await sqlite.admit(DESK, (update,))

    assert isinstance(admission, Admitted)
    assert admission.envelope == update.envelope_id
    assert sqlite.healthy is None


@pytest.mark.case("T81")
async def test_health_comes_back_without_traffic(sqlite: SqliteStore) -> None:
    with locked(sqlite.path), pytest.raises(StoreUnavailable):
        await sqlite.admit(DESK, (message(),))

    await until(lambda: sqlite.healthy is None)


@pytest.mark.case("T81")
async def test_a_lock_shorter_than_the_time_out_is_waited_for(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "desk.db", busy_timeout=10) as store:
        await store.hold()
        with locked(store.path):
            waiting = asyncio.ensure_future(store.admit(DESK, (message(),)))
            await asyncio.sleep(0)
        (admission,) = await waiting

    assert isinstance(admission, Admitted)


@pytest.mark.case("T81")
async def test_a_file_that_is_locked_at_the_start_is_waited_for(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "desk.db", busy_timeout=0.01) as store:
        with locked(store.path):
            holding = asyncio.ensure_future(store.hold())
            await until(lambda: "locked" in str(store.healthy))
            with pytest.raises(StoreUnavailable, match="locked"):
                await store.admit(DESK, (message(),))
        await holding
        assert isinstance((await store.admit(DESK, (message(),)))[0], Admitted)


async def test_every_operation_of_a_refused_batch_may_be_called_again_as_it_is(sqlite_line: Line) -> None:
    turn = await sqlite_line.begin(await sqlite_line.say())
    store = sqlite_line.store
    assert isinstance(store, SqliteStore)
    with locked(store.path):
        refused = await asyncio.gather(
            store.admit(DESK, (message(),)), sqlite_line.answer(turn), return_exceptions=True
        )
    assert all(isinstance(each, StoreUnavailable) for each in refused)

    await sqlite_line.answer(turn)


@pytest.mark.case("T80")
async def test_a_full_disk_acknowledges_nothing_and_heals(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "desk.db") as store:
        await store.hold()
        pages = await store._run(lambda tx: tx.execute("PRAGMA page_count").fetchone()[0])
        await store._run(lambda tx: tx.execute(f"PRAGMA max_page_count = {pages}").fetchone())
        update = message("x" * 100_000, keys=("u:1",))

        with pytest.raises(StoreUnavailable, match="full"):
            await store.admit(DESK, (update,))
        assert store.healthy is not None

        await store._run(lambda tx: tx.execute("PRAGMA max_page_count = 1000000").fetchone())
        assert isinstance((await store.admit(DESK, (update,)))[0], Admitted)
        assert store.healthy is None


LIMITED = """
import asyncio, resource, signal, sys
from pathlib import Path
from core.errors import StoreUnavailable
from gateway.store.sqlite import SqliteStore
from tests.store.line import DESK, message

async def main(path):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    async with SqliteStore(path) as store:
        await store.hold()
        await store.admit(DESK, (message("x" * 10_000),))
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
        admitted = refused = 0
        for n in range(200):
            try:
                await store.admit(DESK, (message("x" * 10_000, keys=(f"again:{n}",)),))
                admitted += 1
            except StoreUnavailable:
                refused += 1
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        for n in range(200):
            await store.admit(DESK, (message("x" * 10_000, keys=(f"again:{n}",)),))
        rows = await store.rows("SELECT count(*) AS n FROM envelope")
        print(admitted, refused, rows[0]["n"], store.healthy)

asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.mark.case("T80")
def test_a_file_that_may_not_grow_acknowledges_nothing_false_and_heals(tmp_path: Path) -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "desk.db")]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, cwd=Path.cwd())

    admitted, refused, stored, healthy = done.stdout.split()
    assert int(refused) > 0
    assert int(admitted) + int(refused) == 200
    assert (stored, healthy) == ("201", "None")


async def test_the_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE customers (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match=r"another program.*'customers'"):
        async with SqliteStore(path):
            pass
    assert path.read_bytes() == before


async def test_a_schema_of_newer_code_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    async with SqliteStore(path) as store:
        await store.hold()
    newer = sqlite3.connect(path)
    newer.execute("INSERT INTO schema_version VALUES (?, ?, 'of the future', 0)", (schema.CODE + 1, schema.CODE + 1))
    newer.commit()
    newer.close()

    with pytest.raises(ConfigurationError, match="needs a newer Frontdesk") as caught:
        async with SqliteStore(path):
            pass
    assert caught.value.setting == "gateway.store"


async def test_a_newer_schema_that_this_code_may_still_run_on_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    async with SqliteStore(path) as store:
        await store.hold()
    newer = sqlite3.connect(path)
    newer.execute("INSERT INTO schema_version VALUES (?, ?, 'one more index', 0)", (schema.CODE + 1, schema.CODE))
    newer.commit()
    newer.close()

    async with SqliteStore(path) as store:
        await store.hold()
        assert isinstance((await store.admit(DESK, (message(),)))[0], Admitted)


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    path.write_bytes(b"not a database, but somebody's letters" * 100)

    with pytest.raises(ConfigurationError, match="not a database"):
        async with SqliteStore(path):
            pass
    assert path.read_bytes().startswith(b"not a database")


async def test_a_folder_that_cannot_be_made_is_a_setting_to_change(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigurationError, match="cannot be opened"):
        async with SqliteStore(tmp_path / "file" / "desk.db"):
            pass


def test_a_horizon_shorter_than_channels_repeat_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="48 hours"):
        Policy(dedupe_horizon=47 * 3600)
    with pytest.raises(ConfigurationError, match="retention"):
        Policy(retention=3600)


async def test_the_database_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "state" / "desk.db", clock=ManualClock()) as store:
        await store.hold()
        assert os.stat(tmp_path / "state").st_mode & 0o077 == 0
        for file in (tmp_path / "state").iterdir():
            assert file.stat().st_mode & 0o077 == 0, file


async def test_a_duplicate_after_trouble_is_still_a_duplicate(sqlite: SqliteStore) -> None:
    (first,) = await sqlite.admit(DESK, (message(keys=("u:1",)),))
    with locked(sqlite.path), pytest.raises(StoreUnavailable):
        await sqlite.admit(DESK, (message(),))

    assert isinstance(first, Admitted)
    assert await sqlite.admit(DESK, (message(keys=("u:1",)),)) == (AlreadySeen(first.envelope),)
