"""A table as the terminal and as a document show it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """The first column holds words, the others figures."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def as_text(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.headings, *self.rows, strict=True)]
        lines = [_aligned(row, widths) for row in (self.headings, tuple("-" * width for width in widths), *self.rows)]
        return "\n".join((self.title, *(f"  {line}" for line in lines)))

    def as_markdown(self) -> str:
        rule = "|---" + "|---:" * (len(self.headings) - 1) + "|"
        rows = [f"| {' | '.join(row)} |" for row in self.rows]
        return "\n".join((f"**{self.title}**", "", f"| {' | '.join(self.headings)} |", rule, *rows))


def figure(value: float, digits: int = 0) -> str:
    """A dash for what was not measured."""
    return "-" if math.isnan(value) else f"{value:,.{digits}f}"


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    return "  ".join((first, *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)))).rstrip()
