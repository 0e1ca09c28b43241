"""One answer as the messages Telegram will take: the only renderer, for previews, finals and edits alike.

Markdown becomes Telegram HTML (never the legacy Markdown mode, which eats underscores, and never MarkdownV2, whose
escapes would be seen when a message is sent again as plain text). Notes on the source (`markdown`, `inline`) are cut
once (`split`) and each part is rendered by itself, its tags closed and opened again. Beside the HTML stands the part's
own stretch of the source, untouched: that is what a person reads when Telegram refuses the entities, and nothing is
missing from it. Pure and deterministic.
"""

import html
import re
from bisect import bisect_right
from collections.abc import Sequence

import regex

from core.values import value
from plugins.telegram.inline import Mark
from plugins.telegram.markdown import annotate
from plugins.telegram.split import Stretch, cuts, stretches, units

TEXT_LIMIT = 4096  # UTF-16 code units after entity parsing (Bot API, sendMessage)
HTML_BYTES = 32_000  # the server refuses raw text above 32,768 bytes before it parses (telegram-bot-api, Client.cpp)
LEAST_LIMIT = 64  # below it a part could not hold one replaced line
PARSED_CHARS = 128 * 1024  # a longer text is sent as written: reading it would hold up the other chats

# Text without any of these cannot hold markup, so nothing is parsed. Most has none of the characters either, which is
# found out at a tenth of an expression's cost.
_MARKS = "\\`*_[|~<&"
_MARKUP = re.compile(r"[\\`*_\[|]|~~|<[A-Za-z]|&[#A-Za-z]")
_LINE_MARKUP = re.compile(r"^[ \t]*(?:\d{1,9}[.)][ \t]+)*(?:[-+>#]|={3}|~{3})|^(?: {4}| {0,3}\t)", re.MULTILINE)
# Characters that some parse mode of Telegram's reserves. Where they stand in a text without formatting, HTML is stated
# although plain would do, so that no default of the server in between may read them as markup.
_RESERVED = "-_*[]()~`#+=|{}.!\\"
_INK = re.compile(r"[!-~]")  # any of these is seen
# Telegram takes a message of nothing but these for empty.
_BLANK = regex.compile(r"[\s\p{Cc}\p{Cf}\u115f\u1160\u2800\u3164\ufffc]*")


@value(frozen=True, slots=True)
class RenderedText:
    """One message. `html` (parse_mode="HTML") is None when the part has no formatting worth sending or would be too
    large with it; `plain` is the source as written, sent without parse_mode then and whenever entities are refused."""

    html: str | None
    plain: str


def render_markdown(text: str, *, limit: int = TEXT_LIMIT) -> tuple[RenderedText, ...]:
    """The messages for one text, in order; none for a text that shows nothing.

    `limit` counts UTF-16 code units of the visible text (4096 for a message, 1024 for a caption) and holds for `plain`
    as well. Parts that would show nothing are left out, otherwise their `plain` joins to the text (line ends as "\\n"
    when there is markup). Raises ValueError for a limit below 64.
    """
    if limit < LEAST_LIMIT:
        raise ValueError(f"a message limit of {limit} cannot hold text; the least is {LEAST_LIMIT}")
    text = _encodable(text)
    if _is_blank(text):
        return ()
    if len(text) > PARSED_CHARS or not _may_hold_markup(text):
        return _as_written(text, limit)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    reach = limit // 4
    parts = stretches(text, annotate(text, reach=reach), reach=reach)
    starts = [part.start for part in parts]
    rendered = []
    for start, end in cuts(text, parts, limit):
        message = _message(text, parts[bisect_right(starts, start) - 1 :], start, end)
        if message is not None:
            rendered.append(message)
    return tuple(rendered) or _as_written(text, limit)


def _may_hold_markup(text: str) -> bool:
    if _has_any(_MARKS, text) and _MARKUP.search(text):
        return True
    return (_LINE_MARKUP.search(text) if "\n" in text else _LINE_MARKUP.match(text)) is not None


def _has_any(marks: str, text: str) -> bool:
    return any(mark in text for mark in marks)


def _encodable(text: str) -> str:
    """The text with lone surrogates replaced: they cannot be sent as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _is_blank(text: str) -> bool:
    return _INK.search(text) is None and _BLANK.fullmatch(text) is not None


def _as_written(text: str, limit: int) -> tuple[RenderedText, ...]:
    if len(text) <= limit and units(text) <= limit:
        return (RenderedText(_stated(text), text),)
    whole = (Stretch(0, len(text), None, ()),)
    pieces = (text[start:end] for start, end in cuts(text, whole, limit))
    return tuple(RenderedText(_stated(piece), piece) for piece in pieces if not _is_blank(piece))


def _stated(text: str) -> str | None:
    """Unformatted text as HTML where that changes nothing, see _RESERVED."""
    is_same = not ("<" in text or ">" in text or "&" in text)
    return text if is_same and _has_any(_RESERVED, text) else None


def _message(text: str, parts: Sequence[Stretch], start: int, end: int) -> RenderedText | None:
    shown: list[tuple[str, tuple[Mark, ...]]] = []
    for part in parts:
        if part.start >= end:
            break
        piece = text[max(start, part.start) : min(end, part.end)] if part.shown is None else part.shown
        if piece:
            shown.append((piece, part.marks))
    visible = "".join(piece for piece, _ in shown)
    if _is_blank(visible):
        return None
    plain = text[start:end]
    if visible == plain and not any(marks for _, marks in shown):
        return RenderedText(_stated(plain), plain)
    markup = _html(shown)
    return RenderedText(markup if len(markup.encode()) <= HTML_BYTES else None, plain)


def _html(shown: Sequence[tuple[str, tuple[Mark, ...]]]) -> str:
    written: list[str] = []
    opened: tuple[Mark, ...] = ()
    for piece, marks in (*shown, ("", ())):
        if marks != opened:
            common = 0
            while common < min(len(opened), len(marks)) and opened[common] == marks[common]:
                common += 1
            written.extend(_closing(mark) for mark in reversed(opened[common:]))
            written.extend(_opening(mark) for mark in marks[common:])
            opened = marks
        written.append(html.escape(piece, quote=False))
    return "".join(written)


def _opening(mark: Mark) -> str:
    tag, attribute = mark
    if tag == "a":
        return f'<a href="{html.escape(attribute)}">'
    if tag == "pre" and attribute:
        return f'<pre><code class="language-{html.escape(attribute)}">'
    return f"<{tag}>"


def _closing(mark: Mark) -> str:
    tag, attribute = mark
    return "</code></pre>" if tag == "pre" and attribute else f"</{tag}>"
