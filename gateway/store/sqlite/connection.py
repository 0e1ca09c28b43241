"""The writer's connection to the file: opened in this code's schema, and opened anew when it may have gone wrong."""

import sqlite3
from pathlib import Path

from core.errors import ConfigurationError
from gateway.store.sqlite import schema
from gateway.store.sqlite.memory import Memory
from gateway.store.sqlite.transaction import Tx
from gateway.store.sqlite.troubles import BREAKS, code_of, unavailable_for

STATEMENTS = 256  # prepared statements kept; more than there are queries

PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",  # log.py syncs each batch before it is answered
    "PRAGMA wal_autocheckpoint = 0",  # log.py's, too
    "PRAGMA cache_size = -16384",  # KiB; full after some thousand tasks, so that memory does not grow with more
    "PRAGMA temp_store = MEMORY",
    "PRAGMA foreign_keys = OFF",  # references are by construction: each check would be one more look-up a row
    "PRAGMA secure_delete = OFF",  # Debian's default zeroes freed cells on every update
)


class Connection:
    """`tx` is None while there is none, and what it remembers is as old as the connection."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None
        self.tx: Tx | None = None

    def open(self, timeout: float) -> Tx:
        """Bring the file to this code's schema, waiting so many seconds for a lock. Raises sqlite3.Error."""
        self.close()  # what a failed try left open
        self._db = db = sqlite3.connect(
            self._path, timeout=timeout, isolation_level=None, cached_statements=STATEMENTS, check_same_thread=False
        )
        for pragma in PRAGMAS:
            db.execute(pragma)
        schema.migrate(db, self._path)
        db.execute("PRAGMA busy_timeout = 0")  # from here on nothing blocks the event loop
        self.tx = Tx(db, Memory())
        return self.tx

    def why_not_opened(self, error: sqlite3.Error) -> BaseException:
        if code_of(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            message = f"the database {self._path} is damaged ({error}); restore a backup"
            return ConfigurationError(message, setting="gateway.store")
        return unavailable_for(error) or error

    def roll_back(self, error: BaseException) -> None:
        """After an error in the transaction, or at its end."""
        if self.tx is not None:
            self.tx.forget()
        try:
            if self._db is not None and self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except sqlite3.Error:
            self.close()
        if isinstance(error, sqlite3.Error) and code_of(error) in BREAKS:
            self.close()

    def close(self) -> None:
        db, self._db, self.tx = self._db, None, None
        if db is not None:
            db.close()
