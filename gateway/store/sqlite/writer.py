"""The one writer: a thread that owns the connection, and turns whatever waits into one durable commit.

The event loop appends operations to a list and hands it over at the end of its own turn, only while the writer is
idle; what arrives during a commit waits for the next one. So batches form by themselves, without any added delay, and
each costs one hop to the thread, one fsync and one hop back.

An operation is a plain function of the open transaction. When one raises, the batch is rolled back and replayed one
by one, each in a transaction of its own, so that one bad row does not fail the others. When the file cannot be written
(locked, full, gone) nothing is replayed: every operation of the batch gets StoreUnavailable, and while that lasts the
writer tries a write of its own each second, so that health turns green again without traffic.
"""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from core.errors import ConfigurationError, StoreUnavailable
from gateway.store.sqlite import schema
from gateway.store.sqlite.memory import Memory

T = TypeVar("T")

BATCH = 512  # operations in one commit at most: bounds what a failed batch replays, and how long a commit takes
PROBE_EVERY = 1.0  # seconds between two attempts to write while the file is unwritable
RETRY_AFTER = 5.0  # seconds; what senders are told: a full disk or a long lock is not gone in one
STATEMENTS = 256  # prepared statements kept; more than there are queries

PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # NORMAL loses acknowledged commits at power loss
    "PRAGMA wal_autocheckpoint = 4000",  # pages; a WAL that keeps its size commits without metadata writes
    "PRAGMA cache_size = -65536",  # KiB at most; taken as it fills
    "PRAGMA temp_store = MEMORY",
    "PRAGMA foreign_keys = OFF",  # references are by construction: each check would be one more look-up a row
    "PRAGMA secure_delete = OFF",  # Debian's default zeroes freed cells on every update
)

_REASONS = {
    sqlite3.SQLITE_BUSY: "the database is locked by another process",
    sqlite3.SQLITE_LOCKED: "the database is locked by another connection",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk reports an I/O error",
    sqlite3.SQLITE_READONLY: "the database is read-only",
    sqlite3.SQLITE_CANTOPEN: "the database file cannot be opened",
    sqlite3.SQLITE_PERM: "access to the database file is denied",
    sqlite3.SQLITE_PROTOCOL: "the database's locking does not work on this file system",
    sqlite3.SQLITE_CORRUPT: "the database file is damaged",
    sqlite3.SQLITE_NOTADB: "the file is not a database",
    sqlite3.SQLITE_NOMEM: "there is no memory left",
}
# After these the connection may stay wrong even when the cause is gone.
_BREAKS = frozenset(_REASONS) - {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL}


class Tx:
    """The open transaction, as an operation sees it.

    There is one cursor, since making one costs as much as a short statement: what `execute` returned is read before
    the next statement. Truth values are written as int(...), which sqlite3 binds without looking for an adapter.
    """

    __slots__ = ("_late", "_many", "execute", "memory")

    def __init__(self, db: sqlite3.Connection, memory: Memory) -> None:
        cursor = db.cursor()
        self.memory = memory
        self.execute: Callable[..., sqlite3.Cursor] = cursor.execute
        self._many = cursor.executemany
        self._late: dict[str, list[tuple[Any, ...]]] = {}

    def late(self, sql: str, row: tuple[Any, ...]) -> None:
        """Insert a row with others of its kind before the commit, or before the next `flush`."""
        rows = self._late.get(sql)
        if rows is None:
            self._late[sql] = [row]
        else:
            rows.append(row)

    def flush(self) -> None:
        """Write late rows now: whoever reads their tables calls this first."""
        if self._late:
            late, self._late = self._late, {}
            for sql, rows in late.items():
                self._many(sql, rows)

    def forget(self) -> None:
        """After a rollback: late rows and what was remembered are no longer true."""
        self._late = {}
        self.memory.clear()


Operation = Callable[[Tx], T]
_Item = tuple["asyncio.Future[Any]", Operation[Any]]
_Answer = tuple["asyncio.Future[Any]", Any, BaseException | None]


