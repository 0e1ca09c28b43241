"""Markdown's blocks, as notes on the source: what to hide, what to show instead, what carries which Telegram tag.

Why not a Markdown library: none gives the source offset of each mark, which the verbatim fallback and the cuts need,
and the usual one took seconds over 100 KB of lazily continued quotes. Reading line by line keeps the cost linear and
guarantees that what is not understood is shown as it was written. Deviations from CommonMark, all towards what people
mean in a chat: a quote ends where its `>` ends; lines, indentation and list numbers stay as typed; references and raw
HTML stay text; four spaces make code only outside lists and after a blank line.

A line is read in this order: its prefixes (quotes, list markers), then the block it begins, else it joins the
paragraph that is open. A paragraph is scanned (`inline`) when it ends.
"""

import re
from bisect import bisect_right

from core.values import value
from plugins.telegram.inline import BOLD, Notes, inline
from plugins.telegram.tables import align, is_table

_QUOTE = re.compile(r"[ \t]*>[ \t]?")
_ITEM = re.compile(r"[ \t]*(?:(?P<bullet>[-+*])|\d{1,9}[.)])[ \t]+(?:\[(?P<box>[ xX])\][ \t]+)?(?=\S)")
_RULE = re.compile(r"[ \t]*([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_UNDERLINE = re.compile(r"[ \t]*(?:={3,}|-{3,})[ \t]*$")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?=\S)")
_FENCE = re.compile(r"[ \t]*(?P<marker>`{3,}(?!.*`)|~{3,})")
_INDENT = re.compile(r"(?: {0,3}\t| {4})(?=.*\S)")
_LANGUAGE = re.compile(r"[\w.+#\-]{1,32}")
_BOXES = {" ": "☐ ", "x": "☑ ", "X": "☑ "}
_DRAWN_RULE = "———"
_PREFIXES = 16  # quotes and list markers read in one line; what is nested deeper stays text
_INFO = 64  # characters; a longer fence info line is no language but somebody's text


def annotate(text: str, *, reach: int) -> Notes:
    """The notes on a whole text with "\\n" line ends. Nothing longer than `reach` characters will be hidden."""
    return _Blocks(text, reach).run()


@value(frozen=True, slots=True)
class _Head:
    """What stands before a line's own text."""

    body: int
    quotes: int
    is_item: bool
    quote_start: int  # of the first quote sign
    is_new_quote: bool  # a list marker stands before the quote sign


