"""Dedupe keys: claimed by inserting them, so that two arrivals of one update are never both the first."""

from collections.abc import Sequence

from core.clock import Instant
from gateway.store.rules import Policy
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.transaction import Tx

SQL = load("keys.sql")
_CLAIM_KEY, _CLAIM_TWO_KEYS = SQL["claim_key"], SQL["claim_two_keys"]


def first_seen(tx: Tx, source: str, keys: Sequence[str], envelope: str, policy: Policy, now: Instant) -> str | None:
    """Claim the keys for this envelope; the envelope that had one of them before, None when all were new."""
    expires = now + policy.dedupe_horizon
    if _claim(tx, source, keys, envelope, expires) >= len(set(keys)):
        return None
    rows = [tx.execute(SQL["key"], (source, key)).fetchone() for key in keys]
    known = [first for first, until in rows if until > now and (first, until) != (envelope, expires)]
    has_lapsed = any(until <= now for _, until in rows)  # remembered longer than promised counts as forgotten
    seen = None if has_lapsed and not known else max(known, default="")
    # A repeat keeps the keys alive: senders that still repeat have not forgotten.
    for key in keys:
        tx.execute(SQL["point_key"], (envelope if seen is None else seen, expires, source, key))
    return seen


def knows(tx: Tx, source: str, keys: Sequence[str], now: Instant) -> bool:
    rows = [tx.execute(SQL["key"], (source, key)).fetchone() for key in keys]
    return any(row is not None and row[1] > now for row in rows)


def _claim(tx: Tx, source: str, keys: Sequence[str], envelope: str, expires: Instant) -> int:
    """How many of the keys were new."""
    if len(keys) == 2:
        return tx.execute(_CLAIM_TWO_KEYS, (source, keys[0], envelope, expires, keys[1])).rowcount
    return sum([tx.execute(_CLAIM_KEY, (source, key, envelope, expires)).rowcount for key in keys])
