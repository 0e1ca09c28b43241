"""Retention: what is past its time is removed in small steps, so that no message waits behind it.

Never removed: conversations, persons and sessions (addresses); anything of a turn whose remote task may still answer,
whose thread is active, or that has a delivery queued, under way, unknown or waiting for the person.

Rows are in the order of their age, so that a sweep stops at the first that is young enough; but keys are not, and an
index on their expiry would cost every message. So the sweeps go round over all keys, each a little further.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from core.clock import Instant
from gateway.store.rules import Policy, is_open
from gateway.store.sqlite import followed, windows
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.transaction import Tx

SQL = load("retention.sql")
ROUND = 3 * 3600.0  # seconds for a round over all keys: so much longer than promised a key may be kept
FIRST_SHARE = 500  # steps of the first sweep; until a round tells how many there are, each one doubles what was seen
STEP = 200  # rows looked at in one operation: about a millisecond
KEPT = frozenset({"queued", "attempting", "unknown", "waiting_for_user"})  # deliveries whose fate is not settled
ACTIVE = frozenset({"queued", "running", "waiting"})


@dataclass(slots=True)
class KeyRound:
    """How far the sweeps have come in their round over all keys."""

    after: tuple[str, str] = ("", "")
    steps: int = 0  # of this round
    length: int | None = None  # steps of the last whole round; None before the first
    swept: Instant | None = None  # when the sweep before this one was
    share: int = 0  # steps that this sweep has left

    def begin_sweep(self, now: Instant) -> None:
        """Decide how many steps it takes: as much of a round as of its time has passed."""
        if self.length is None or self.swept is None:
            self.share = max(FIRST_SHARE, self.steps)
        else:
            self.share = min(max(1, math.ceil(self.length * (now - self.swept) / ROUND)), self.length)
        self.swept = now

    def advance(self, last: tuple[str, str] | None) -> bool:
        """After a step that ended at this key (None: at the end of all); whether the sweep goes on."""
        self.steps, self.share = self.steps + 1, self.share - 1
        if last is None:
            self.after, self.length, self.steps = ("", ""), self.steps, 0
            return False
        self.after = last
        return self.share > 0


class Sweep:
    """One pass over everything that ages; call `step` until it is done."""

    def __init__(self, policy: Policy, now: Instant, keys: KeyRound) -> None:
        self._now, self._horizon, self._round = now, now - policy.retention, keys
        self._round.begin_sweep(now)
        self._turn, self._seq, self._raw = 0, 0, 0
        self._left: list[Callable[[Tx], tuple[int, bool]]] = [
            self._windows,
            self._raws,
            self._envelopes,
            self._turns,
            self._keys,
        ]

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
        rows = tx.execute(SQL["old_keys"], (*self._round.after, STEP)).fetchall()
        expired = [(source, key) for source, key, expires in rows if expires <= self._now]
        for pair in expired:
            tx.execute(SQL["drop_key"], pair)
        goes_on = self._round.advance(rows[-1][:2] if len(rows) == STEP else None)
        return len(expired), not goes_on

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

    def _windows(self, tx: Tx) -> tuple[int, bool]:
        removed = windows.drop_old(tx, self._now, STEP)
        return removed, removed < STEP

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
