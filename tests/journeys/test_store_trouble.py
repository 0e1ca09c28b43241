"""A full disk, a locked database, a second process on the same file: 503 for a while, nothing lost, and it heals."""

import asyncio
import resource
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_scripts import working_until
from tests.fakes.telegram import FakeTelegram
from tests.journeys.held_disk import HeldDisk
from tests.journeys.process import GatewayProcess, look
from tests.journeys.setting import configured

CHAT = 7
BUSY = 0.5  # seconds an operation waits for a lock


@contextmanager
def no_room_on_disk(pid: int) -> Iterator[None]:
    """Every write of the process to a file fails, as on a full disk; reading goes on."""
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of 8 MiB; skips the test where this user may not mount one."""
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], capture_output=True)
    if made.returncode:
        pytest.skip("only root can mount a file system; the same is tested by a limit on the size of files")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def locked(database: Path, kind: str = "EXCLUSIVE") -> Iterator[None]:
    """Another process holds it for itself; with IMMEDIATE it lets others read."""
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute(f"BEGIN {kind}")
        yield
        other.execute("COMMIT")


def fill(path: Path) -> None:
    """Take what room there is."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1024))


async def refuses_for_now(gateway: GatewayProcess, telegram: FakeTelegram) -> None:
    """Updates are answered 503 with Retry-After, readiness is red, and liveness is not."""

    def refused() -> bool:
        return any(attempt.status == 503 and attempt.retry_after for attempt in telegram.updates.attempts)

    await telegram.changes.until(refused, what="a 503 with Retry-After", timeout=20)
    await look(lambda: _is_red(gateway), what="/readyz to be red")
    assert await gateway.status("/healthz") == 200


async def answers_before_the_lock(gateway: GatewayProcess, telegram: FakeTelegram, *, busy_timeout: float) -> None:
    gateway.configure("gateway", busy_timeout=busy_timeout)
    await gateway.start()
    telegram.user_says(CHAT, "before the lock")
    await telegram.wait_for_text(CHAT, "before the lock")
    await gateway.at_rest()


async def reasons(gateway: GatewayProcess) -> str:
    async with gateway.http.get(f"{gateway.base}/readyz") as answer:
        return str((await answer.json())["reasons"])


async def _is_red(gateway: GatewayProcess) -> bool:
    return await gateway.status("/readyz") == 503


