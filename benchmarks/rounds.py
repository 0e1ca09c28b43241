"""Alternated rounds and their medians: A B C, then C B A, so that a slow minute of the machine meets all alike."""

import dataclasses
import math
import statistics
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

Subject = TypeVar("Subject")
Figures = TypeVar("Figures", bound=Any)  # a frozen dataclass whose fields are all numbers


async def alternate(
    subjects: Sequence[Subject], rounds: int, measure: Callable[[Subject], Awaitable[Figures]]
) -> list[list[Figures]]:
    """What `measure` returned for each subject, one entry a round, in the order of `subjects`."""
    taken: list[list[Figures]] = [[] for _ in subjects]
    for number in range(rounds):
        places = range(len(subjects)) if number % 2 == 0 else range(len(subjects) - 1, -1, -1)
        for place in places:
            taken[place].append(await measure(subjects[place]))
    return taken


def median(rounds: Sequence[Figures]) -> Figures:
    """The figures whose every field is the median of that field; a NaN in one round does not count."""
    first = rounds[0]
    names = [field.name for field in dataclasses.fields(first)]
    changed: Figures = dataclasses.replace(
        first, **{name: _median([getattr(each, name) for each in rounds]) for name in names}
    )
    return changed


def _median(values: Sequence[float]) -> float:
    measured = [value for value in values if not math.isnan(value)]
    return statistics.median(measured) if measured else math.nan
