"""An open transaction as an operation sees it: statements, late rows, and what is remembered of earlier ones."""

import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

from gateway.store.sqlite.memory import Memory

T = TypeVar("T")

Rows = dict[str, list[tuple[Any, ...]]]  # by statement


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
        self._late: Rows = {}

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
            self.write(self.take_late())

    def take_late(self) -> "Rows":
        """The late rows, which are late no more: whoever takes them writes them."""
        late, self._late = self._late, {}
        return late

    def write(self, rows: "Rows") -> None:
        for sql, values in rows.items():
            self._many(sql, values)

    def forget(self) -> None:
        """After a rollback: late rows and what was remembered are no longer true."""
        self._late = {}
        self.memory.clear()


Operation = Callable[[Tx], T]
