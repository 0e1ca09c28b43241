"""Markdown inside one paragraph: emphasis, code spans, links, escapes, entities.

The scanner does not produce a new text but *notes* on the one it reads: which ranges are markup to hide or replace
(edits), and which carry formatting (spans). With exact offsets a text can be cut anywhere and each cut still has both
a formatted and a verbatim form. The rules are CommonMark 0.31's (delimiter runs, rule of three, bracket stack), which
are linear in the length of the text; no step looks further than the next candidate. Three deviations serve chats:
underscores and tildes inside a bare URL are never markup, emphasis may touch CJK letters without a space between, and
reference links stay as written.
"""

import html
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field

from core.values import value

Mark = tuple[str, str]  # (Telegram tag, attribute: a link's target, a code block's language, or "")
Edit = tuple[int, int, str]  # [start, end) is shown as the text given; "" hides it
Span = tuple[int, int, Mark]  # [start, end) carries the mark

BOLD, ITALIC, STRIKE, CODE = ("b", ""), ("i", ""), ("s", ""), ("code", "")

_STOP = re.compile(r"[\\`*_~\[\]!<&]|://")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_TICKS = re.compile(r"`+")
# Every alternative starts with another character, so that a failed match never tries one stretch in two ways.
_TARGET = re.compile(
    r"""\([ \t]*\n?[ \t]*
        (?:<(?P<angle>[^<>\n]*)>|(?P<bare>(?:[^\s()<>\\]|\\.|\((?:[^\s()<>\\]|\\.)*\))+))
        (?:[ \t]*\n?[ \t]*(?<=\s)(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\)))?
        [ \t]*\n?[ \t]*\)""",
    re.VERBOSE,
)
_AUTOLINK = re.compile(r"<([A-Za-z][A-Za-z0-9+.\-]{1,31}:[^\s<>]*|[\w.!#$%&'*+/=?^{|}~\-]+@[\w\-]+(?:\.[\w\-]+)*)>")
_ENTITY = re.compile(r"&(?:#[xX][0-9a-fA-F]{1,6}|#[0-9]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});")
_URL_REST = re.compile(r"""://[^\s<>\[\]`*\\"]*[^\s<>\[\]`*\\"_~.,;:!?)']""")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
# Telegram drops a link whose host has no dot, and its target would be lost with it.
_ALLOWED = re.compile(r"(?:https?://[^\s/?#]*[.\]][^\s/?#]*(?:[/?#]\S*)?|(?:tg|mailto|tel):\S+)", re.IGNORECASE)


@dataclass(slots=True)
class Notes:
    """Edits and spans in the offsets of one text; in no particular order."""

    edits: list[Edit] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)

    def hide(self, start: int, end: int, shown: str = "") -> None:
        if start < end:
            self.edits.append((start, end, shown))

    def mark(self, start: int, end: int, mark: Mark) -> None:
        if start < end:
            self.spans.append((start, end, mark))


def inline(text: str, *, reach: int) -> Notes:
    """The notes on one paragraph. A link whose target takes more than `reach` characters stays as written, since a
    cut cannot fall into hidden text."""
    return _Scanner(text, reach).run()


@dataclass(slots=True)
class _Run:
    """A run of one delimiter character; shrinks from the inner side as pairs are found."""

    char: str
    start: int
    end: int
    size: int
    opens: bool
    closes: bool


@value(frozen=True, slots=True)
class _Bracket:
    start: int
    end: int  # where the label begins
    runs: int  # how many delimiter runs stood before it
    is_image: bool


