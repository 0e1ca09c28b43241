"""Leases with fencing, and what plugins remember: both by compare-and-set, so that replicas could share them."""

from core.clock import Instant
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.transaction import Tx

SQL = load("state.sql")


def acquire(tx: Tx, name: str, holder: str, ttl: float, now: Instant) -> int | None:
    row = tx.execute(SQL["lease"], (name,)).fetchone()
    present, fence, until = row or ("", 0, 0.0)
    if present not in ("", holder) and until > now:
        return None
    fence = fence if present == holder else fence + 1
    tx.execute(SQL["put_lease"], (name, holder, fence, now + ttl))
    return int(fence)


def release(tx: Tx, name: str, holder: str) -> None:
    tx.execute(SQL["release_lease"], (name, holder))


def void_leases(tx: Tx) -> None:
    tx.execute(SQL["void_leases"])


def read(tx: Tx, account: str, name: str) -> tuple[str, int] | None:
    row = tx.execute(SQL["read_state"], (account, name)).fetchone()
    return (row[0], row[1]) if row else None


def write(tx: Tx, account: str, name: str, value: str, version: int) -> bool:
    if version == 0:
        return tx.execute(SQL["insert_state"], (account, name, value)).rowcount == 1
    return tx.execute(SQL["replace_state"], (value, account, name, version)).rowcount == 1


def forget(tx: Tx, account: str, name: str, version: int) -> bool:
    return tx.execute(SQL["forget_state"], (account, name, version)).rowcount == 1
