"""Deliveries: pieces become parts in a lane, a lane is claimed from its head, and each attempt is settled once.

A lane is strictly in order: its head is the only delivery that can be claimed, and while the head is being attempted
nothing else of the lane is. So part k+1 never leaves before part k has an answer, whoever drains the lane.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import orjson

from core.clock import Instant
from core.delivery import Delivery, DeliveryState, Op, RenderedPiece
from core.identity import Source
from core.store import NotBefore, Settlement
from gateway.store.rules import TOO_OLD, Policy, quote_of
from gateway.store.sqlite.memory import Place
from gateway.store.sqlite.names import delivery_name, number, turn_of
from gateway.store.sqlite.places import move_chat, place
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.texts import decoded, encoded
from gateway.store.sqlite.transaction import Tx
from gateway.store.sqlite.windows import window_of

SQL = load("deliveries.sql")
_INSERT_DELIVERY, _HEAD, _ATTEMPT, _HAS_QUEUED = (
    SQL["insert_delivery"],
    SQL["head"],
    SQL["attempt"],
    SQL["has_queued"],
)
_SETTLE_SHOWN, _INSERT_ATTEMPT, _INSERT_RECEIPT = SQL["settle_shown"], SQL["insert_attempt"], SQL["insert_receipt"]
_IN_LANE = frozenset({DeliveryState.QUEUED, DeliveryState.ATTEMPTING})


def enqueue(tx: Tx, where: Place, turn: str, piece: RenderedPiece, policy: Policy, now: Instant) -> None:
    """Queue the piece's parts at the lane's end; nothing when its words are those it has already."""
    n, digest = number(turn), blake2b(piece.text.encode(), digest_size=16).digest()
    if not _insert(tx, where, n, piece, 1, Op.SHOW, digest, policy, now):
        newest, present = tx.execute(SQL["newest_piece"], (n, piece.key)).fetchone()
        if present != digest:
            _insert(tx, where, n, piece, newest + 1, _supersede(tx, n, piece.key), digest, policy, now)


def _insert(
    tx: Tx,
    where: Place,
    turn: int,
    piece: RenderedPiece,
    revision: int,
    op: Op,
    digest: bytes,
    policy: Policy,
    now: Instant,
) -> bool:
    """False when the piece has this revision; its first part says so for all of them."""
    parts, not_after = len(piece.payloads), now + policy.max_age
    fixed = (parts, revision, digest, op._value_)
    for part, payload in enumerate(piece.payloads):
        body = encoded(payload)
        row = (where.id, where.owner, turn, piece.key, part, *fixed, body, now, now, not_after)
        if tx.execute(_INSERT_DELIVERY, row).rowcount != 1:
            return False
    return True


def _supersede(tx: Tx, turn: int, key: str) -> Op:
    tx.execute(SQL["withdraw_queued"], (turn, key))
    return Op.REPLACE if tx.execute(SQL["may_be_shown"], (turn, key)).fetchone()[0] else Op.SHOW


# ---------------------------------------------------------------------------------------------- attempts


def claim(tx: Tx, conversation: str, now: Instant) -> Delivery | NotBefore | None:
    where = place(tx, conversation)
    if where is None:
        return None
    while (row := tx.execute(_HEAD, (where.id, now)).fetchone()) is not None:
        lane_seq, state, due, not_after = row[:4]
        if state == "attempting":
            return None  # whoever attempts it claims the next one after it
        if not_after < now:
            tx.execute(SQL["bury"], (TOO_OLD, lane_seq))
        elif due > now:
            return NotBefore(due)
        else:
            return _attempt(tx, where, row, now)
    return None


def claim_behind(tx: Tx, delivery: Delivery, now: Instant) -> Delivery | None:
    where = place(tx, delivery.conversation)
    row = tx.execute(SQL["behind"], (where.id, number(delivery.id), now, now)).fetchone() if where else None
    return _attempt(tx, where, row, now) if where is not None and row is not None else None


def _attempt(tx: Tx, where: Place, row: Sequence[Any], now: Instant) -> Delivery:
    delivery = _delivery(tx, where, row, attempt=row[9] + 1)
    tx.execute(_ATTEMPT, (now, row[0]))
    return delivery


def _delivery(tx: Tx, where: Place, row: Sequence[Any], *, attempt: int) -> Delivery:
    lane_seq, _, _, not_after, name, turn, piece, revision, payload, _, queued, op, part, parts, is_repeat = row[:15]
    question, last_seq, language, preview = row[15:19]
    return Delivery(
        id=delivery_name(name, lane_seq),
        conversation=where.id,
        address=where.address,
        turn=name,
        payload=decoded(payload),
        attempt=attempt,
        queued=queued,
        not_after=not_after,
        op=Op(op),
        part=part,
        parts=parts,
        language=language,
        is_direct=where.is_direct,
        quote=quote_of(question, part=part, is_direct=where.is_direct, is_overtaken=where.newest_seq > last_seq),
        replaces=_replaced(tx, turn, piece, revision, part, parts) if op == "replace" else (),
        preview=preview if op == "show" else "",
        is_repeat=bool(is_repeat),
    )


def _replaced(tx: Tx, turn: int, piece: str, revision: int, part: int, parts: int) -> tuple[str, ...]:
    """What this part takes the place of; the last part also of what the new words need no part for any more."""
    rows = tx.execute(SQL["shown_before"], (turn, piece, revision)).fetchall()
    is_last = part == parts - 1
    return tuple(id for n, shown in rows if n == part or (is_last and n > part) for id in orjson.loads(shown))


def settle(tx: Tx, settlement: Settlement, notice: RenderedPiece | None, policy: Policy, now: Instant) -> bool:
    where = place(tx, settlement.delivery.conversation)
    if where is None:
        return False
    lane_seq = number(settlement.delivery.id)
    if _store_outcome(tx, settlement, lane_seq):
        _record(tx, where, settlement, lane_seq, now)
        if settlement.delivery.preview and settlement.ids:
            previewed(tx, settlement.delivery.turn, "")
        if settlement.state is not DeliveryState.DELIVERED:
            _consequences(tx, where, settlement, lane_seq)
        if notice is not None:
            _post(tx, where, settlement.delivery.turn, notice, policy, now)
        if settlement.moved_to:
            address = settlement.delivery.address
            move_chat(tx, address.source.key, address.chat, settlement.moved_to)
            where = place(tx, where.id) or where
    return bool(tx.execute(_HAS_QUEUED, (where.id,)).fetchone()[0])


def previewed(tx: Tx, turn: str, shown: str) -> None:
    tx.execute(SQL["preview"], (shown, number(turn)))


def _store_outcome(tx: Tx, settlement: Settlement, lane_seq: int) -> bool:
    """False when this attempt is not the one under way (any more)."""
    state, shown = settlement.state, orjson.dumps(settlement.ids).decode()
    key = (lane_seq, number(settlement.delivery.turn), settlement.delivery.attempt)
    if state is DeliveryState.DELIVERED:
        return tx.execute(_SETTLE_SHOWN, (shown, *key)).rowcount == 1
    is_in_lane = state in _IN_LANE
    values = (state.value, is_in_lane, not is_in_lane, settlement.reason, settlement.due, shown, settlement.repeat)
    return tx.execute(SQL["settle_otherwise"], (*values, *key)).rowcount == 1


def _post(tx: Tx, where: Place, turn: str, notice: RenderedPiece, policy: Policy, now: Instant) -> None:
    """Once in its turn."""
    if not tx.execute(SQL["has_piece"], (number(turn), notice.key)).fetchone()[0]:
        enqueue(tx, where, turn, notice, policy, now)


def _record(tx: Tx, where: Place, settlement: Settlement, lane_seq: int, now: Instant) -> None:
    row = (lane_seq, settlement.delivery.attempt, now, settlement.state._value_, settlement.reason)
    tx.late(_INSERT_ATTEMPT, row)
    for id in settlement.ids:
        tx.late(_INSERT_RECEIPT, (where.id, id, lane_seq))


def _consequences(tx: Tx, where: Place, settlement: Settlement, lane_seq: int) -> None:
    state, reason = settlement.state, settlement.reason
    turn, piece, revision, part = tx.execute(SQL["place_in_piece"], (lane_seq,)).fetchone()
    if settlement.blocked:
        tx.execute(SQL["bury_lane"], (reason, where.id))
    if state is DeliveryState.WAITING_FOR_USER:
        tx.execute(SQL["follow_parts"], (state.value, reason, turn, piece, revision, part))
        where.waits_for_user = True


# ---------------------------------------------------------------------------------------------- lanes


def lanes(tx: Tx) -> list[tuple[str, Source]]:
    tx.flush()
    return [(conversation, Source(kind, account)) for conversation, kind, account in tx.execute(SQL["lanes"])]


def begun(tx: Tx) -> list[Delivery]:
    rows = tx.execute(SQL["attempting"]).fetchall()
    found = [(place(tx, row[19]), row) for row in rows]
    return [
        replace(_delivery(tx, where, row, attempt=row[9]), window=window_of(tx, row[0]))
        for where, row in found
        if where is not None
    ]


def again(tx: Tx, conversation: str, policy: Policy, now: Instant) -> int:
    where = place(tx, conversation)
    row = tx.execute(SQL["newest_unknown"], (where.id,)).fetchone() if where else None
    if where is None or row is None:
        return 0
    return tx.execute(SQL["queue_unknown"], (now, now + policy.max_age, row[0], where.id)).rowcount


def retry(tx: Tx, delivery: str, policy: Policy, now: Instant) -> str | None:
    row = tx.execute(SQL["retry"], (now, now + policy.max_age, number(delivery), turn_of(delivery))).fetchone()
    return row[0] if row else None


def discard(tx: Tx, delivery: str) -> str | None:
    row = tx.execute(SQL["discard"], (number(delivery), turn_of(delivery))).fetchone()
    return row[0] if row else None
