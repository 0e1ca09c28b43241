"""What a file holds after its process is gone, and who may write it next."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from core.delivery import DeliveryState
from core.envelope import Moved
from core.errors import ConfigurationError, StoreUnavailable
from core.store import AlreadySeen
from gateway.store.sqlite import SqliteStore
from tests.doubles.clock import ManualClock
from tests.store.line import DESK, Line, message, piece

T = TypeVar("T")

ACKNOWLEDGING = """
import asyncio, sys
from pathlib import Path
from gateway.store.sqlite import SqliteStore
from tests.store.line import DESK, message

async def main(path):
    async with SqliteStore(path) as store:
        await store.hold()
        async def one(n):
            await store.admit(DESK, (message(keys=(f"u:{n}",), chat=str(n % 7)),))
            print(n, flush=True)
        for start in range(0, 100_000, 20):
            await asyncio.gather(*(one(n) for n in range(start, start + 20)))

asyncio.run(main(Path(sys.argv[1])))
"""


def acknowledge_until_killed(path: Path, after: int) -> list[int]:
    """What a process acknowledged before `kill -9` ended it."""
    command = [sys.executable, "-c", ACKNOWLEDGING, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path.cwd()) as process:
        assert process.stdout is not None
        acknowledged = [int(process.stdout.readline()) for _ in range(after)]
        process.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in process.stdout if line.strip().isdigit()]
    return acknowledged


@pytest.mark.case("T04")
@pytest.mark.case("F02")
@pytest.mark.case("TG-37")
@pytest.mark.parametrize("after", [1, 50, 333])
async def test_whatever_was_acknowledged_is_there_after_a_kill(tmp_path: Path, after: int) -> None:
    acknowledged = await asyncio.to_thread(acknowledge_until_killed, tmp_path / "desk.db", after)

    async with SqliteStore(tmp_path / "desk.db") as store:
        await store.hold()
        again = [(await store.admit(DESK, (message(keys=(f"u:{n}",)),)))[0] for n in acknowledged]

    assert len(acknowledged) >= after
    assert all(isinstance(admission, AlreadySeen) for admission in again)


@pytest.mark.case("F01")
async def test_what_was_not_committed_is_admitted_when_it_comes_again(tmp_path: Path) -> None:
    acknowledged = await asyncio.to_thread(acknowledge_until_killed, tmp_path / "desk.db", 40)
    beyond = max(acknowledged) + 1000

    async with SqliteStore(tmp_path / "desk.db") as store:
        await store.hold()
        line = Line(store)
        admitted = await line.admit(message(keys=(f"u:{beyond}",)))
        assert (await line.begin(admitted, limit=99)).envelopes[-1].id == admitted.envelope


async def test_a_whole_line_goes_on_after_a_restart(tmp_path: Path) -> None:
    """Nothing is remembered that is not on the disk: each step is made by another process's store."""
    path, clock = tmp_path / "desk.db", ManualClock()

    async def step(what: Callable[[Line], Awaitable[T]]) -> T:
        async with SqliteStore(path, clock=clock) as store:
            await store.hold()
            return await what(Line(store, clock))

    admitted = await step(lambda line: line.say("book a table"))
    joined = await step(lambda line: line.say("for two"))
    turn = await step(lambda line: line.begin(admitted, limit=9))
    assert [e.id for e in turn.envelopes] == [admitted.envelope, joined.envelope]
    assert await step(lambda line: line.store.unfinished()) == [turn]
    await step(lambda line: line.ask_back(turn))
    answer = await step(lambda line: line.say("Friday"))
    assert answer.thread == admitted.thread
    second = await step(lambda line: line.begin(answer))
    assert second.task_id == f"task of {turn.id}"
    await step(lambda line: line.answer(second, piece("artifact:1", "done")))
    assert await step(lambda line: line.store.lanes()) == [(admitted.conversation, DESK)]
    question = await step(lambda line: line.show(admitted.conversation, "m1"))
    done = await step(lambda line: line.claim(admitted.conversation))
    assert [d.payload["text"] for d in (question, done)] == ["which day?", "done"]
    assert await step(lambda line: line.store.begun()) == [done]
    await step(lambda line: line.settle(done, DeliveryState.UNKNOWN))
    reply = await step(lambda line: line.say("thanks", reply_to="m1"))
    assert reply.thread == admitted.thread


