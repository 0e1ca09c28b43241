"""What a message costs the writer, step by step: `python -m tests.store.budget [messages] [batch]`.

Prints microseconds of the event loop's CPU for each operation, in batches as the gateway makes them under load,
and the whole line as a multiple of the least that could be durable (a key, the body, a queue entry, by hand). Machines
differ, and one machine differs between minutes: compare the multiples of two versions of the code.
"""

import asyncio
import sqlite3
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from core.agent import Road, TaskState
from core.delivery import Delivery, DeliveryState, RenderedPiece
from core.envelope import Candidate, Inbound
from core.identity import Source
from core.ids import new_id
from core.parts import Text
from core.store import Admitted, Settlement
from core.turn import InboxRecord, Observation, RemoteTask, SubmissionState, Turn, TurnEnd, TurnState
from gateway.store.sqlite import SqliteStore
from gateway.store.sqlite.connection import PRAGMAS

SOURCE = Source("telegram", "bench")

LEAST = """
CREATE TABLE key (key TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
CREATE TABLE body (n INTEGER PRIMARY KEY, body BLOB);
CREATE TABLE queue (n INTEGER PRIMARY KEY, state INTEGER, due REAL);
CREATE INDEX queue_due ON queue (state, due);
"""


def least(folder: Path, messages: int, batch: int) -> float:
    """Microseconds a message for three plain inserts in the same batches."""
    db = sqlite3.connect(folder / "least.db", isolation_level=None)
    for pragma in PRAGMAS:
        db.execute(pragma)
    db.executescript(LEAST)
    started = time.thread_time()
    for start in range(1, messages, batch):
        numbers = range(start, start + batch)
        db.execute("BEGIN IMMEDIATE")
        for n in numbers:
            db.execute("INSERT INTO key VALUES (?, ?) ON CONFLICT DO NOTHING", (str(n), n))
        db.executemany("INSERT INTO body VALUES (?, ?)", [(n, b"x" * 970) for n in numbers])
        db.executemany("INSERT INTO queue VALUES (?, 0, 1.0)", [(n,) for n in numbers])
        db.execute("COMMIT")
    spent = time.thread_time() - started
    db.close()
    return spent / messages * 1e6


def candidate(n: int, chats: int) -> Candidate:
    chat = str(n % chats)
    inbound = Inbound(
        keys=(f"u:{n}", f"m:{chat}:{n}"),
        external_id=str(n),
        chat=chat,
        sender=chat,
        parts=(Text("x" * 600),),
        raw=b"x" * 970,
        message_id=str(n),
    )
    return Candidate(new_id(), SOURCE, f"bench:{chat}", inbound, time.time(), "echo", "en")


def answered(turn: Turn) -> Observation:
    task = RemoteTask(f"t-{turn.id}", f"c-{turn.conversation}", TaskState.COMPLETED, heard=time.time())
    return Observation(
        turn=turn,
        submission=SubmissionState.SUBMITTED,
        task=task,
        records=(InboxRecord(Road.ANSWER, "task", {"text": "x" * 600}),),
        context_id=task.context_id,
        pieces=(RenderedPiece("artifact:1", "x" * 600, ({"text": "x" * 600, "parse_mode": "HTML"},)),),
        end=TurnEnd(TurnState.COMPLETED),
    )


def _spent(_tx: object) -> float:
    return time.thread_time()


async def timed(
    store: SqliteStore, name: str, batch: int, calls: Sequence[Callable[[], Awaitable[Any]]]
) -> tuple[list[Any], float]:
    spent = await store._run(_spent)
    started = time.perf_counter()
    results: list[Any] = []
    for start in range(0, len(calls), batch):
        results += await asyncio.gather(*[call() for call in calls[start : start + batch]])
    seconds = time.perf_counter() - started
    cost = (await store._run(_spent) - spent) / len(calls) * 1e6
    print(f"{name:8} {cost:6.1f} us, {len(calls) / seconds:8.0f}/s")
    return results, cost


async def measure(messages: int, batch: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        base = least(Path(folder), messages, batch)
        print(f"least    {base:6.1f} us")
        async with SqliteStore(Path(folder) / "budget.db") as store:
            await store.hold()
            total = 0.0
            for name in ("first", "again"):
                print(f"-- {name} messages of {messages // 4} conversations" if name == "first" else "-- known ones")
                offset = 0 if name == "first" else messages
                total = await line(store, range(offset, offset + messages), messages // 4, batch)
                print(f"         {total / base:6.1f} times the least")
    return total


async def line(store: SqliteStore, numbers: range, chats: int, batch: int) -> float:
    now = time.time
    messages = [candidate(n, chats) for n in numbers]
    admit = [partial(store.admit, SOURCE, (message,)) for message in messages]
    admitted, a = await timed(store, "admit", batch, admit)
    firsts: list[Admitted] = [admission for (admission,) in admitted]
    costs = [a]
    threads = list(dict.fromkeys(first.thread for first in firsts))
    turns, cost = await timed(
        store, "begin", batch, [partial(store.begin, thread, now(), limit=20) for thread in threads]
    )
    costs.append(cost)
    _, cost = await timed(store, "observe", batch, [partial(store.observe, answered(turn), now()) for turn in turns])
    costs.append(cost)
    lanes = [turn.conversation for turn in turns]
    claimed, cost = await timed(store, "claim", batch, [partial(store.claim, lane, now()) for lane in lanes])
    costs.append(cost)
    deliveries: list[Delivery] = claimed
    settled = [
        partial(store.settle, Settlement(delivery, DeliveryState.DELIVERED, ids=(f"s{numbers[0]}.{n}",)), now())
        for n, delivery in enumerate(deliveries)
    ]
    _, cost = await timed(store, "settle", batch, settled)
    costs.append(cost)
    print(f"line     {sum(costs):6.1f} us")
    return sum(costs)


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:]]
    asyncio.run(measure(*(arguments + [4000, 30][len(arguments) :])))
