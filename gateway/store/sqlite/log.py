"""The write-ahead log on its way to the disk: a thread that syncs it, so that the event loop never waits for a disk.

SQLite itself runs with `synchronous = NORMAL`: a commit is written to the log and not yet synced. What `FULL` would do
at each commit is done here once for a whole batch, and nothing is answered before. (Without it commits that were
answered are lost with the power: measured, 50 of 50.)
"""

import os
import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

CHECKPOINT_AFTER = 1000  # operations; some 8 MB of log, which then begins anew and keeps its size

Sync = Callable[[int], None]
sync_file: Sync = getattr(os, "fdatasync", os.fsync)  # macOS has only the latter


class Log:
    """The methods after `_serve` belong to the thread."""

    def __init__(self, database: Path, sync: Sync) -> None:
        self._database = database
        self._sync = sync
        self._file: int | None = None
        self._since_checkpoint = 0
        self._jobs: queue.SimpleQueue[tuple[int, Callable[[OSError | None], None]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="store log", daemon=True)
        self._thread.start()

    def sync(self, operations: int, then: Callable[[OSError | None], None]) -> None:
        """Sync what so many operations wrote, then call `then` in the thread, with the error if it failed.

        Nothing is written meanwhile, so that now and then the whole log can be brought into the database.
        """
        self._jobs.put((operations, then))

    def close(self) -> None:
        """Blocks until the thread has ended."""
        self._jobs.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            operations, then = job
            error: OSError | None = None
            try:
                self._sync_log()
                self._since_checkpoint += operations
                if self._since_checkpoint >= CHECKPOINT_AFTER:
                    self._checkpoint()
            except OSError as failure:
                error = failure
            then(error)
        self._forget_file()

    def _sync_log(self) -> None:
        if self._file is None:
            log = self._database.with_name(f"{self._database.name}-wal")
            if not log.exists():
                return  # nothing was ever written
            self._file = os.open(log, os.O_RDONLY | os.O_CLOEXEC)
            self._sync_folder()
        self._sync(self._file)

    def _sync_folder(self) -> None:
        """A new file is on disk only when its folder's entry is."""
        folder = os.open(self._database.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _checkpoint(self) -> None:
        """Best effort: what a lock or a full disk prevents is done the next time, and nothing is lost without it."""
        self._since_checkpoint = 0
        try:
            database = sqlite3.connect(self._database, timeout=0, isolation_level=None)
        except sqlite3.Error:
            return
        try:
            database.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except sqlite3.Error:
            return
        finally:
            database.close()

    def _forget_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)
