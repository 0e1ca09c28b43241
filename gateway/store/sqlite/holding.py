"""Who may write the file: one process, by a lock which the kernel releases however that process ends.

The holder writes into the locked file where it is found, for those that wait; what a holder of before wrote is never
read, since only a lock that is held makes it true.
"""

import asyncio
import contextlib
import fcntl
import os
from pathlib import Path

POLL = 0.5  # seconds between two tries of a process that stands by; short against a restart, cheap as one system call
LONGEST = 400  # bytes read of what a holder says of itself


class FileHold:
    """An exclusive lock on a file beside the database, kept open for as long as it is held."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._is_others = False  # as of the last try

    @property
    def is_held(self) -> bool:
        return self._file is not None

    @property
    def holder(self) -> str:
        """Where another process that holds it is found, in its own words; "" when none does."""
        if not self._is_others:
            return ""
        try:
            words = self._path.read_bytes()[:LONGEST].decode(errors="replace").strip()
        except OSError:
            words = ""
        return words if words.isprintable() and words else "another process"

    def try_take(self, said: str = "") -> bool:
        """Whether it is held now. `said`: where this process is found, for others to read."""
        if self._file is not None:
            return True
        # Never unlinked: a process that stands by would otherwise lock a file that has no name any more.
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            self._is_others = True
            return False
        self._file, self._is_others = file, False
        with contextlib.suppress(OSError):  # of a full disk, say: who waits then knows less
            os.ftruncate(file, 0)
            os.pwrite(file, f"{said}\n".encode(), 0)
        return True

    async def take(self, said: str = "") -> None:
        """Wait until no other process holds it."""
        while not self.try_take(said):  # noqa: ASYNC110 - a blocking lock could not be cancelled
            await asyncio.sleep(POLL)

    def release(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)
