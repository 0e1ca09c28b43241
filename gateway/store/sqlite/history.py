"""What was said in a chat, for channels that show it themselves: messages admitted and deliveries shown, in order."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Protocol

import orjson

from core.identity import Address
from core.parts import part_from_json, text_of
from core.plugin import Entry
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.reader import Row
from gateway.store.sqlite.texts import decoded

SQL = load("records.sql")


class Rows(Protocol):
    def __call__(self, sql: str, values: Mapping[str, object] | None = None) -> Awaitable[Sequence[Row]]: ...


async def history(rows: Rows, address: Address, limit: int) -> Sequence[Entry]:
    where = {"source": address.source.key, "chat": address.chat, "topic": address.topic}
    found = await rows(SQL["conversation_at"], where)
    if not found:
        return ()
    values = {"conversation": found[0]["id"], "limit": limit}
    entries = [_message(row) for row in await rows(SQL["history_messages"], values)]
    entries += [_delivery(row) for row in await rows(SQL["history_deliveries"], values)]
    return sorted(entries, key=lambda entry: entry.at)[-limit:]


def _message(row: Row) -> Entry:
    text = text_of(part_from_json(part) for part in orjson.loads(row["parts"]))
    return Entry(id=row["id"], at=row["at"], is_theirs=True, text=text, payload={}, turn=row["turn"])


def _delivery(row: Row) -> Entry:
    return Entry(
        id=row["id"],
        at=row["at"],
        is_theirs=False,
        text="",
        payload=decoded(row["payload"]),
        turn=row["turn"],
        replaces=tuple(orjson.loads(row["replaces"])),
    )
