"""The reading side: one connection of its own, read-only, which the writer never waits for.

It sees what was committed when a query began. The first question opens it, so that a gateway nobody asks anything pays
for no second thread.
"""

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import StoreUnavailable

if TYPE_CHECKING:
    from aiosqlite import Connection

BUSY_TIMEOUT = 5.0  # seconds; only while another process holds the whole file
CACHE = "PRAGMA cache_size = -4096"  # KiB; operators ask little
Row = Mapping[str, Any]


class Reader:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._opening = asyncio.Lock()
        self._connection: Connection | None = None

    async def rows(self, sql: str, values: Mapping[str, object] | None = None) -> Sequence[Row]:
        """Each row by the names of its columns. Raises StoreUnavailable."""
        try:
            connection = self._connection or await self._open()
            async with connection.execute(sql, values or {}) as cursor:
                names = [column[0] for column in cursor.description]
                return [dict(zip(names, row, strict=True)) for row in await cursor.fetchall()]
        except sqlite3.Error as error:
            raise StoreUnavailable(f"the database cannot be read: {error}") from error

    async def _open(self) -> "Connection":
        from aiosqlite import connect  # here, so that only who asks pays for it

        async with self._opening:
            if self._connection is None:
                uri = f"{self._path.absolute().as_uri()}?mode=ro"
                connection = await connect(uri, uri=True, timeout=BUSY_TIMEOUT)
                await connection.execute(CACHE)
                self._connection = connection
            return self._connection

    async def close(self) -> None:
        async with self._opening:
            connection, self._connection = self._connection, None
            if connection is not None:
                await connection.close()