class _Scanner:
    def __init__(self, text: str, reach: int) -> None:
        self._text = text
        self._reach = reach
        self._notes = Notes()
        self._runs: list[_Run] = []
        self._brackets: list[_Bracket] = []
        self._dead = 0  # brackets below this index would make a link around a link
        self._ticks: dict[int, list[int]] | None = None

    def run(self) -> Notes:
        steps: dict[str, Callable[[int], int]] = {
            "\\": self._escape,
            "`": self._code,
            "*": self._delimiters,
            "_": self._delimiters,
            "~": self._delimiters,
            "[": self._open,
            "!": self._open,
            "]": self._close,
            "<": self._autolink,
            "&": self._entity,
            "://": self._bare_url,
        }
        position = 0
        while found := _STOP.search(self._text, position):
            position = steps[found[0]](found.start())
        self._pair(0)
        return self._notes

    def _escape(self, at: int) -> int:
        follower = self._text[at + 1 : at + 2]
        if follower in _PUNCTUATION or follower == "\n":
            self._notes.hide(at, at + 1)
            return at + 2
        return at + 1

    def _code(self, at: int) -> int:
        text = self._text
        end = _run_end(text, at)
        close = self._closing_ticks(end - at, end)
        if close is None:
            return end
        inner = text[end:close]
        pad = inner[0] in " \n" and inner[-1] in " \n" and not inner.isspace()
        self._notes.hide(at, end + pad)
        self._notes.hide(close - pad, close + (end - at))
        self._notes.mark(end + pad, close - pad, CODE)
        return close + (end - at)

    def _closing_ticks(self, length: int, after: int) -> int | None:
        if self._ticks is None:
            self._ticks = {}
            for found in _TICKS.finditer(self._text):
                self._ticks.setdefault(len(found[0]), []).append(found.start())
        places = self._ticks.get(length, [])
        index = bisect_left(places, after)
        return places[index] if index < len(places) else None

    def _delimiters(self, at: int) -> int:
        char = self._text[at]
        end = _run_end(self._text, at)
        # One tilde means "about"; three or more open a fence or a drawing.
        if char != "~" or end - at == 2:
            opens, closes = _flanking(self._text, at, end)
            if opens or closes:
                self._runs.append(_Run(char, at, end, end - at, opens, closes))
        return end

    def _open(self, at: int) -> int:
        is_image = self._text[at] == "!"
        if is_image and self._text[at + 1 : at + 2] != "[":
            return at + 1
        end = at + 1 + is_image
        self._brackets.append(_Bracket(at, end, len(self._runs), is_image))
        return end

    def _close(self, at: int) -> int:
        if not self._brackets:
            return at + 1
        opener = self._brackets.pop()
        is_dead = not opener.is_image and len(self._brackets) < self._dead
        self._dead = min(self._dead, len(self._brackets))
        found = None if is_dead else _TARGET.match(self._text, at + 1, at + self._reach)
        if found is None:
            return at + 1
        url = _target(found["angle"] if found["bare"] is None else found["bare"])
        if url is None:
            return at + 1
        self._link(opener, at, found.end(), url)
        return found.end()

    def _link(self, opener: _Bracket, close: int, end: int, url: str) -> None:
        self._pair(opener.runs)
        if self._text[opener.end : close].isspace() or opener.end == close:
            self._notes.hide(opener.start, end, url)
            self._notes.mark(opener.start, end, ("a", url))
        else:
            self._notes.hide(opener.start, opener.end)
            self._notes.hide(close, end)
            self._notes.mark(opener.end, close, ("a", url))
        if not opener.is_image:
            self._dead = len(self._brackets)

    def _autolink(self, at: int) -> int:
        found = _AUTOLINK.match(self._text, at)
        if found is None:
            return at + 1
        inner = found[1]
        is_address = ":" not in inner or "@" in inner.partition(":")[0]
        url = f"mailto:{inner}" if is_address else inner
        if len(inner) <= self._reach and _ALLOWED.fullmatch(url):
            self._notes.hide(at, at + 1)
            self._notes.hide(found.end() - 1, found.end())
            self._notes.mark(at + 1, found.end() - 1, ("a", url))
        return found.end()

    def _entity(self, at: int) -> int:
        found = _ENTITY.match(self._text, at)
        if found is None:
            return at + 1
        meant = html.unescape(found[0])
        if meant and meant != found[0]:
            self._notes.hide(at, found.end(), meant)
        return found.end()

    def _bare_url(self, at: int) -> int:
        found = _URL_REST.match(self._text, at) if at and self._text[at - 1].isalnum() else None
        return found.end() if found else at + 3

    def _pair(self, base: int) -> None:
        """Match openers and closers among the runs from `base` on, and forget those runs."""
        openers: list[_Run] = []
        floor: dict[tuple[str, bool, int], int] = {}  # below this height no opener fits such a closer
        for run in self._runs[base:]:
            key = (run.char, run.opens, run.size % 3)
            while run.closes and run.start < run.end:
                index = _opener_for(run, openers, floor.get(key, 0))
                if index is None:
                    floor[key] = len(openers)
                    break
                self._join(openers[index], run)
                del openers[index + (openers[index].start < openers[index].end) :]
                for other, height in floor.items():
                    floor[other] = min(height, len(openers))
            if run.opens and run.start < run.end:
                openers.append(run)
        del self._runs[base:]

    def _join(self, opener: _Run, closer: _Run) -> None:
        used = 2 if min(opener.end - opener.start, closer.end - closer.start) >= 2 else 1
        mark = STRIKE if closer.char == "~" else BOLD if used == 2 else ITALIC
        self._notes.mark(opener.end, closer.start, mark)
        self._notes.hide(opener.end - used, opener.end)
        self._notes.hide(closer.start, closer.start + used)
        opener.end -= used
        closer.start += used


def _run_end(text: str, at: int) -> int:
    end = at + 1
    while text.startswith(text[at], end):
        end += 1
    return end


def _opener_for(closer: _Run, openers: list[_Run], floor: int) -> int | None:
    for index in range(len(openers) - 1, floor - 1, -1):
        opener = openers[index]
        if opener.char != closer.char:
            continue
        # CommonMark 0.31, 6.2, rules 9 and 10.
        is_ambiguous = closer.opens or opener.closes
        if closer.char == "~" or not is_ambiguous or (opener.size + closer.size) % 3 or not closer.size % 3:
            return index
    return None


def _flanking(text: str, start: int, end: int) -> tuple[bool, bool]:
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    space_before, space_after = before.isspace(), after.isspace()
    punct_before, punct_after = _is_punctuation(before), _is_punctuation(after)
    left = not space_after and (not punct_after or space_before or punct_before or _is_cjk(before))
    right = not space_before and (not punct_before or space_after or punct_after or _is_cjk(after))
    if text[start] != "_":
        return left, right
    return left and (not right or punct_before), right and (not left or punct_after)


def _is_punctuation(char: str) -> bool:
    return char in _PUNCTUATION or (char > "\x7f" and unicodedata.category(char)[0] in "PS")


def _is_cjk(char: str) -> bool:
    """Scripts that are written without spaces, where `**注意：**请` means emphasis though CommonMark says no."""
    return (
        "\u2e80" <= char <= "\u9fff"
        or "\uac00" <= char <= "\ud7af"
        or "\uf900" <= char <= "\ufaff"
        or char > "\U0001ffff"
    )


def _target(written: str) -> str | None:
    url = html.unescape(_ESCAPED.sub(r"\1", written)).strip().replace(" ", "%20")
    return url if _ALLOWED.fullmatch(url) else None