class _Blocks:
    def __init__(self, text: str, reach: int) -> None:
        self._text = text
        self._reach = reach
        self._notes = Notes()
        ends = [found.start() for found in re.finditer("\n", text)] + [len(text)]
        self._lines = list(zip([0, *(end + 1 for end in ends[:-1])], ends, strict=True))
        self._paragraph: list[tuple[int, int]] = []
        self._is_item = False  # the paragraph began behind a list marker, so a line of dashes is no underline of it
        self._quote: tuple[int, int] | None = None
        self._quotes = 0
        self._in_list = False

    def run(self) -> Notes:
        line = 0
        while line < len(self._lines):
            line = self._block(line)
        self._end_paragraph()
        self._end_quote()
        return self._notes

    def _block(self, line: int) -> int:
        """Read the block that begins in `line`, or one line of a paragraph; the next line to read."""
        start, end = self._lines[line]
        head = self._head(start, end)
        is_blank = not self._text[head.body : end].strip()
        if is_blank or head.is_item or head.quotes != self._quotes:
            self._end_paragraph()
        self._follow_quote(head, end)
        if is_blank:
            return line + 1
        if head.is_item:
            self._in_list = True
        elif not self._text[start].isspace():
            self._in_list = False
        for read in (self._fence, self._heading, self._rule, self._table, self._indented):
            if (after := read(line, head)) is not None:
                return after
        self._is_item = head.is_item or (self._is_item and bool(self._paragraph))
        self._paragraph.append((head.body, end))
        return line + 1

    def _head(self, start: int, end: int) -> _Head:
        body, quotes, is_item, quote_start, is_new = start, 0, False, start, False
        for _ in range(_PREFIXES):
            if found := _QUOTE.match(self._text, body, end):
                if not quotes:
                    quote_start, is_new = body, is_item
                quotes += 1
                self._notes.hide(body, found.end())
            elif (found := _ITEM.match(self._text, body, end)) and not _RULE.match(self._text, body, end):
                is_item = True
                self._show_marker(found)
            else:
                break
            body = found.end()
        return _Head(body, quotes, is_item, quote_start, is_new)

    def _show_marker(self, found: re.Match[str]) -> None:
        if found["box"]:
            at = found.start("bullet") if found["bullet"] else found.start("box") - 1
            self._notes.hide(at, found.end(), _BOXES[found["box"]])
        elif found["bullet"]:
            self._notes.hide(found.start("bullet"), found.end(), "• ")

    def _follow_quote(self, head: _Head, end: int) -> None:
        self._quotes = head.quotes
        if self._quote and head.quotes and not head.is_new_quote:
            self._quote = (self._quote[0], end)
        else:
            self._end_quote()
            self._quote = (head.quote_start, end) if head.quotes else None

    def _extend_quote(self, end: int) -> None:
        if self._quote:
            self._quote = (self._quote[0], end)

    def _end_quote(self) -> None:
        if self._quote:
            self._notes.mark(*self._quote, ("blockquote", ""))
        self._quote = None

    def _unquoted(self, line: int, quotes: int) -> int | None:
        """Where the line begins behind `quotes` quote signs; None when it has fewer."""
        position, end = self._lines[line]
        for _ in range(quotes):
            found = _QUOTE.match(self._text, position, end)
            if found is None:
                return None
            position = found.end()
        return position

    def _fence(self, line: int, head: _Head) -> int | None:
        found = _FENCE.match(self._text, head.body, self._lines[line][1])
        if found is None:
            return None
        self._end_paragraph()
        bodies, is_closed = self._fenced_lines(line + 1, head.quotes, found["marker"])
        after = line + 1 + len(bodies) + is_closed
        self._extend_quote(self._lines[after - 1][1])
        base = self._unquoted(line, head.quotes)
        indent = 0 if base is None else found.start("marker") - base
        for (start, end), body in zip(self._lines[line + 1 : line + 1 + len(bodies)], bodies, strict=True):
            self._notes.hide(start, body)
            self._unindent(body, end, indent)
        if bodies and self._text[bodies[0] : self._lines[line + len(bodies)][1]].strip():
            self._show_code(found, line, len(bodies), is_closed)
        elif is_closed:
            self._notes.hide(self._lines[after - 1][0], self._unquoted(after - 1, head.quotes) or 0)
        return after

    def _fenced_lines(self, first: int, quotes: int, marker: str) -> tuple[list[int], bool]:
        """Where the code begins in each line of a fence, and whether its closing line was found."""
        bodies: list[int] = []
        for line in range(first, len(self._lines)):
            body = self._unquoted(line, quotes)
            if body is None:
                break
            closing = self._text[body : self._lines[line][1]].strip()
            if closing.startswith(marker) and not closing.strip(marker[0]):
                return bodies, True
            bodies.append(body)
        return bodies, False

    def _show_code(self, found: re.Match[str], line: int, size: int, is_closed: bool) -> None:
        info = self._text[found.end() : self._lines[line][1]].strip()
        language = info.split(maxsplit=1)[0] if info else ""
        last = self._lines[line + size][1]
        if len(info) <= _INFO and (not language or _LANGUAGE.fullmatch(language)):
            code = self._lines[line + 1][0]
        else:
            code, language = found.end(), ""
        self._notes.hide(found.start(), code)
        self._notes.mark(code, last, ("pre", language))
        if is_closed:
            self._notes.hide(last, self._lines[line + size + 1][1])

    def _unindent(self, start: int, end: int, most: int) -> None:
        position = start
        while position < min(end, start + most) and self._text[position] == " ":
            position += 1
        self._notes.hide(start, position)

    def _heading(self, line: int, head: _Head) -> int | None:
        end = self._lines[line][1]
        if found := _HEADING.match(self._text, head.body, end):
            self._end_paragraph()
            written = self._text[found.end() : end].rstrip()
            title = written.rstrip("#")
            title = title.rstrip() if title[-1:].isspace() else written
            self._notes.hide(head.body, found.end())
            self._notes.hide(found.end() + len(title), end)
            self._title(found.end(), found.end() + len(title))
            return line + 1
        is_title = len(self._paragraph) == 1 and not self._is_item
        if is_title and _UNDERLINE.match(self._text, head.body, end):
            start, before = self._paragraph.pop()
            self._notes.hide(before, end)
            self._title(start, before)
            return line + 1
        return None

    def _title(self, start: int, end: int) -> None:
        self._notes.mark(start, end, BOLD)
        self._scan([(start, end)])

    def _rule(self, line: int, head: _Head) -> int | None:
        end = self._lines[line][1]
        if _RULE.match(self._text, head.body, end) is None:
            return None
        self._end_paragraph()
        self._notes.hide(head.body, end, _DRAWN_RULE)
        return line + 1

    def _table(self, line: int, head: _Head) -> int | None:
        end = self._lines[line][1]
        under = self._unquoted(line + 1, head.quotes) if line + 1 < len(self._lines) else None
        if under is None or not is_table(self._text[head.body : end], self._text[under : self._lines[line + 1][1]]):
            return None
        self._end_paragraph()
        rows = [(head.body, end), *self._rows(line + 1, head.quotes)]
        for number, (start, _) in enumerate(rows[1:], line + 1):
            self._notes.hide(self._lines[number][0], start)
        self._notes.mark(head.body, rows[-1][1], ("pre", ""))
        self._extend_quote(rows[-1][1])
        shown = align([self._text[start:end] for start, end in rows], width=self._reach)
        for (start, end), instead in zip(rows, shown or (), strict=False):
            self._notes.hide(start, end, instead)
        return line + len(rows)

    def _rows(self, first: int, quotes: int) -> list[tuple[int, int]]:
        rows: list[tuple[int, int]] = []
        for line in range(first, len(self._lines)):
            start, end = self._unquoted(line, quotes), self._lines[line][1]
            if start is None or (rows and "|" not in self._text[start:end]):
                break
            rows.append((start, end))
        return rows

    def _indented(self, line: int, head: _Head) -> int | None:
        if self._paragraph or self._in_list or head.is_item or head.quotes:
            return None
        after = line
        for number in range(line, len(self._lines)):
            start, end = self._lines[number]
            if found := _INDENT.match(self._text, start, end):
                self._notes.hide(start, found.end())
                after = number + 1
            elif self._text[start:end].strip():
                break
        if after == line:
            return None
        self._notes.mark(self._lines[line][0], self._lines[after - 1][1], ("pre", ""))
        return after

    def _end_paragraph(self) -> None:
        if self._paragraph:
            self._scan(self._paragraph)
            self._paragraph = []

    def _scan(self, segments: list[tuple[int, int]]) -> None:
        """Inline notes on segments that are read as one text; their offsets are moved back to the source."""
        joined = "\n".join(self._text[start:end] for start, end in segments)
        notes = inline(joined, reach=self._reach)
        if not notes.edits and not notes.spans:
            return
        origins, length = [], 0
        for start, end in segments:
            origins.append(length)
            length += end - start + 1

        def source(offset: int) -> int:
            index = bisect_right(origins, offset) - 1
            return segments[index][0] + offset - origins[index]

        for start, end, shown in notes.edits:
            self._notes.hide(source(start), source(end - 1) + 1, shown)
        for start, end, mark in notes.spans:
            self._notes.mark(source(start), source(end - 1) + 1, mark)
