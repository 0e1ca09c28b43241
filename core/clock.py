"""Time as the core sees it: injected, so that no test waits and no wall-clock jump breaks a duration."""

import time
from typing import Protocol

Instant = float  # UTC, seconds since the Unix epoch: what stores keep, and APIs print as ISO 8601


class Clock(Protocol):
    def now(self) -> Instant:
        """The wall clock: what is stored, shown and compared with other machines' times."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps: what durations and back-offs are measured with."""
        ...


class SystemClock:
    def now(self) -> Instant:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()
