"""What errors of a database file mean to whoever wanted to write it."""

import sqlite3

from core.errors import StoreUnavailable

RETRY_AFTER = 5.0  # seconds; what senders are told: a full disk or a long lock is not gone in one

REASONS = {
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
BREAKS = frozenset(REASONS) - {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL}


def code_of(error: sqlite3.Error) -> int:
    """The primary result code: the low byte of what SQLite reports."""
    code: int = getattr(error, "sqlite_errorcode", 0) or 0
    return code & 0xFF


def is_full(error: BaseException) -> bool:
    return isinstance(error, sqlite3.Error) and code_of(error) == sqlite3.SQLITE_FULL


def unavailable_for(error: BaseException) -> StoreUnavailable | None:
    """What an unwritable file means to callers; None for an error of the operation itself."""
    reason = REASONS.get(code_of(error)) if isinstance(error, sqlite3.Error) else None
    if reason is None:
        return None
    translated = StoreUnavailable(f"{reason} ({error})", retry_after=RETRY_AFTER)
    translated.__cause__ = error
    return translated
