"""Which message is sent next, on which connection and when. Pure: the driver asks, and obeys.

Closed loop: a connection takes its next message when the last one was answered. Open loop: message i is due at i/rate,
whatever the server does, and its time counts from then, so that a stalled server cannot hide the requests it delayed.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

RECENT = 200  # messages back at most that a duplicate repeats: a platform repeats what is new, not what is old


@dataclass(frozen=True, slots=True)
class Sending:
    """One sending: which message, and when it is due in seconds after the start."""

    index: int
    due: float


class Schedule:
    """`in_order` binds each chat to one connection, so that its messages are sent strictly one after the other."""

    def __init__(
        self,
        total: int,
        *,
        connections: int,
        chats: int = 1,
        rate: float = 0.0,
        duplicates: float = 0.0,
        in_order: bool = False,
    ) -> None:
        """`total` sendings; `rate` of 0 is a closed loop; `duplicates` is a share of them.

        Raises ValueError when the order asked for cannot be kept.
        """
        if in_order and (duplicates or chats % connections):
            raise ValueError("in order: no duplicates, and a number of chats that the connections share evenly")
        self._rate = rate
        if in_order:
            self._queues = [iter(range(first, total, connections)) for first in range(connections)]
        else:
            self._queues = [iter(range(total))] * connections
        self._messages = list(_with_duplicates(total, duplicates))

    @property
    def unique(self) -> int:
        """Distinct messages among the sendings."""
        return len(set(self._messages))

    def take(self, connection: int) -> Sending | None:
        """What that connection sends next; None when nothing is left for it."""
        place = next(self._queues[connection], None)
        if place is None:
            return None
        return Sending(self._messages[place], place / self._rate if self._rate else 0.0)


def _with_duplicates(total: int, share: float) -> Iterator[int]:
    chance = random.Random(total)  # seeded: every program of a comparison is sent the same
    fresh = 0
    for _ in range(total):
        if fresh and chance.random() < share:
            yield chance.randrange(max(0, fresh - RECENT), fresh)
        else:
            yield fresh
            fresh += 1
