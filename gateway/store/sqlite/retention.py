"""Retention: what is past its time is removed in small steps, so that no message waits behind it.

Never removed: conversations, persons and sessions (addresses); anything of a turn whose remote task may still answer,
whose thread is active, or that has a delivery queued, under way, unknown or waiting for the person.
"""

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from core.clock import Instant
from gateway.store.rules import Policy, is_open
from gateway.store.sqlite import followed
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.writer import Tx

SQL = load("retention.sql")
STEP = 200  # rows looked at in one operation: about a millisecond
KEPT = frozenset({"queued", "attempting", "unknown", "waiting_for_user"})  # deliveries whose fate is not settled
ACTIVE = frozenset({"queued", "running", "waiting"})


class Sweep:
    """One pass over everything that ages; call `step` until it is done."""

    def __init__(self, policy: Policy, now: Instant) -> None:
        self._now, self._horizon = now, now - policy.retention
        self._key, self._turn, self._seq, self._raw = ("", ""), 0, 0, 0
        self._left: list[Callable[[Tx], tuple[int, bool]]] = [self._raws, self._envelopes, self._turns, self._keys]

    @property
    def is_done(self) -> bool:
        return not self._left

    def step(self, tx: Tx) -> int:
        tx.flush()
        removed, is_over = self._left[-1](tx)
        if is_over:
            self._left.pop()
        return removed

    def _keys(self, tx: Tx) -> tuple[int, bool]:
        rows = tx.execute(SQL["old_keys"], (*self._key, STEP)).fetchall()
        expired = [(source, key) for source, key, expires in rows if expires <= self._now]
        for pair in expired:
            tx.execute(SQL["drop_key"], pair)
        if rows:
            self._key = rows[-1][:2]
        return len(expired), len(rows) < STEP

    def _turns(self, tx: Tx) -> tuple[int, bool]:
        rows = tx.execute(SQL["old_turns"], (self._turn, STEP)).fetchall()
        old = [row for row in rows if row[1] < self._horizon]
        removed = sum(_drop_turn(tx, row) for row in old)
        if rows:
            self._turn = rows[-1][0]
        return removed, len(old) < STEP

    def _envelopes(self, tx: Tx) -> tuple[int, bool]:
        rows = tx.execute(SQL["old_envelopes"], (self._seq, STEP)).fetchall()
        old = [row for row in rows if row[1] < self._horizon]
        aside = [seq for seq, _, state in old if state in ("dropped", "history")]
        for seq in aside:
            tx.execute(SQL["drop_envelope"], (seq,))
        if rows:
            self._seq = rows[-1][0]
        return len(aside), len(old) < STEP

    def _raws(self, tx: Tx) -> tuple[int, bool]:
        rows = tx.execute(SQL["old_raw"], (self._raw, STEP)).fetchall()
        old = [id for id, received in rows if received < self._horizon]
        for id in old:
            tx.execute(SQL["drop_raw"], (id,))
        if rows:
            self._raw = rows[-1][0]
        return len(old), len(old) < STEP


def _drop_turn(tx: Tx, row: Sequence[Any]) -> int:
    turn, _, thread, state, is_active, newest, resume = row
    if state in ACTIVE or resume == turn or (is_active and newest == turn):
        return 0
    if any(is_open(state, disposition) for state, disposition in tx.execute(SQL["tasks_of_turn"], {"turn": turn})):
        return 0
    shown = tx.execute(SQL["deliveries_of_turn"], (turn,)).fetchall()
    if any(state in KEPT for _, state, _, _ in shown):
        return 0
    for delivery, _, conversation, ids in shown:
        tx.execute(SQL["drop_attempts"], (delivery,))
        for id in orjson.loads(ids):
            tx.execute(SQL["drop_receipt"], (conversation, id, delivery))
    for name in ("drop_deliveries", "drop_inbox", "drop_tasks"):
        tx.execute(SQL[name], (turn,))
    tx.execute(SQL["drop_envelopes"], (turn,))
    tx.execute(SQL["drop_turn"], (turn,))
    if tx.execute(SQL["drop_thread"], (thread,)).rowcount:
        followed.drop(tx, thread)
    return 1
