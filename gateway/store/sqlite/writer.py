"""The one writer: it turns whatever waits into one durable commit.

Operations gather in a list. At the end of the event loop's turn, and only while no commit is on its way to the disk,
they are run as one transaction; a thread then syncs the log (log.py), and only after that are they answered. What
arrives meanwhile is the next batch. So batches form by themselves, without any added delay, and each costs one hop to
the thread, one sync and one hop back.

An operation that reads no row, and whose loss does no harm, can be done at once: what it writes is owed, and goes first
into the next batch.

The transaction itself runs on the event loop: its rows are in memory, no lock is ever waited for, and two threads that
take turns at Python's lock cost more than it does (measured: a sixth of all that a message costs).

An operation is a plain function of the open transaction. When one raises, the batch is rolled back and replayed one
by one, each in a transaction of its own, so that one bad row does not fail the others. When the file cannot be written
(locked for long, full, gone) nothing is replayed: every operation of the batch gets StoreUnavailable, and while that
lasts the writer tries a write of its own each second, so that health turns green again without traffic. On a full disk
the log is brought into the database before each try, lest it takes all the room that comes free for itself. A sync that
failed is not tried again, since a second one would succeed and mean nothing: all is refused until a restart.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from core.errors import StoreUnavailable
from gateway.store.sqlite import schema
from gateway.store.sqlite.connection import Connection
from gateway.store.sqlite.log import Log, Sync, sync_file
from gateway.store.sqlite.memory import Memory
from gateway.store.sqlite.transaction import Operation, Rows, Tx
from gateway.store.sqlite.troubles import REASONS, RETRY_AFTER, code_of, is_full, unavailable_for

T = TypeVar("T")

BATCH = 512  # operations in one commit at most: bounds what a failed batch replays, and how long a commit takes
LOOK_AGAIN = 0.02  # seconds between two looks whether another process's lock is gone
PROBE_EVERY = 1.0  # seconds between two attempts to write while the file is unwritable
COMMIT_PATIENCE = 2.0  # seconds a commit may wait for a lock or the disk before it is said; a busy disk takes less
OWED_FOR = 0.05  # seconds that what was done at once waits for a batch to go with; then it makes one of its own

_log = logging.getLogger("frontdesk.store")
_Item = tuple["asyncio.Future[Any]", Operation[Any]]
_Answer = tuple["asyncio.Future[Any]", Any, BaseException | None]


class Writer:
    """Made on the running event loop, and used only there."""

    def __init__(self, path: Path, *, busy_timeout: float, max_waiting: int, sync: Sync = sync_file) -> None:
        self._busy_timeout, self._max_waiting = busy_timeout, max_waiting
        self._loop = asyncio.get_running_loop()
        self._log = Log(path, sync)
        self._pending: list[_Item] = []
        self._in_flight = 0
        self._busy = False
        self._begun: float | None = None  # monotonic; while a commit is under way
        self._locked_since: float | None = None  # monotonic; while another process holds the database's lock
        self._connection = Connection(path)
        self._probe: asyncio.TimerHandle | None = None
        self._owed: Rows = {}  # of what was done at once, and in no batch yet that was committed
        self._payday: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._is_full = False  # the disk, at the last try
        self._is_lost = False  # a sync failed: nobody knows what is on the disk
        self.healthy: str | None = None  # why the file could not be written; None when it could

    async def start(self) -> None:
        """Open the file and bring it to this code's schema. Raises ConfigurationError, StoreUnavailable."""
        opening = asyncio.ensure_future(asyncio.to_thread(self._open, self._busy_timeout))
        try:
            await asyncio.shield(opening)
        except sqlite3.Error as error:
            await self._end()
            raise self._connection.why_not_opened(error) from error
        except BaseException:  # a wait that was given up: what the thread still opens is to be closed too
            await asyncio.gather(opening, return_exceptions=True)
            await self._end()
            raise

    @property
    def waiting(self) -> int:
        return len(self._pending) + self._in_flight

    @property
    def late(self) -> str | None:
        """What a commit waits for that takes longer than COMMIT_PATIENCE; None while none does."""
        if self._begun is None or self._loop.time() - self._begun <= COMMIT_PATIENCE:
            return None
        lock = "the lock that another process holds on the database"
        return f"a commit waits for {'the disk' if self._locked_since is None else lock}"

    def run(self, operation: Operation[T]) -> "asyncio.Future[T]":
        """Its result once it is durable. Raises StoreUnavailable at once when too much waits already."""
        if self._is_closed:
            raise StoreUnavailable("the store is closed")
        if len(self._pending) + self._in_flight >= self._max_waiting:
            raise StoreUnavailable("too many operations wait for the disk", retry_after=RETRY_AFTER)
        future: asyncio.Future[T] = self._loop.create_future()
        self._pending.append((future, operation))
        if not self._busy:
            self._busy = True
            self._next()
        return future

    @property
    def memory(self) -> Memory | None:
        """What an operation at once may count on; None while nothing can be done at once."""
        tx = self._connection.tx
        return None if tx is None or self.healthy or self._is_closed else tx.memory

    @property
    def owes(self) -> bool:
        """Whether something was done at once that is not committed yet; committed, it is synced with the next batch."""
        return bool(self._owed)

    def at_once(self, operation: Operation[T]) -> T:
        """Its result now, from what is remembered; its late rows are written with the next batch, before all others.

        Only while `memory` is there, and only for an operation that reads no row: none may be open yet, and its rows
        may be lost with the process, with all that came after them.
        """
        tx = self._connection.tx
        if tx is None:
            raise StoreUnavailable("nothing can be done at once now")
        result = operation(tx)
        for sql, rows in tx.take_late().items():
            self._owed.setdefault(sql, []).extend(rows)
        if self._payday is None:
            self._payday = self._loop.call_later(OWED_FOR, self._pay)
        return result

    def _pay(self) -> None:
        self._payday = None
        if self._owed and self._busy:
            self._payday = self._loop.call_later(OWED_FOR, self._pay)
        elif self._owed and not self._is_closed:
            self._busy = True
            self._next()

    async def close(self) -> None:
        """Finish what waits, then close the file."""
        while not self._is_closed and (self._pending or self._in_flight or self._owed):
            barrier = [self.run(_nothing)]
            await asyncio.wait(barrier)
            if barrier[0].exception() is not None:
                self._owed = {}  # of a file that cannot be written
        await self._end()

    async def _end(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            for timer in (self._probe, self._payday):
                if timer is not None:
                    timer.cancel()
            await asyncio.to_thread(self._log.close)
            self._connection.close()

    # ------------------------------------------------------------------ batches

    def _next(self) -> None:
        """Soon a batch; on a full disk, once the log was brought into the database."""
        if self._is_full and not self._is_closed:
            self._log.make_room(self._made_room)
        else:
            self._loop.call_soon(self._work)

    def _made_room(self) -> None:
        self._loop.call_soon_threadsafe(self._work)

    def _work(self) -> None:
        """One batch. Nothing else is written until it is on disk, so the next one gathers meanwhile."""
        batch, self._pending = self._pending[:BATCH], self._pending[BATCH:]
        # Whoever was cancelled while waiting here is spared: nothing was promised to it yet.
        batch = [item for item in batch if not item[0].cancelled()]
        if not batch and not self.healthy and not self._owed:
            return self._answer(())
        if self._begun is None:
            self._begun = self._loop.time()
        try:
            answers = self._commit(batch)
        except _Locked:
            self._pending[:0] = batch
            self._loop.call_later(LOOK_AGAIN, self._work)
            return None
        self._in_flight = len(batch)
        if all(error is not None for _, _, error in answers):
            return self._answer(answers)
        return self._log.sync(len(batch), lambda error: self._in_loop(answers, error))

    def _in_loop(self, answers: Sequence[_Answer], error: OSError | None) -> None:
        self._loop.call_soon_threadsafe(self._synced, answers, error)

    def _synced(self, answers: Sequence[_Answer], error: OSError | None) -> None:
        if error is not None:
            self._is_lost = True
            self.healthy = f"what was written may not be on the disk ({error}); look at the disk, then restart"
            answers = _refused([(future, _nothing) for future, _, _ in answers], self.healthy)
        self._answer(answers)

    def _answer(self, answers: Sequence[_Answer]) -> None:
        for future, result, error in answers:
            if future.done():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
        self._in_flight, self._begun = 0, None
        self._busy = bool(self._pending)
        if self._busy:
            self._next()
        elif self.healthy and self._probe is None:
            self._probe = self._loop.call_later(PROBE_EVERY, self._try)

    def _try(self) -> None:
        """To learn without traffic whether writing works again."""
        self._probe = None
        if self.healthy and not self._busy and not self._is_closed:
            self._busy = True
            self._next()

    def _commit(self, batch: Sequence[_Item]) -> list[_Answer]:
        """Written and not yet synced. Raises _Locked while waiting for another process's lock is worth while."""
        if self._is_lost or self._is_closed:
            return _refused(batch, self.healthy or "the store is closed")
        try:
            answers = self._transaction(batch)
        except BaseException as error:  # handed to those who await the operations
            self._connection.roll_back(error)
            self._wait_for_lock(error)
            unavailable = unavailable_for(error)
            if unavailable is not None:
                self.healthy, self._is_full = str(unavailable), is_full(error)
                return _refused(batch, self.healthy)
            if not batch:
                _log.error("rows that can never be written are given up, with what they were of", exc_info=error)
                self._owed = {}
                return []
            if len(batch) == 1 and not self._owed:
                return [(batch[0][0], None, error)]
        else:
            self.healthy = self._locked_since = None
            self._is_full = False
            return answers
        return self._replay(batch)

    def _transaction(self, batch: Sequence[_Item]) -> list[_Answer]:
        tx = self._connection.tx or self._open(0.0)
        tx.execute("BEGIN IMMEDIATE")
        tx.write(self._owed)
        answers: list[_Answer] = [(future, operation(tx), None) for future, operation in batch]
        tx.flush()
        if not batch:
            tx.execute(f"PRAGMA user_version = {schema.CODE}")  # a real write
        tx.execute("COMMIT")
        self._owed = {}
        return answers

    def _replay(self, batch: Sequence[_Item]) -> list[_Answer]:
        answers: list[_Answer] = []
        for part in ([], *([item] for item in batch)):  # first what is owed, alone
            try:
                answers += self._commit(part)
            except _Locked:
                self.healthy = REASONS[sqlite3.SQLITE_BUSY]
            if self.healthy:
                return answers + _refused(batch[len(answers) :], self.healthy)
        return answers

    def _wait_for_lock(self, error: BaseException) -> None:
        """Once the time-out is over everybody is refused at once, until the lock is gone."""
        if not isinstance(error, sqlite3.Error) or code_of(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            self._locked_since = None
            return
        now = self._loop.time()
        if self._locked_since is None:
            self._locked_since = now
        if now - self._locked_since < self._busy_timeout:
            raise _Locked

    def _open(self, timeout: float) -> Tx:
        tx = self._connection.open(timeout)
        self._log.begin_anew()
        return tx


class _Locked(Exception):
    """Another process holds the lock, and not for long yet."""


def _nothing(_tx: Tx) -> None:
    return None


def _refused(batch: Sequence[_Item], reason: str) -> list[_Answer]:
    return [(future, None, StoreUnavailable(reason, retry_after=RETRY_AFTER)) for future, _ in batch]
