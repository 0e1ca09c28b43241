"""Reply windows: a row for each envelope that came in a request which waits, and its one answer, by compare-and-set."""

from core.clock import Instant
from core.store import HeldWindow
from gateway.store.sqlite.names import number
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.transaction import Tx

SQL = load("windows.sql")
KEPT = 3600.0  # seconds past its end; whoever asks later gets no answer of it


def open_window(tx: Tx, envelope: str, conversation: str, until: Instant) -> None:
    tx.execute(SQL["insert_window"], (envelope, conversation, until))


def held(tx: Tx, envelope: str) -> HeldWindow | None:
    row = tx.execute(SQL["window"], (envelope,)).fetchone()
    return HeldWindow(row[0], row[1], row[2], bool(row[3])) if row else None


def ride(tx: Tx, envelope: str, delivery: str, answer: str, was_asked: bool) -> bool:
    lane_seq = number(delivery) if delivery else None
    return tx.execute(SQL["ride"], (answer, lane_seq, int(was_asked), envelope)).rowcount == 1


def unride(tx: Tx, envelope: str, delivery: str) -> None:
    tx.execute(SQL["unride"], (envelope, number(delivery)))


def window_of(tx: Tx, lane_seq: int) -> str:
    """The envelope whose window took this delivery, "" for none."""
    row = tx.execute(SQL["window_of_delivery"], (lane_seq,)).fetchone()
    return str(row[0]) if row else ""


def drop_old(tx: Tx, now: Instant, limit: int) -> int:
    return tx.execute(SQL["drop_windows"], (now - KEPT, limit)).rowcount
