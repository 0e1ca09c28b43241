"""The smallest gateway's memory: what came in, and of each message that is not done, how far it has come."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.ceilings.group_commit import open_database

SOURCE = "telegram:bench"
SCHEMA = """
CREATE TABLE IF NOT EXISTS envelope(
    id INTEGER PRIMARY KEY, owner TEXT, source TEXT, external_id TEXT, chat TEXT, body BLOB, created REAL);
CREATE TABLE IF NOT EXISTS dedupe(
    source TEXT NOT NULL, key TEXT NOT NULL, envelope INTEGER NOT NULL, seen REAL NOT NULL,
    PRIMARY KEY(source, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS queue(envelope INTEGER PRIMARY KEY, answer TEXT);
"""
ADD_KEY = "INSERT INTO dedupe(source, key, envelope, seen) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING"
ADD_ENVELOPE = "INSERT INTO envelope VALUES(?, ?, ?, ?, ?, ?, ?)"
ADD_TO_QUEUE = "INSERT INTO queue(envelope) VALUES(?)"
KEEP_ANSWER = "UPDATE queue SET answer = ? WHERE envelope = ?"
FINISH = "DELETE FROM queue WHERE envelope = ?"
LAST_ENVELOPE = "SELECT coalesce(max(id), 0) FROM envelope"
UNFINISHED = """
SELECT queue.envelope, envelope.chat, envelope.body, queue.answer
FROM queue JOIN envelope ON envelope.id = queue.envelope ORDER BY queue.envelope
"""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A message that is not done; `answer` is None until the agent gave one."""

    number: int
    chat: str
    body: bytes
    answer: str | None


@dataclass(frozen=True, slots=True)
class Admit:
    external_id: str
    chat: str
    body: bytes
    now: float  # Unix time


@dataclass(frozen=True, slots=True)
class Answered:
    number: int
    answer: str


@dataclass(frozen=True, slots=True)
class Finished:
    number: int


Change = Admit | Answered | Finished


def unfinished(path: Path) -> list[Unfinished]:
    """What an earlier process left, oldest first."""
    database = open_database(path, SCHEMA)
    try:
        return [Unfinished(*row) for row in database.execute(UNFINISHED)]
    finally:
        database.close()


class Changes:
    """Writes batches of changes; numbers the envelopes itself, since it is the only writer of its database."""

    def __init__(self) -> None:
        self._last: int | None = None

    def write(self, database: sqlite3.Connection, changes: Sequence[Change]) -> list[int]:
        """The envelope's number of each admission, 0 of a duplicate and of every other change."""
        if self._last is None:
            self._last = int(database.execute(LAST_ENVELOPE).fetchone()[0])
        numbers = [self._admit(database, change) if isinstance(change, Admit) else 0 for change in changes]
        pairs = list(zip(numbers, changes, strict=True))
        admitted = [(number, change) for number, change in pairs if number and isinstance(change, Admit)]
        rows = [(number, "owner", SOURCE, new.external_id, new.chat, new.body, new.now) for number, new in admitted]
        database.executemany(ADD_ENVELOPE, rows)
        database.executemany(ADD_TO_QUEUE, [(number,) for number, _ in admitted])
        database.executemany(KEEP_ANSWER, [(it.answer, it.number) for it in changes if isinstance(it, Answered)])
        database.executemany(FINISH, [(it.number,) for it in changes if isinstance(it, Finished)])
        return numbers

    def _admit(self, database: sqlite3.Connection, new: Admit) -> int:
        assert self._last is not None
        self._last += 1
        is_new = database.execute(ADD_KEY, (SOURCE, new.external_id, self._last, new.now)).rowcount == 1
        return self._last if is_new else 0
