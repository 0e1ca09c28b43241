"""Whether a store can be opened at a path, which a check looks at too, and the making of its file."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from core.errors import ConfigurationError
from gateway.store.sqlite import schema


def prepare(path: Path) -> None:
    """The file and its folder, for this user alone. Raises ConfigurationError."""
    look(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Made here, because SQLite's own files beside it take their permissions from it.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise _refusal(path, str(error)) from error


def look(path: Path) -> None:
    """As far as looking tells: writes nothing. Raises ConfigurationError, also for a file of newer code."""
    folder = next(each for each in path.absolute().parents if each.exists())
    if not folder.is_dir():
        raise _refusal(path, f"{folder} is not a folder")
    if path.is_dir():
        raise _refusal(path, "it is a folder")
    for needed in (folder, *([path] if path.exists() else ())):
        if not os.access(needed, os.R_OK | os.W_OK):
            raise _refusal(path, f"this user may not write to {needed}")
    if path.exists():
        _read(path)


def _read(path: Path) -> None:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            schema.check(db, path)
    except sqlite3.OperationalError:
        return  # locked just now, or its log is not readable without writing: opening it for writing says which
    except sqlite3.DatabaseError as error:
        raise _refusal(path, str(error)) from error


def _refusal(path: Path, cause: str) -> ConfigurationError:
    words = f"the database {path} cannot be opened: {cause}; correct gateway.store, or what is there"
    return ConfigurationError(words, setting="gateway.store")
