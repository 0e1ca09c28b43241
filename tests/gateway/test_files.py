"""The folder of files: whole or not there, within its bounds, and forgotten in time."""

import asyncio
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import FileRefused
from core.files import Files, id_of
from gateway.files import SWEEP, FolderFiles
from tests.doubles.clock import ManualClock
from tests.doubles.files import MemoryFiles

DAY = 86_400.0
NOON = 1_700_000_000.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def folder(tmp_path: Path, clock: ManualClock) -> Callable[..., FolderFiles]:
    def made(**bounds: int) -> FolderFiles:
        usual = {"limit": 1000, "total": 2000, **bounds}
        return FolderFiles(tmp_path / "desk.files", clock, retention=30 * DAY, **usual)

    return made


@pytest.fixture(params=["folder", "memory"])
def files(request: pytest.FixtureRequest, folder: Callable[..., FolderFiles]) -> Files:
    return folder() if request.param == "folder" else MemoryFiles(1000)


async def test_what_was_kept_is_read_by_its_id(files: Files) -> None:
    id = await files.keep(b"picture")
    assert await files.read(id) == b"picture"
    assert id == id_of(b"picture")


async def test_the_same_bytes_have_the_same_id(files: Files) -> None:
    assert await files.keep(b"picture") == await files.keep(b"picture")
    assert await files.keep(b"another") != await files.keep(b"picture")


@pytest.mark.parametrize("id", ["", "0" * 64, "../desk.db", "..", "0" * 63 + "/"])
async def test_an_id_that_nobody_gave_names_nothing(files: Files, id: str) -> None:
    assert await files.read(id) is None


async def test_a_file_over_the_limit_is_refused(files: Files) -> None:
    with pytest.raises(FileRefused, match="1001 bytes"):
        await files.keep(bytes(1001))


async def test_files_outlive_the_process(folder: Callable[..., FolderFiles]) -> None:
    id = await folder().keep(b"picture")
    assert await folder().read(id) == b"picture"


async def test_when_all_is_full_nothing_new_is_taken_and_what_is_there_stays(
    folder: Callable[..., FolderFiles],
) -> None:
    files = folder()
    first, second = await files.keep(b"a" * 1000), await files.keep(b"b" * 1000)
    for full in (files, folder()):  # counted anew after a restart
        with pytest.raises(FileRefused, match=r"gateway\.files_limit is 2000"):
            await full.keep(b"c")
        assert await full.keep(b"a" * 1000) == first
    assert await files.read(second) == b"b" * 1000


async def test_files_kept_at_once_are_counted_one_after_the_other(folder: Callable[..., FolderFiles]) -> None:
    files = folder(total=1500)
    kept = await asyncio.gather(*(files.keep(bytes([n]) * 1000) for n in range(4)), return_exceptions=True)
    assert sum(isinstance(each, str) for each in kept) == 1


async def test_a_file_is_forgotten_when_nobody_kept_it_for_so_long(
    folder: Callable[..., FolderFiles], clock: ManualClock
) -> None:
    files = folder()
    old, used = await files.keep(b"old"), await files.keep(b"used")
    clock.time = NOON + 20 * DAY
    await files.keep(b"used")
    assert await files.prune(NOON + 31 * DAY) == 1
    assert await files.read(old) is None
    assert await files.read(used) == b"used"


async def test_what_is_forgotten_makes_room(folder: Callable[..., FolderFiles], clock: ManualClock) -> None:
    files = folder(total=1000)
    await files.keep(b"a" * 1000)
    clock.time = NOON + 31 * DAY
    assert await files.prune(clock.time) == 1
    assert await files.read(await files.keep(b"b" * 1000))


async def test_it_looks_for_old_files_once_an_hour(folder: Callable[..., FolderFiles], clock: ManualClock) -> None:
    files = folder()
    assert await files.prune(NOON + 40 * DAY) == 0
    await files.keep(b"old")
    assert await files.prune(NOON + 40 * DAY + SWEEP - 1) == 0
    assert await files.prune(NOON + 40 * DAY + SWEEP) == 1


async def test_a_file_that_was_changed_is_not_handed_out_and_is_kept_anew(
    folder: Callable[..., FolderFiles], tmp_path: Path
) -> None:
    files = folder()
    id = await files.keep(b"picture")
    (path,) = (tmp_path / "desk.files").glob("*/*")
    path.write_bytes(b"forgery")
    assert await files.read(id) is None
    assert await files.keep(b"picture") == id
    assert await files.read(id) == b"picture"


async def test_nobody_else_on_the_machine_can_read_them(folder: Callable[..., FolderFiles], tmp_path: Path) -> None:
    await folder().keep(b"picture")
    top = tmp_path / "desk.files"
    assert {stat.S_IMODE(path.stat().st_mode) for path in (top, *top.glob("*"))} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in top.glob("*/*")} == {0o600}


async def test_a_disk_that_takes_nothing_is_a_refusal(folder: Callable[..., FolderFiles], tmp_path: Path) -> None:
    (tmp_path / "desk.files").write_bytes(b"no folder")
    with pytest.raises(FileRefused, match=f"{tmp_path.name}/desk.files does not take a file"):
        await folder().keep(b"picture")
    os.unlink(tmp_path / "desk.files")
    assert await folder().keep(b"picture")
