"""Pipe tables as aligned monospaced lines; Telegram has no tables."""

import re
import unicodedata
from collections.abc import Sequence

from plugins.telegram.inline import Notes, inline

_DIVIDER = re.compile(r":?-+:?")
_PIPE = re.compile(r"(?<!\\)\|")


def is_table(header: str, divider: str) -> bool:
    """Whether two neighbouring lines begin a table (GitHub Flavored Markdown 0.29, 4.10)."""
    if "|" not in header or "-" not in divider or divider.strip("|:- \t"):
        return False
    marks = _cells(divider)
    return all(_DIVIDER.fullmatch(mark) for mark in marks) and len(marks) == len(_cells(header))


def align(rows: Sequence[str], *, width: int) -> list[str] | None:
    """One line for each row, the second being the divider; None when a line would be wider than `width` or padding
    would outgrow the table itself, in which case the rows are better shown as they are."""
    table = [[_shown(cell) for cell in _cells(row)] for row in rows]
    columns = max(len(cells) for cells in table)
    if 3 * columns > width:
        return None
    marks = table[1]
    widths = [0] * columns
    for cells in (*table[:1], *table[2:]):
        for index, cell in enumerate(cells):
            widths[index] = max(widths[index], _width(cell))
    table[1] = ["-" * max(size, 1) for size in widths]
    if sum(widths) + 3 * columns > width:
        return None
    is_right = [len(mark) > 1 and mark.endswith(":") and not mark.startswith(":") for mark in marks]
    is_right += [False] * (columns - len(marks))
    return _padded(table, widths, is_right, budget=2 * sum(map(len, rows)) + 4 * width)


def _padded(table: list[list[str]], widths: list[int], is_right: list[bool], *, budget: int) -> list[str] | None:
    lines: list[str] = []
    for cells in table:
        fields = [_pad(cell, widths[index], is_right[index]) for index, cell in enumerate(cells)]
        lines.append(" | ".join(fields).rstrip() or "|")
        budget -= len(lines[-1])
        if budget < 0:
            return None
    lines[1] = lines[1].replace(" | ", "-+-")
    return lines


def _cells(row: str) -> list[str]:
    cells = [cell.strip() for cell in _PIPE.split(row.strip())]
    if len(cells) > 1 and not cells[0]:
        cells.pop(0)
    if len(cells) > 1 and not cells[-1]:
        cells.pop()
    return cells


def _shown(cell: str) -> str:
    """A monospaced block cannot hold links or bold: markup goes, but a link's target stays readable."""
    source = cell.replace("\\|", "|")
    notes = inline(source, reach=len(source))
    for start, end, (tag, target) in notes.spans:
        if tag == "a" and source[start:end] not in (target, target.partition("://")[2]):
            notes.edits.append((end, end, f" ({target})"))
    return _applied(source, notes)


def _applied(source: str, notes: Notes) -> str:
    shown: list[str] = []
    position = 0
    for start, end, instead in sorted(notes.edits):
        if start >= position:
            shown += (source[position:start], instead)
            position = end
    return "".join((*shown, source[position:])).replace("\n", " ")


def _pad(cell: str, width: int, is_right: bool) -> str:
    gap = " " * (width - _width(cell))
    return gap + cell if is_right else cell + gap


def _width(cell: str) -> int:
    """Columns in a monospaced font: East Asian wide characters take two, combining marks none."""
    if cell.isascii():
        return len(cell)
    return sum(
        0
        if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Mn")
        else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in cell
    )
