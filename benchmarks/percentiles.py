"""Percentiles of measured times, by nearest rank: always a time that was measured, never one in between."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MILLISECONDS = 1000.0  # in a second


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest of the ascending values with at least `share` (0 to 1) of all at or below it; NaN of none."""
    if not ordered:
        return math.nan
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


@dataclass(frozen=True, slots=True)
class Spread:
    """Times in milliseconds; NaN where nothing was measured."""

    p50: float
    p95: float
    p99: float
    longest: float

    @classmethod
    def of(cls, seconds: Iterable[float]) -> "Spread":
        ordered = sorted(value * MILLISECONDS for value in seconds)
        return cls(*(percentile(ordered, share) for share in (0.5, 0.95, 0.99, 1.0)))
