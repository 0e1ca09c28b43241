"""What came in, as rows: the raw bytes and the envelope, numbered by the writer and written late."""

from collections.abc import Sequence

import orjson

from core.clock import Instant
from core.envelope import ContextScope, Envelope
from core.identity import Source
from core.parts import Part, Text, part_to_json
from gateway.store.sqlite.memory import Place
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.texts import encoded
from gateway.store.sqlite.transaction import Tx

SQL = load("envelopes.sql")
_INSERT_RAW, _INSERT_ENVELOPE = SQL["insert_raw"], SQL["insert_envelope"]


def next_seq(tx: Tx) -> int:
    memory = tx.memory
    if memory.seq is None:
        memory.seq = tx.execute(SQL["newest_seq"]).fetchone()[0]
    memory.seq += 1
    return memory.seq


def keep_raw(tx: Tx, source: Source, external_id: str, raw: bytes, outcome: str, error: str, received: Instant) -> int:
    memory = tx.memory
    if memory.raw is None:
        memory.raw = tx.execute(SQL["newest_raw"]).fetchone()[0]
    memory.raw += 1
    tx.late(_INSERT_RAW, (memory.raw, source.key, external_id, received, outcome, error, raw))
    return memory.raw


def keep(
    tx: Tx, where: Place, thread: int, envelope: Envelope, *, scope: ContextScope, raw: int, reply_to: str = ""
) -> None:
    """Queued for the thread with this number; 0: it starts no work and is history."""
    attached = envelope.attached
    tx.late(
        _INSERT_ENVELOPE,
        (
            envelope.seq,
            envelope.id,
            where.session,
            where.id,
            where.owner,
            thread,
            "queued" if thread else "history",
            envelope.person.id,
            scope._value_,
            envelope.command,
            _encoded(envelope.parts),
            envelope.external_id,
            envelope.message_id,
            reply_to,
            int(envelope.is_forward),
            envelope.received,
            raw,
            encoded(attached.to_json()) if attached is not None else "",
        ),
    )


def _encoded(parts: Sequence[Part]) -> str:
    if len(parts) == 1 and type(parts[0]) is Text:
        return orjson.dumps([{"text": parts[0].text}]).decode()
    return encoded([part_to_json(part) for part in parts])
