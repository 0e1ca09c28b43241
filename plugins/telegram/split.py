"""Cutting an annotated text into messages, once.

Telegram counts UTF-16 code units of what is left after its entities are parsed (Bot API, sendMessage: 1-4096). A part
here is a range of the source whose shown text *and* whose verbatim source both fit, so that either form can be sent
without cutting again. Cuts fall between paragraphs, else lines, sentences, words, and grapheme clusters; never into
something that is hidden or replaced, and into a cluster only when it alone exceeds a message.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import regex

from plugins.telegram.inline import Edit, Mark, Notes

_SENTENCE_END = re.compile(r"[.!?…]+[)\"'”’»]*\s|[。！？；]")
_SPACE = re.compile(r"\s")
_CLUSTER = regex.compile(r"\X")
_AHEAD = 64  # characters read past a cut to see whether a cluster goes on


class Stretch(NamedTuple):
    """A range of the source under one set of marks (outermost first); `shown` is None where it is shown as written."""

    start: int
    end: int
    shown: str | None
    marks: tuple[Mark, ...]

    def visible(self, text: str) -> str:
        return text[self.start : self.end] if self.shown is None else self.shown


def units(text: str) -> int:
    """Length in UTF-16 code units, Telegram's measure."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def stretches(text: str, notes: Notes, *, reach: int) -> list[Stretch]:
    """The text as consecutive stretches. An edit that overlaps an earlier one, or is longer than `reach` in its source
    or its shown form, does not happen: that text is shown as written."""
    edits = _disjoint(notes.edits, reach)
    turns: dict[int, list[tuple[int, Mark]]] = {}
    for start, end, mark in notes.spans:
        turns.setdefault(start, []).append((1, mark))
        turns.setdefault(end, []).append((-1, mark))
    points = sorted({0, len(text), *turns, *(edge for start, end, _ in edits for edge in (start, end))})
    active: Counter[Mark] = Counter()
    marks: tuple[Mark, ...] = ()
    result: list[Stretch] = []
    for start, end in pairwise(points):
        if start in turns:
            for step, mark in turns[start]:
                active[mark] += step
                if not active[mark]:
                    del active[mark]
            marks = _allowed(active)
        while edits and edits[-1][1] <= start:
            edits.pop()
        shown = None
        if edits and edits[-1][0] <= start:
            shown = edits[-1][2] if edits[-1][0] == start else ""
        result.append(Stretch(start, end, shown, marks))
    return result


def cuts(text: str, parts: Sequence[Stretch], limit: int) -> list[tuple[int, int]]:
    """Consecutive ranges that cover the text, none of which exceeds `limit` units, shown or as written."""
    if units(text) <= limit and units("".join(part.visible(text) for part in parts)) <= limit:
        return [(0, len(text))]
    cutter = _Cutter(text, parts, limit)
    ranges: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = cutter.next(start)
        ranges.append((start, end))
        start = end
    return ranges


def _disjoint(edits: Sequence[Edit], reach: int) -> list[Edit]:
    """Last first, ready to be popped."""
    kept: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        fits = edit[1] - edit[0] <= reach and units(edit[2]) <= reach
        if fits and (not kept or edit[0] >= kept[-1][1]):
            kept.append(edit)
    return kept[::-1]


def _allowed(active: Counter[Mark]) -> tuple[Mark, ...]:
    """Telegram's nesting (Bot API, formatting options): nothing goes with `pre`, no style with `code`, one link."""
    if len(active) < 2:
        return tuple(active)
    tags = {tag for tag, _ in active}
    if "pre" in tags:
        return tuple(mark for mark in active if mark[0] == "pre")[:1]
    kept: list[Mark] = []
    for mark in active:
        if mark[0] in "bis" and "code" in tags:
            continue
        if mark[0] != "a" or all(other[0] != "a" for other in kept):
            kept.append(mark)
    return tuple(kept)


class _Cutter:
    def __init__(self, text: str, parts: Sequence[Stretch], limit: int) -> None:
        self._text = text
        self._parts = parts
        self._starts = [part.start for part in parts]
        self._limit = limit

    def next(self, start: int) -> int:
        """The end of the part that begins at `start`."""
        reach = self._reach(start)
        if reach == len(self._text):
            return reach
        low = start + (reach - start) // 2
        for found in (self._paragraph(low, reach), self._line(low, reach), self._word(low, reach)):
            if found is not None:
                return found
        return self._cluster(start, reach)

    def _reach(self, start: int) -> int:
        """The furthest place where a part may end by its size."""
        shown = written = 0
        for index in range(self._at(start), len(self._parts)):
            part = self._parts[index]
            begin = max(start, part.start)
            size = units(self._text[begin : min(part.end, begin + self._limit + 1)])
            shown += size if part.shown is None else units(part.shown)
            written += size
            if shown > self._limit or written > self._limit:
                if part.shown is not None:
                    return part.start
                return _fitting(self._text, begin, part.end, self._limit - max(shown, written) + size)
        return len(self._text)

    def _at(self, position: int) -> int:
        return bisect_right(self._starts, position) - 1

    def _is_open(self, position: int) -> bool:
        """Whether a cut may fall here: not into an edit, nor between marked text and the markup around it."""
        index = self._at(position)
        part = self._parts[index]
        if part.start < position or not index:
            return part.shown is None
        before = self._parts[index - 1]
        is_closed_here = part.shown == "" and len(before.marks) > len(part.marks)
        is_opened_here = before.shown == "" and len(before.marks) < len(part.marks)
        return not (is_closed_here or is_opened_here)

    def _is_code(self, position: int) -> bool:
        return any(tag == "pre" for tag, _ in self._parts[self._at(position)].marks)

    def _paragraph(self, low: int, reach: int) -> int | None:
        for position in self._breaks("\n\n", low, reach):
            if not (self._is_code(position - 1) and self._is_code(position)):
                return position
        return None

    def _line(self, low: int, reach: int) -> int | None:
        return next(iter(self._breaks("\n", low, reach)), None)

    def _breaks(self, mark: str, low: int, reach: int) -> Sequence[int]:
        """Places behind a mark, the last first."""
        found = [match.end() for match in re.finditer(f"{mark}(?!\n)", self._text[low : reach + 1])]
        places = (low + end for end in reversed(found) if low + end <= reach)
        return [place for place in places if self._is_open(place)]

    def _word(self, low: int, reach: int) -> int | None:
        for pattern in (_SENTENCE_END, _SPACE):
            ends = [match.end() for match in pattern.finditer(self._text, low, reach)]
            for end in reversed(ends):
                if self._is_open(end) and self._starts_cluster(end):
                    return end
        return None

    def _starts_cluster(self, position: int) -> bool:
        found = _CLUSTER.match(self._text, position - 1)
        return found is not None and found.end() == position

    def _cluster(self, start: int, reach: int) -> int:
        ahead = min(len(self._text), reach + _AHEAD)
        ends = [found.end() for found in _CLUSTER.finditer(self._text, start, ahead)]
        fitting = (end for end in reversed(ends) if end <= reach and self._is_open(end))
        return next(fitting, max(reach, start + 1))


def _fitting(text: str, start: int, end: int, room: int) -> int:
    """How far from `start` the text fits into `room` units, at most to `end`."""
    used = 0
    for position in range(start, end):
        used += 1 + (text[position] > "\uffff")
        if used > room:
            return position
    return end