@pytest.mark.case("T80")
@pytest.mark.case("F27")
async def test_with_no_room_on_disk_updates_are_refused_and_answered_once_when_there_is_room_again(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    await gateway.start()
    telegram.user_says(CHAT, "before the disk is full")
    await telegram.wait_for_text(CHAT, "before the disk is full")
    await gateway.at_rest()
    with no_room_on_disk(gateway.pid):
        telegram.user_says(CHAT, "while the disk is full")
        await refuses_for_now(gateway, telegram)
    await telegram.wait_for_text(CHAT, "while the disk is full", timeout=20)
    await gateway.until_ready()
    assert telegram.texts(CHAT) == ["echo: before the disk is full", "echo: while the disk is full"]
    with closing(sqlite3.connect(gateway.database)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.case("T80")
async def test_a_file_system_that_is_full_is_survived_and_heals_by_itself(
    tmp_path: Path, telegram: FakeTelegram, agent: ScriptedAgent
) -> None:
    with small_disk(tmp_path / "small") as disk:
        async with configured(disk, telegram.base, telegram.token, agent.card_url) as gateway:
            gateway.configure("gateway", port=gateway.port)
            await gateway.start()
            telegram.user_says(CHAT, "before the disk is full")
            await telegram.wait_for_text(CHAT, "before the disk is full")
            ballast = disk / "ballast"
            fill(ballast)
            for number in range(40):  # more than the file already has room for
                telegram.user_says(CHAT, f"while the disk is full, {number:02d} {'x' * 3000}")
            await refuses_for_now(gateway, telegram)
            ballast.unlink()
            await telegram.wait_until_acknowledged(timeout=30)
            await gateway.stop()


@pytest.mark.case("T80")
async def test_a_file_system_with_room_for_the_data_is_never_full_of_the_log(
    tmp_path: Path, telegram: FakeTelegram, agent: ScriptedAgent
) -> None:
    """The log grows far beyond what is in it: it is brought over before it takes the room that the data needs."""
    with small_disk(tmp_path / "small") as disk:
        (disk / "ballast").write_bytes(bytes(3 << 20))
        async with configured(disk, telegram.base, telegram.token, agent.card_url) as gateway:
            await gateway.start()
            for number in range(600):
                telegram.user_says(CHAT + number % 20, f"number {number}")
            await telegram.wait_until_acknowledged(timeout=60)
            await gateway.at_rest(seconds=60)
            assert sum(agent.message_counts.values()) == 600
            assert {attempt.status for attempt in telegram.updates.attempts} == {200}


@pytest.mark.case("T81")
@pytest.mark.case("F28")
@pytest.mark.case("DEL-07")
async def test_a_database_locked_by_another_process_is_waited_for_within_the_bound_and_loses_nothing(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    await answers_before_the_lock(gateway, telegram, busy_timeout=BUSY)
    with locked(gateway.database):
        telegram.user_says(CHAT, "while it is locked")
        await refuses_for_now(gateway, telegram)
    await telegram.wait_for_text(CHAT, "while it is locked", timeout=20)
    await gateway.at_rest()
    assert telegram.texts(CHAT) == ["echo: before the lock", "echo: while it is locked"]
    assert sum(agent.message_counts.values()) == 2


@pytest.mark.case("T81")
async def test_an_answer_that_comes_while_the_database_is_locked_is_kept_and_delivered_once(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    gateway.configure("gateway", busy_timeout=BUSY)
    await gateway.start()
    telegram.user_says(CHAT, "a question before the lock")
    await telegram.wait_for_messages(CHAT)
    await gateway.at_rest()
    with closing(sqlite3.connect(gateway.database, isolation_level=None)) as other:

        def lock() -> bool:
            other.execute("BEGIN IMMEDIATE")
            return True

        telegram.user_says(CHAT, "a question that is asked in time")
        await agent.wait_for_calls("SendStreamingMessage", 2)
        lock()
        await gateway.event("store.unavailable")
        other.execute("COMMIT")
    await telegram.wait_for_text(CHAT, "a question that is asked in time", timeout=20)
    summary = await gateway.at_rest()
    assert sum("asked in time" in text for text in telegram.texts(CHAT)) == 1 - summary["unknown"]


async def test_a_commit_that_waits_long_for_the_disk_is_no_readiness_and_it_heals(
    tmp_path: Path, telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    disk = HeldDisk(tmp_path / "disk", gateway)
    await gateway.start()
    disk.hold()
    telegram.user_says(CHAT, "while the disk takes its time")
    await disk.until_held()
    await look(lambda: _is_red(gateway), what="/readyz to be red")
    assert "a commit waits for the disk" in await reasons(gateway)
    assert await gateway.status("/healthz") == 200
    disk.let_go()
    await gateway.until_ready()
    await telegram.wait_for_text(CHAT, "while the disk takes its time")


async def test_a_commit_that_waits_long_for_a_lock_is_no_readiness_although_it_is_still_waited_for(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    await answers_before_the_lock(gateway, telegram, busy_timeout=60)
    with locked(gateway.database):
        telegram.user_says(CHAT, "while it is locked")
        await look(lambda: _is_red(gateway), what="/readyz to be red")
        assert "a commit waits for the lock that another process holds" in await reasons(gateway)
    await gateway.until_ready()
    await telegram.wait_for_text(CHAT, "while it is locked")


async def test_a_stop_does_not_wait_for_a_disk_that_does_not_come_back(
    tmp_path: Path, telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    gateway.expected_errors.add("gateway.cut_off")
    gateway.configure("gateway", shutdown_grace=3600)
    disk = HeldDisk(tmp_path / "disk", gateway)
    await gateway.start()
    disk.hold()
    telegram.user_says(CHAT, "on its way to the disk")
    await disk.until_held()
    assert await gateway.stop() == 1
    assert "the store could not commit for 5 s (a commit waits for the disk)" in gateway.lines[-1]
    disk.works_again()
    await gateway.start()
    await telegram.wait_for_text(CHAT, "on its way to the disk")


async def test_a_stop_does_not_wait_for_a_lock_that_is_not_given_up(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    go_on = asyncio.Event()
    agent.behaviour = working_until(go_on, "said while it was locked")
    gateway.expected_errors.add("gateway.cut_off")
    gateway.configure("gateway", shutdown_grace=3600, busy_timeout=BUSY)
    await gateway.start()
    telegram.user_says(CHAT, "a question before the lock")
    await agent.wait_for_calls("SendStreamingMessage")
    with locked(gateway.database, "IMMEDIATE"):
        go_on.set()
        await gateway.event("store.unavailable")
        assert await gateway.stop() == 1
        assert "the database is locked by another process" in gateway.lines[-1]
        assert "the next start takes up what was at work" in gateway.lines[-1]
    await gateway.start()
    await telegram.wait_for_text(CHAT, "said while it was locked", timeout=20)


@pytest.mark.case("F29")
async def test_a_second_process_on_the_same_file_stands_by_and_takes_over_when_the_first_dies(
    telegram: FakeTelegram, gateway: GatewayProcess, second: GatewayProcess
) -> None:
    assert (await second.status("/readyz"), await second.status("/healthz")) == (503, 200)
    telegram.user_says(CHAT, "to the first process")
    await gateway.until_delivered()
    await gateway.kill()
    await second.until_ready()
    telegram.user_says(CHAT, "to the second process")
    await telegram.wait_for_text(CHAT, "to the second process")
    assert telegram.texts(CHAT) == ["echo: to the first process", "echo: to the second process"]
    assert await second.stop() == 0
    second.check_log()
