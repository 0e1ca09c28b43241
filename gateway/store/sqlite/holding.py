"""Who may write the file: one process, by a lock which the kernel releases however that process ends."""

import asyncio
import fcntl
import os
from pathlib import Path

POLL = 0.5  # seconds between two tries of a process that stands by; short against a restart, cheap as one system call


class FileHold:
    """An exclusive lock on a file beside the database, kept open for as long as it is held."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    @property
    def is_held(self) -> bool:
        return self._file is not None

    def try_take(self) -> bool:
        if self._file is not None:
            return True
        # Never unlinked: a process that stands by would otherwise lock a file that has no name any more.
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return False
        self._file = file
        return True

    async def take(self) -> None:
        """Wait until no other process holds it."""
        while not self.try_take():  # noqa: ASYNC110 - a blocking lock could not be cancelled
            await asyncio.sleep(POLL)

    def release(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)
