"""Where the gateway keeps files: a folder beside the database, each file under the digest of its bytes.

A file is written beside its place, synced, and moved there, so that what has its name is whole. Only the process that
holds the store keeps anything. A file is forgotten when nobody kept it anew for as long as `gateway.retention`; at
`gateway.files_limit` nothing new is taken, since what is there may still be asked for.
"""

import asyncio
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from core.clock import Clock, Instant
from core.errors import FileRefused
from core.files import id_of

SWEEP = 3600.0  # seconds between two looks for old files
_ID = re.compile(r"[0-9a-f]{64}", re.ASCII)


class FolderFiles:
    """The folder is made with the first file. `limit`, `total`: bytes; `retention`: seconds."""

    def __init__(self, folder: Path, clock: Clock, *, limit: int, total: int, retention: float) -> None:
        self._folder, self._clock, self.limit, self._most, self._retention = folder, clock, limit, total, retention
        self._lock = asyncio.Lock()  # one writer, so that the sum is right
        self._sum: int | None = None  # bytes of all files; None: not counted yet
        self._swept: Instant | None = None

    async def keep(self, content: bytes) -> str:
        if len(content) > self.limit:
            raise FileRefused(f"a file has {len(content)} bytes, and gateway.file_limit is {self.limit}")
        async with self._lock:
            try:
                return await asyncio.to_thread(self._keep, content)
            except OSError as error:
                self._sum = None
                raise FileRefused(f"{self._folder} does not take a file: {error.strerror or error}") from error

    async def read(self, id: str) -> bytes | None:
        return await asyncio.to_thread(self._read, id) if _ID.fullmatch(id) else None

    async def prune(self, now: Instant) -> int:
        """Remove what nobody kept for so long; how many. Looks once an hour, however often it is called."""
        if self._swept is not None and now - self._swept < SWEEP:
            return 0
        self._swept = now
        async with self._lock:
            return await asyncio.to_thread(self._prune, now - self._retention)

    # ------------------------------------------------------------------ in a thread

    def _keep(self, content: bytes) -> str:
        id = id_of(content)
        path = self._path(id)
        if self._read(id) is None:
            if self._sum is None:
                self._sum = sum(each.stat().st_size for each in self._all())
            if self._sum + len(content) > self._most:
                raise FileRefused(f"the files kept have {self._sum} bytes, and gateway.files_limit is {self._most}")
            self._write(path, content)
            self._sum += len(content)
        os.utime(path, (self._clock.now(), self._clock.now()))
        return id

    def _write(self, path: Path, content: bytes) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        beside = path.with_suffix(".part")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        for folder in (path.parent, self._folder):
            _sync(folder)

    def _read(self, id: str) -> bytes | None:
        try:
            content = self._path(id).read_bytes()
        except OSError:
            return None
        return content if id_of(content) == id else None

    def _prune(self, horizon: Instant) -> int:
        removed, left = 0, 0
        for path in self._all():
            with suppress(OSError):
                found = path.stat()
                if found.st_mtime < horizon:
                    path.unlink()
                    removed += 1
                else:
                    left += found.st_size
        self._sum = left
        return removed

    def _all(self) -> Iterator[Path]:
        return (path for path in self._folder.glob("??/*") if path.is_file())

    def _path(self, id: str) -> Path:
        return self._folder / id[:2] / id


def _sync(folder: Path) -> None:
    """So that the name is on the disk too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
