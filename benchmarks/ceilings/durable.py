"""The ceiling of ingest: check the secret, parse, drop duplicates, store three rows, commit durably, answer 200."""

import argparse
import sqlite3
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web
from pydantic import ValidationError

from benchmarks.ceilings.group_commit import GroupWriter
from benchmarks.ceilings.serving import Hook, done, is_from_telegram, serve
from benchmarks.ceilings.updates import Update

SOURCE = "telegram:bench"
SCHEMA = """
CREATE TABLE IF NOT EXISTS envelope(
    id INTEGER PRIMARY KEY, owner TEXT, source TEXT, external_id TEXT, chat TEXT, body BLOB, created REAL);
CREATE TABLE IF NOT EXISTS dedupe(
    source TEXT NOT NULL, key TEXT NOT NULL, envelope INTEGER NOT NULL, seen REAL NOT NULL,
    PRIMARY KEY(source, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS queue(
    id INTEGER PRIMARY KEY, envelope INTEGER NOT NULL, state INTEGER NOT NULL DEFAULT 0, due REAL NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS queue_due ON queue(state, due);
"""
ADD_KEY = "INSERT INTO dedupe(source, key, envelope, seen) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING"
ADD_ENVELOPE = "INSERT INTO envelope VALUES(?, ?, ?, ?, ?, ?, ?)"
ADD_TO_QUEUE = "INSERT INTO queue(envelope, due) VALUES(?, ?)"
LAST_ENVELOPE = "SELECT coalesce(max(id), 0) FROM envelope"


@dataclass(frozen=True, slots=True)
class Arrival:
    external_id: str
    chat: str
    body: bytes


class Admissions:
    """Writes batches of arrivals; numbers them itself, since it is the only writer of its database."""

    def __init__(self) -> None:
        self._last: int | None = None

    def write(self, database: sqlite3.Connection, arrivals: Sequence[Arrival]) -> list[int]:
        """The envelope's number of each arrival, 0 of a duplicate."""
        now, admitted = time.time(), list[int]()
        envelopes, queued = list[tuple[object, ...]](), list[tuple[int, float]]()
        if self._last is None:
            self._last = int(database.execute(LAST_ENVELOPE).fetchone()[0])
        for arrival in arrivals:
            self._last += 1
            if database.execute(ADD_KEY, (SOURCE, arrival.external_id, self._last, now)).rowcount != 1:
                admitted.append(0)
                continue
            admitted.append(self._last)
            envelopes.append((self._last, "owner", SOURCE, arrival.external_id, arrival.chat, arrival.body, now))
            queued.append((self._last, now))
        database.executemany(ADD_ENVELOPE, envelopes)
        database.executemany(ADD_TO_QUEUE, queued)
        return admitted


@asynccontextmanager
async def durable(database: Path) -> AsyncIterator[Hook]:
    writer = GroupWriter(database, SCHEMA, Admissions().write)

    async def accept(request: web.Request) -> web.Response:
        if not is_from_telegram(request):
            return web.Response(status=401)
        body = await request.read()
        try:
            update = Update.model_validate_json(body)
        except ValidationError:
            return web.Response(status=400)
        await writer.submit(Arrival(str(update.update_id), str(update.message.chat.id), body))
        return done()

    try:
        yield accept
    finally:
        await writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--database", type=Path, required=True)
    given = parser.parse_args()
    serve(given.port, durable(given.database))


if __name__ == "__main__":
    main()
