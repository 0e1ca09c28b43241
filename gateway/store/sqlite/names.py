"""Names outside, numbers inside: a thread and a turn are named by their first envelope, a delivery by its turn.

The envelope's id makes a name unique in every database there will ever be; the number behind it finds the row without
an index of names.
"""

from functools import lru_cache

_NO_ROW = 0  # rowids start at 1


def name(envelope: str, seq: int) -> str:
    """Of the thread, or the turn, that this envelope began."""
    return f"{envelope}-{seq}"


def delivery_name(turn: str, lane_seq: int) -> str:
    return f"{turn}-{lane_seq}"


@lru_cache(maxsize=1024)
def number(name: str) -> int:
    """The row that a name speaks of; the caller compares the name with the row's where the name came from outside."""
    digits = name[name.rfind("-") + 1 :]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else _NO_ROW


def turn_of(delivery: str) -> str:
    return delivery.rpartition("-")[0]
