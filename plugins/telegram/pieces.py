"""A piece as Markdown: its words as they are, its files as names with their links, its data as fenced JSON."""

import json
import re
from urllib.parse import urlsplit

from core.delivery import Payload, Piece
from core.parts import Data, File, Text
from plugins.telegram.render import render_markdown

NAME_LIMIT = 200  # characters of a file's name
URL_LIMIT = 2048  # characters
DATA_LIMIT = 3500  # characters of JSON; one message
_MARKUP = re.compile(r"[*_`\[\]<>~|\\]")


def payloads_of(piece: Piece) -> tuple[Payload, ...]:
    """The messages for the piece, () when it shows nothing (TG-16); stored by the host until `Outgoing` reads them."""
    return tuple({"html": part.html, "plain": part.plain} for part in render_markdown(markdown_of(piece)))


def markdown_of(piece: Piece) -> str:
    """Texts are joined as they are, since chunks of one artifact are; everything else stands apart."""
    text = ""
    was_text = True
    for part in piece.parts:
        is_text = isinstance(part, Text)
        block = _block(part)
        if text and block and not (is_text and was_text):
            text = text.rstrip("\n") + "\n\n"
        text += block
        was_text = is_text
    return text


def _block(part: Text | File | Data) -> str:
    match part:
        case Text(text):
            return text
        case File():
            return _link(part)
        case Data(value):
            return _fenced(value)


def _link(file: File) -> str:
    """The URL stands bare below the name, so that everybody sees where it leads; other schemes are not passed on."""
    name = " ".join(file.name.split())[:NAME_LIMIT] or file.media_type or "file"
    if _MARKUP.search(name):
        name = f"`{name.replace('`', chr(39))}`"
    return f"📎 {name}\n{file.url}" if _is_web(file.url) else f"📎 {name}"


def _is_web(url: str) -> bool:
    if len(url) > URL_LIMIT or not url.isprintable() or any(character in ' <>"' for character in url):
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def _fenced(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    if len(text) > DATA_LIMIT:
        text = text[:DATA_LIMIT] + "\n…"
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}json\n{text}\n{fence}"
