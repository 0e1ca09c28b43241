"""A clock that only its test moves."""

from dataclasses import dataclass


@dataclass
class ManualClock:
    time: float = 1_000_000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time
