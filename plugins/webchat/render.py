"""A piece as the page gets it: Markdown, which the page makes into text nodes, and files as links."""

import json
import re

from core.delivery import Payload, Piece
from core.parts import Data, File, Part, Text

ENTRY_LIMIT = 32 * 1024  # characters in one entry; a longer answer becomes several
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)", re.MULTILINE)
_CLOSING = 16  # characters kept free for closing and opening a fence


def payloads_of(piece: Piece) -> tuple[Payload, ...]:
    """`{"markdown": text}` for each entry; the last one also has `files`, where there are any."""
    words = "\n\n".join(text for text in map(_words, _joined(piece.parts)) if text.strip())
    files = [_file(part) for part in piece.parts if isinstance(part, File)]
    payloads: list[Payload] = [{"markdown": text} for text in split(words)]
    if files:
        payloads = payloads or [{"markdown": ""}]
        payloads[-1] = payloads[-1] | {"files": files}
    return tuple(payloads)


def split(text: str, limit: int = ENTRY_LIMIT) -> list[str]:
    """The text in parts of at most `limit` characters, cut between paragraphs, lines or words; fences stay whole."""
    parts: list[str] = []
    opening = ""
    rest = text.strip("\n") if text.strip() else ""
    while rest:
        room = limit - len(opening) - (_CLOSING if len(rest) + len(opening) > limit else 0)
        cut = len(rest) if len(rest) <= room else _cut(rest, room)
        part, rest = opening + rest[:cut].rstrip("\n"), rest[cut:].lstrip("\n")
        fence = _open_fence(part)
        if rest and fence:
            part += f"\n{fence}"
        opening = f"{fence}\n" if fence else ""
        parts.append(part)
    return parts


def _joined(parts: tuple[Part, ...]) -> list[Part]:
    """Neighbouring texts are one text: chunks of an artifact are not paragraphs."""
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, Text) and joined and isinstance(joined[-1], Text):
            joined[-1] = Text(joined[-1].text + part.text)
        else:
            joined.append(part)
    return joined


def _words(part: Part) -> str:
    match part:
        case Text(text):
            return text
        case Data(value):
            return f"```json\n{json.dumps(value, ensure_ascii=False, indent=2)}\n```"
        case File():
            return ""


def _file(file: File) -> dict[str, object]:
    return {"name": file.name or "file", "media_type": file.media_type, "url": file.url, "size": file.size}


def _cut(text: str, room: int) -> int:
    """The last good place in the first `room` characters; a hard cut only where there is no space at all."""
    for border in ("\n\n", "\n", " "):
        at = text.rfind(border, room // 2, room)
        if at > 0:
            return at + len(border)
    return room


def _open_fence(text: str) -> str:
    """The fence that is open at the end of the text, "" for none."""
    fence = ""
    for match in _FENCE.finditer(text):
        if not fence:
            fence = match[1]
        elif match[1].startswith(fence):
            fence = ""
    return fence
