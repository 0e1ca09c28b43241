"""The write-ahead log on its way to the disk: a thread that syncs it, so that the event loop never waits for a disk.

SQLite itself runs with `synchronous = NORMAL`: a commit is written to the log and not yet synced. What `FULL` would do
at each commit is done here once for a whole batch, and nothing is answered before. (Without it commits that were
answered are lost with the power: measured, 50 of 50.)

Now and then the log is brought into the database, by a second thread that holds up nobody, and always before the disk
has less room than the database may need for it. Only the last of it, what was written meanwhile, is brought over
between two batches, so that the log can begin anew.
"""

import os
import queue
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

CHECKPOINT_AFTER = 5000  # writes; some 40 MB of log, which then begins anew and keeps its size
CHECKPOINT_LEAST = 200  # writes, where the disk has little room
WRITE = 8192  # bytes of log that a write takes, estimated high
COMMIT_WEIGHT = 4  # writes for the commit itself, whatever is in it: pages that each of them touches

Sync = Callable[[int], None]
sync_file: Sync = getattr(os, "fdatasync", os.fsync)  # macOS has only the latter


class Log:
    """The methods after `_serve` belong to the thread."""

    def __init__(self, database: Path, sync: Sync) -> None:
        self._database = database
        self._sync = sync
        self._path = database.with_name(f"{database.name}-wal")
        self._file: int | None = None
        self._is_another = False  # the file that is open may not be the one written now
        self._since_checkpoint = 0
        self._copier: threading.Thread | None = None
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="store log", daemon=True)
        self._thread.start()

    def sync(self, operations: int, then: Callable[[OSError | None], None]) -> None:
        """Sync what so many operations wrote, then call `then` in the thread, with the error if it failed.

        Nothing is written meanwhile.
        """
        self._jobs.put(partial(self._synced, operations, then))

    def make_room(self, then: Callable[[], None]) -> None:
        """The disk is full: bring the log into the database, as far as that goes, so that it begins anew and needs no
        more room than it has. Then call `then` in the thread.

        Nothing is written meanwhile.
        """
        self._jobs.put(partial(self._made_room, then))

    def begin_anew(self) -> None:
        """A connection was opened: SQLite removes the log with its last connection, and begins another one.

        Only while no sync is under way.
        """
        self._is_another = True

    def close(self) -> None:
        """Blocks until the thread has ended."""
        self._jobs.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
        if self._copier is not None:
            self._copier.join()
        self._close_file()

    def _synced(self, operations: int, then: Callable[[OSError | None], None]) -> None:
        error: OSError | None = None
        try:
            self._sync_log()
            self._since_checkpoint += operations + COMMIT_WEIGHT
            if self._since_checkpoint >= self._bound():
                self._bring_over()
        except OSError as failure:
            error = failure
        then(error)

    def _made_room(self, then: Callable[[], None]) -> None:
        self._since_checkpoint = 0
        self._checkpoint()
        then()

    def _bound(self) -> int:
        """How many writes the log may hold: what is in it needs as much room in the database."""
        if self._since_checkpoint < CHECKPOINT_LEAST:
            return CHECKPOINT_LEAST
        disk = os.statvfs(self._database.parent)
        return max(CHECKPOINT_LEAST, min(CHECKPOINT_AFTER, disk.f_bavail * disk.f_frsize // WRITE))

    def _sync_log(self) -> None:
        if self._is_another:
            self._is_another = False
            self._close_file()
        if self._file is None:
            try:
                self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return  # nothing was ever written
            self._sync_folder()
        self._sync(self._file)

    def _close_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def _sync_folder(self) -> None:
        """A new file is on disk only when its folder's entry is."""
        folder = os.open(self._database.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _bring_over(self) -> None:
        if self._copier is None:
            self._copier = threading.Thread(target=self._checkpoint, name="store checkpoint", daemon=True)
            self._copier.start()
        elif not self._copier.is_alive():
            self._copier, self._since_checkpoint = None, 0
            self._checkpoint()

    def _checkpoint(self) -> None:
        """Best effort: what a lock or a full disk prevents is done the next time, and nothing is lost without it."""
        with suppress(sqlite3.Error), closing(sqlite3.connect(self._database, timeout=0)) as database:
            database.execute("PRAGMA wal_checkpoint(PASSIVE)")
