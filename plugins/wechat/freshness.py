"""Whether a signed time is of now, also after this machine's wall clock jumped.

A push with an old time is refused, since it may be sent again by whoever saw it; were the wall clock alone asked, each
jump of it would refuse all that people write, and the platform tells them that the account is out of order. So the
platform's own times count as well: the latest that it signed, and how long ago that came, on the clock that never
jumps. Only a later time takes its place: old ones that are sent again cannot draw it back, however often.
"""

from core.clock import Clock

FRESH = 300.0  # seconds that a signed time is good for, either way; the platform signs each request anew
TIME_DIGITS = 12  # of a time, at most; int() refuses a number of thousands of digits, and is slow before that


def time_of(said: str) -> int | None:
    """A time as the platform writes it, in whole seconds; None for anything else."""
    return int(said) if said.isascii() and said.isdigit() and len(said) <= TIME_DIGITS else None


class Freshness:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead: float | None = None  # seconds by which the platform's time is ahead of the monotonic clock
        self._latest = 0  # of the times that the platform signed

    def agrees(self, at: int) -> bool:
        """Whether this machine's wall clock says so."""
        return abs(self._clock.now() - at) <= FRESH

    def is_fresh(self, at: int) -> bool:
        by_platform = self._ahead is not None and abs(self._ahead + self._clock.monotonic() - at) <= FRESH
        return by_platform or self.agrees(at)

    def signed(self, at: int) -> None:
        """The platform signed this time, and it was fresh."""
        self._latest = max(self._latest, at)
        ahead = at - self._clock.monotonic()
        self._ahead = ahead if self._ahead is None else max(self._ahead, ahead)

    def is_again(self, at: int) -> bool:
        """Whether it may be one that is sent again: the platform signed it, or a later one, while it was fresh."""
        return at <= self._latest
