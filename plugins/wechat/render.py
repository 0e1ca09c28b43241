"""A piece as WeChat shows it: plain words, split once, by the bytes that the platform counts.

WeChat shows no Markdown. Marks that would stand bare in the chat are taken away, and what carries meaning is kept:
code as it is, list points, and where a link leads. Nothing is cut off: a long answer becomes several messages, each
within the limit, which together are the whole text.

Each pattern stops at the next mark of its own kind, so that looking for an end that is not there costs no more than the
way to the next beginning: what an agent writes, however long and odd, holds nobody up.
"""

import json
import re

import regex

from core.delivery import Payload, Piece
from core.files import id_of
from core.parts import Data, File, Part, Text, text_of
from plugins.wechat.media import Kind, kind_of
from plugins.wechat.xml import clean

TEXT_LIMIT = 2048  # bytes of UTF-8 in a text message (customer-service messages, 45002 above)
MARKS = 48  # bytes kept free for what a sent part may be prefixed with
PART_LIMIT = TEXT_LIMIT - MARKS
NOT_SHOWN = " (cannot be shown here / 此处无法显示)"
DATA_LIMIT = 1500  # characters of JSON
CLUSTER = 64  # code points that are looked at around a cut; the longest known emoji has ten

_FENCE = re.compile(r"^ {0,3}(```+|~~~+)[^\n]*\n?(.*?)(?:^ {0,3}\1[`~]*[ \t]*$\n?|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
_IMAGE_OR_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\(([^\s()]+(?:\([^\s()]*\)[^\s()]*)*)(?:\s+\"[^\"\n]*\")?\)")
_BOLD = re.compile(r"(?<![\w*])(\*\*\*?|___?)(?=\S)((?:(?!\1).)+)(?<=\S)\1(?![\w*])", re.DOTALL)
_BOLD_WITHIN = re.compile(r"(\*\*)(?=\S)([^*\n]+?)(?<=\S)\*\*")
_ITALIC = re.compile(r"(?<![\w*_])([*_])(?=\S)([^*_\n]+?)(?<=\S)\1(?![\w*_])")
_STRUCK = re.compile(r"~~(?=\S)((?:(?!~~)[^\n])+)(?<=\S)~~")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$", re.MULTILINE)
_POINT = re.compile(r"^([ \t]*)[*+-][ \t]+", re.MULTILINE)
_RULE = re.compile(r"^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$", re.MULTILINE)
_QUOTE = re.compile(r"^ {0,3}> ?", re.MULTILINE)
_URL = re.compile(r"https?://\S+")
_CLUSTERS = regex.compile(r"\X")
_HELD = re.compile("\ue000(\\d+)\ue001")
_BORDERS = ("\n\n", "\n", "。", "！", "？", ". ", "，", " ")


def payloads_of(piece: Piece) -> tuple[Payload, ...]:
    """`{"text": words}` for each message, with a `file` where it is one that the platform shows; () for nothing.

    One message with choices has a `menu` too: what stands above its lines, and these as they are to be written.
    """
    payloads: list[Payload] = []
    run: list[Part] = []
    for part in piece.parts:
        kind = kind_of(part) if isinstance(part, File) else None
        if isinstance(part, File) and kind is not None:
            payloads += [*_texts(run), _shown(part, kind)]
            run = []
        else:
            run.append(part)
    payloads += _texts(run)
    if piece.choices and [*payloads[0]] == ["text"] and len(payloads) == 1:
        head = text_of(piece.parts).removesuffix("\n".join(piece.choices))
        payloads[0]["menu"] = {"head": text_of_parts((Text(head),)), "lines": list(piece.choices)}
    return tuple(payloads)


def _shown(file: File, kind: Kind) -> Payload:
    named = {"kind": kind.name, "id": id_of(file.content or b""), "type": file.media_type, "name": _label(file)}
    return {"text": _words(file), "file": named}


def _texts(parts: list[Part]) -> list[Payload]:
    return [{"text": part} for part in split(text_of_parts(tuple(parts)))]


def text_of_parts(parts: tuple[Part, ...]) -> str:
    """Texts are joined as they are, since chunks of one artifact are; everything else stands apart."""
    blocks: list[str] = []
    was_text = False
    for part in parts:
        is_text = isinstance(part, Text)
        if is_text and was_text:
            blocks[-1] += _words(part)
        else:
            blocks.append(_words(part))
        was_text = is_text
    shown = [degraded(block) if isinstance(part, Text) else block for block, part in _paired(blocks, parts)]
    return "\n\n".join(cleaned for block in shown if (cleaned := clean(block)).strip()).strip("\n")


def degraded(markdown: str) -> str:
    """The words without marks that WeChat would show as they are."""
    kept: list[str] = []

    def keep(text: str) -> str:
        kept.append(text)
        return f"\ue000{len(kept) - 1}\ue001"

    text = markdown.replace("\ue000", "").replace("\ue001", "")
    text = _FENCE.sub(lambda match: keep(match[2].rstrip("\n")) + "\n", text)
    text = _CODE.sub(lambda match: keep(match[2]), text)
    text = _IMAGE_OR_LINK.sub(lambda match: keep(_led(match[1], match[2])), text)
    text = _URL.sub(lambda match: keep(match[0]), text)
    text = _RULE.sub("——", text)
    text = _HEADING.sub(r"\1", text)
    text = _POINT.sub(r"\1• ", text)
    text = _QUOTE.sub("", text)
    for marks in (_BOLD, _BOLD_WITHIN, _ITALIC):
        text = marks.sub(r"\2", text)
    text = _STRUCK.sub(r"\1", text)
    while _HELD.search(text):
        text = _HELD.sub(lambda match: kept[int(match[1])], text)
    return text


def split(text: str, limit: int = PART_LIMIT) -> list[str]:
    """The text in parts of at most `limit` bytes, which joined are the text; no character is cut."""
    parts: list[str] = []
    rest = text if text.strip() else ""
    while rest:
        cut = _cut(rest, limit)
        parts.append(rest[:cut])
        rest = rest[cut:]
    return [part for part in parts if part.strip()]


def _paired(blocks: list[str], parts: tuple[Part, ...]) -> list[tuple[str, Part]]:
    firsts = [part for n, part in enumerate(parts) if n == 0 or not (_is_text(part) and _is_text(parts[n - 1]))]
    return list(zip(blocks, firsts, strict=True))


def _is_text(part: Part) -> bool:
    return isinstance(part, Text)


def _words(part: Part) -> str:
    match part:
        case Text(text):
            return text
        case File(url=url):
            where = f"\n{url}" if url.startswith(("http://", "https://")) else NOT_SHOWN
            return f"📎 {_label(part)}{where}"
        case Data(value):
            text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
            return text if len(text) <= DATA_LIMIT else text[:DATA_LIMIT] + "\n…"


def _label(file: File) -> str:
    return " ".join(clean(file.name).split())[:200] or file.media_type or "file"


def _led(label: str, url: str) -> str:
    """Where a link leads stands in the chat, so that everybody sees it."""
    return url if label.strip() in ("", url) else f"{label} ({url})"


def _cut(text: str, limit: int) -> int:
    """How many characters make the next part: to a good border in its second half, else to a whole character."""
    most = _fitting(text, limit)
    if most == len(text):
        return most
    for border in _BORDERS:
        at = text.rfind(border, most // 2, most)
        if at >= 0:
            return at + len(border)
    return _whole(text, most)


def _fitting(text: str, limit: int) -> int:
    """The most characters whose UTF-8 fits."""
    head = text[:limit].encode("utf-8", "replace")
    return len(text[:limit]) if len(head) <= limit else len(head[:limit].decode("utf-8", "ignore"))


def _whole(text: str, most: int) -> int:
    """Back to where a character as people see it ends (an emoji of several code points), unless it is too long."""
    begin = max(0, most - CLUSTER)
    ends = [match.end() for match in _CLUSTERS.finditer(text, begin, most + CLUSTER)]
    return max((end for end in ends if end <= most), default=most) or most