class Writer:
    """Made on the running event loop; the methods after `_serve` belong to the thread."""

    def __init__(self, path: Path, *, busy_timeout: float, max_waiting: int) -> None:
        self._path, self._busy_timeout, self._max_waiting = path, busy_timeout, max_waiting
        self._loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._closed: asyncio.Future[None] = self._loop.create_future()
        self._pending: list[_Item] = []
        self._handed: queue.SimpleQueue[Sequence[_Item] | None] = queue.SimpleQueue()
        self._in_flight = 0
        self._busy = False
        self._tx: Tx | None = None
        self._db: sqlite3.Connection | None = None
        self.healthy: str | None = None  # why the file cannot be written; None while it can

    # ------------------------------------------------------------------ on the event loop

    async def start(self) -> None:
        """Open the file, bring it to this code's schema, and serve. Raises ConfigurationError, StoreUnavailable."""
        threading.Thread(target=self._serve, name="store writer", daemon=True).start()
        await self._opened

    @property
    def waiting(self) -> int:
        return len(self._pending) + self._in_flight

    def run(self, operation: Operation[T]) -> "asyncio.Future[T]":
        """Its result once it is durable. Raises StoreUnavailable at once when too much waits already."""
        if self._closed.done():
            raise StoreUnavailable("the store is closed")
        if len(self._pending) + self._in_flight >= self._max_waiting:
            raise StoreUnavailable("too many operations wait for the disk", retry_after=RETRY_AFTER)
        future: asyncio.Future[T] = self._loop.create_future()
        self._pending.append((future, operation))
        if not self._busy:
            self._busy = True
            self._loop.call_soon(self._hand_over)
        return future

    def _hand_over(self) -> None:
        batch, self._pending = self._pending[:BATCH], self._pending[BATCH:]
        # Whoever was cancelled while waiting here is spared: nothing was promised to it yet.
        batch = [item for item in batch if not item[0].cancelled()]
        self._in_flight = len(batch)
        if batch:
            self._handed.put(batch)
        else:
            self._answer(())

    def _answer(self, answers: Sequence[_Answer]) -> None:
        for future, result, error in answers:
            if future.done():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
        self._in_flight = 0
        if self._pending:
            self._loop.call_soon(self._hand_over)
        else:
            self._busy = False

    async def close(self) -> None:
        """Finish what waits, then close the file."""
        if self._closed.done():
            return
        while self._pending or self._in_flight:
            barrier = [self.run(_nothing)]
            await asyncio.wait(barrier)
            barrier[0].exception()
        self._handed.put(None)
        await self._closed

    # ------------------------------------------------------------------ on the thread

    def _serve(self) -> None:
        try:
            self._connect()
        except BaseException as error:  # handed to whoever opens the store
            self._disconnect()
            self._loop.call_soon_threadsafe(self._closed.set_result, None)
            self._loop.call_soon_threadsafe(self._opened.set_exception, self._why_not_opened(error))
            return
        self._loop.call_soon_threadsafe(self._opened.set_result, None)
        while (batch := self._next()) is not None:
            self._loop.call_soon_threadsafe(self._answer, self._commit(batch))
        self._disconnect()
        self._loop.call_soon_threadsafe(self._closed.set_result, None)

    def _why_not_opened(self, error: BaseException) -> BaseException:
        if isinstance(error, sqlite3.Error) and _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            message = f"the database {self._path} is damaged ({error}); restore a backup"
            return ConfigurationError(message, setting="gateway.store")
        return _translated(error) or error

    def _next(self) -> Sequence[_Item] | None:
        while True:
            try:
                return self._handed.get(timeout=PROBE_EVERY if self.healthy else None)
            except queue.Empty:
                self._commit([])

    def _connect(self) -> Tx:
        if self._tx is None:
            timeout = self._busy_timeout
            self._db = db = sqlite3.connect(
                self._path, timeout=timeout, isolation_level=None, cached_statements=STATEMENTS
            )
            for pragma in PRAGMAS:
                db.execute(pragma)
            schema.migrate(db, self._path)
            self._tx = Tx(db, Memory())
        return self._tx

    def _disconnect(self) -> None:
        db, self._db, self._tx = self._db, None, None
        if db is not None:
            db.close()

    def _commit(self, batch: Sequence[_Item]) -> list[_Answer]:
        try:
            answers = self._transaction(batch)
        except BaseException as error:  # handed to those who await the operations
            unavailable = _translated(error)
            self._roll_back(error)
            if unavailable is not None:
                self.healthy = str(unavailable)
                return _refused(batch, self.healthy)
            if len(batch) <= 1:
                return [(future, None, error) for future, _ in batch]
        else:
            self.healthy = None
            return answers
        return self._replay(batch)

    def _transaction(self, batch: Sequence[_Item]) -> list[_Answer]:
        tx = self._connect()
        tx.execute("BEGIN IMMEDIATE")
        answers: list[_Answer] = [(future, operation(tx), None) for future, operation in batch]
        tx.flush()
        if not batch:
            tx.execute(f"PRAGMA user_version = {schema.CODE}")  # a real write, to learn whether writing works again
        tx.execute("COMMIT")
        return answers

    def _replay(self, batch: Sequence[_Item]) -> list[_Answer]:
        answers: list[_Answer] = []
        for n, item in enumerate(batch):
            answers += self._commit([item])
            if self.healthy:
                return answers + _refused(batch[n + 1 :], self.healthy)
        return answers

    def _roll_back(self, error: BaseException) -> None:
        if self._tx is not None:
            self._tx.forget()
        try:
            if self._db is not None and self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except sqlite3.Error:
            self._disconnect()
        if isinstance(error, sqlite3.Error) and _code(error) in _BREAKS:
            self._disconnect()


def _nothing(_tx: Tx) -> None:
    return None


def _code(error: sqlite3.Error) -> int:
    """The primary result code: the low byte of what SQLite reports."""
    code: int = getattr(error, "sqlite_errorcode", 0) or 0
    return code & 0xFF


def _translated(error: BaseException) -> StoreUnavailable | None:
    """What an unwritable file means to callers; None for an error of the operation itself."""
    reason = _REASONS.get(_code(error)) if isinstance(error, sqlite3.Error) else None
    if reason is None:
        return None
    unavailable = StoreUnavailable(f"{reason} ({error})", retry_after=RETRY_AFTER)
    unavailable.__cause__ = error
    return unavailable


def _refused(batch: Sequence[_Item], reason: str) -> list[_Answer]:
    return [(future, None, StoreUnavailable(reason, retry_after=RETRY_AFTER)) for future, _ in batch]
