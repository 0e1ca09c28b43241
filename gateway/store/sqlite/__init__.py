"""The embedded engine: one SQLite file, one writer, nothing to install."""

from gateway.store.sqlite.engine import SqliteStore

__all__ = ["SqliteStore"]
