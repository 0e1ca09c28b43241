"""Whether a store can be opened at a path, which a check looks at too, and the making of its file."""

import errno
import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from core.errors import ConfigurationError
from gateway.store.sqlite import schema

_FULL = (errno.ENOSPC, errno.EDQUOT)  # waited for, as later on: the file may be there already


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
    """As far as looking tells: leaves nothing behind. Raises ConfigurationError, also for a file of newer code."""
    try:
        folder = next(each for each in path.absolute().parents if each.exists())
        if not folder.is_dir():
            raise _refusal(path, f"{folder} is not a folder")
        if path.is_dir():
            raise _refusal(path, "it is a folder")
        if path.exists() and not path.is_file():
            raise _refusal(path, "it is not a regular file")
    except OSError as error:
        raise _refusal(path, os.strerror(error.errno or 0)) from error
    _try_folder(path, folder)
    if path.exists():
        _try_file(path)
        _read(path)


def _try_folder(path: Path, folder: Path) -> None:
    """By making a file without a name: permissions do not tell of file systems that take none, as /proc and /sys."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        if error.errno not in _FULL:
            raise _refusal(path, f"{folder} takes no files ({os.strerror(error.errno or 0)})") from error


def _try_file(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK))
    except OSError as error:
        raise _refusal(path, f"it may not be written ({os.strerror(error.errno or 0)})") from error


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