async def test_a_burst_and_what_joined_it_is_found_whole_by_the_next_process(tmp_path: Path) -> None:
    path, clock = tmp_path / "desk.db", ManualClock()
    async with SqliteStore(path, clock=clock) as store:
        await store.hold()
        line = Line(store, clock)
        first = await line.begin(await line.say("one"))
        behind = await line.say("two")
    async with SqliteStore(path, clock=clock) as store:
        await store.hold()
        line = Line(store, clock)
        await line.answer(first)
        turn = await line.begin(behind)

    assert [e.id for e in turn.envelopes] == [behind.envelope]
    assert turn.thread == first.thread


async def test_a_second_process_stands_by_until_the_first_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    async with SqliteStore(path) as first, SqliteStore(path) as second:
        await first.hold()
        holding = asyncio.ensure_future(second.hold())
        await asyncio.sleep(0)

        assert [first.is_holder, second.is_holder] == [True, False]
        with pytest.raises(StoreUnavailable, match="standing by"):
            await second.admit(DESK, (message(),))

        await first.close()
        await asyncio.wait_for(holding, 5)
        assert second.healthy is None
        await Line(second).say()


async def test_a_process_that_gives_up_standing_by_leaves_the_file_free(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    async with SqliteStore(path) as first, SqliteStore(path) as second, SqliteStore(path) as third:
        await first.hold()
        holding = asyncio.ensure_future(second.hold())
        await asyncio.sleep(0)
        holding.cancel()
        await asyncio.wait([holding])
        await first.close()

        await asyncio.wait_for(third.hold(), 5)
        assert third.is_holder


async def test_a_hold_given_up_while_the_file_is_opened_leaves_it_free(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    async with SqliteStore(path) as first:
        holding = asyncio.ensure_future(first.hold())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        holding.cancel()
        await asyncio.wait([holding])
        if holding.cancelled():
            assert not first.is_holder
        await first.close()
        async with SqliteStore(path) as second:
            await asyncio.wait_for(second.hold(), 5)
            assert second.is_holder


HOLDING = """
import asyncio, sys
from pathlib import Path
from gateway.store.sqlite import SqliteStore

async def main(path):
    async with SqliteStore(path) as store:
        await store.hold()
        print("held", flush=True)
        await asyncio.Event().wait()

asyncio.run(main(Path(sys.argv[1])))
"""


async def test_the_kernel_frees_the_file_of_a_killed_process(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    command = [sys.executable, "-c", HOLDING, str(path)]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, cwd=Path.cwd())
    assert process.stdout is not None
    assert await process.stdout.readline() == b"held\n"
    async with SqliteStore(path) as store:
        holding = asyncio.ensure_future(store.hold())
        await asyncio.sleep(0)
        assert not store.is_holder
        process.kill()
        await asyncio.wait_for(holding, 5)
        assert store.healthy is None
    await process.wait()


async def test_a_move_is_remembered_over_a_restart(tmp_path: Path) -> None:
    path, clock = tmp_path / "desk.db", ManualClock()
    async with SqliteStore(path, clock=clock) as store:
        await store.hold()
        first = await Line(store, clock).say(chat="-1")
        await store.admit(DESK, (Moved(("u:9",), "9", b"{}", "-1", "-100"),))
    async with SqliteStore(path, clock=clock) as store:
        await store.hold()
        assert await store.aliases(DESK) == {"-1": "-100"}
        assert (await Line(store, clock).say(chat="-1")).conversation == first.conversation


async def test_a_store_that_cannot_be_opened_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    async with SqliteStore(path) as store:
        path.write_bytes(b"not a database" * 1000)
        with pytest.raises(ConfigurationError, match="damaged"):
            await store.hold()
        path.unlink()
        await store.hold()
        await Line(store).say()
