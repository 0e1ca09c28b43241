"""Telegram's HTML, parsed as strictly as the Bot API does it: visible text and entities, or "can't parse entities".

The rules follow td's `parse_html`: a fixed set of tags, every `<` opens a tag, tags close in order, only the references
`&lt; &gt; &amp; &quot;` and numeric ones are decoded, offsets count UTF-16 code units. The error texts are the server's
own, because clients match on them.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.telegram_wire import bad_request

KINDS = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "tg-spoiler": "spoiler",
    "span": "spoiler",
    "code": "code",
    "pre": "pre",
    "a": "text_link",
    "blockquote": "blockquote",
    "tg-emoji": "custom_emoji",
}
NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
REFERENCE = re.compile(r"&(?:#([0-9]{1,8})|#[xX]([0-9a-fA-F]{1,8})|([a-z]+));?")
TAG_NAME = re.compile(r"[^\s>]*")
ATTRIBUTE = re.compile(r"\s*([^\s=>]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([A-Za-z0-9.\-]+)))?")
TAG_END = re.compile(r"\s*>")


def utf16_length(text: str) -> int:
    """Length in the unit of Telegram's limits and offsets."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(slots=True)
class _Open:
    tag: str
    offset: int  # UTF-16 units
    attributes: dict[str, str]


@dataclass(slots=True)
class _Reader:
    source: str
    position: int = 0
    offset: int = 0  # UTF-16 units of text read so far
    text: list[str] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    entities: list[dict[str, Any]] = field(default_factory=list)

    def read(self) -> tuple[str, list[dict[str, Any]]]:
        while self.position < len(self.source):
            character = self.source[self.position]
            if self.source.startswith("</", self.position):
                self._end_tag()
            elif character == "<":
                self._start_tag()
            elif character == "&":
                self._reference()
            else:
                self._plain(character, 1)
        if self.stack:
            raise self._refuse(f'Can\'t find end tag corresponding to start tag "{self.stack[-1].tag}"')
        self.entities.sort(key=lambda entity: (entity["offset"], -entity["length"]))
        return "".join(self.text), self.entities

    def _plain(self, text: str, consumed: int) -> None:
        self.text.append(text)
        self.offset += utf16_length(text)
        self.position += consumed

    def _reference(self) -> None:
        found = REFERENCE.match(self.source, self.position)
        decoded = _decode(found) if found else None
        if found is None or decoded is None:
            self._plain("&", 1)
        else:
            self._plain(decoded, len(found.group()))

    def _start_tag(self) -> None:
        begin = self._byte()
        name = self._name(self.position + 1).lower()
        if name not in KINDS:
            raise self._refuse(f'Unsupported start tag "{name}" at byte offset {begin}')
        self.position += 1 + len(name)
        attributes = self._attributes(name, begin)
        if name == "span" and attributes.get("class") != "tg-spoiler":
            raise self._refuse(f'Tag "span" must have class "tg-spoiler" at byte offset {begin}')
        self.stack.append(_Open(name, self.offset, attributes))

    def _attributes(self, name: str, begin: int) -> dict[str, str]:
        attributes: dict[str, str] = {}
        while (end := TAG_END.match(self.source, self.position)) is None:
            found = ATTRIBUTE.match(self.source, self.position)
            if found is None or not found.group().strip():
                raise self._refuse(f'Unclosed start tag "{name}" at byte offset {begin}')
            value = next((group for group in found.groups()[1:] if group is not None), "")
            attributes[found.group(1).lower()] = REFERENCE.sub(lambda match: _decode(match) or match.group(), value)
            self.position = found.end()
        self.position = end.end()
        return attributes

    def _end_tag(self) -> None:
        begin = self._byte()
        name = self._name(self.position + 2)
        close = self.source.find(">", self.position)
        if not self.stack:
            raise self._refuse(f"Unexpected end tag at byte offset {begin}")
        opened = self.stack.pop()
        if close < 0:
            raise self._refuse(f'Unclosed end tag at byte offset {begin}, expected "</{opened.tag}>"')
        if name and name.lower() != opened.tag:
            raise self._refuse(
                f'Unmatched end tag at byte offset {begin}, expected "</{opened.tag}>", found "</{name}>"'
            )
        self.position = close + 1
        self._close(opened)

    def _close(self, opened: _Open) -> None:
        length = self.offset - opened.offset
        if length == 0 or (opened.tag == "code" and self._folds_into_pre(opened)):
            return
        entity: dict[str, Any] = {"type": KINDS[opened.tag], "offset": opened.offset, "length": length}
        if opened.tag == "a":
            url = opened.attributes.get("href", "")
            if not re.match(r"(?:https?|tg|ton|mailto|tel):", url):
                return
            entity["url"] = url
        if opened.tag == "pre" and opened.attributes.get("language"):
            entity["language"] = opened.attributes["language"]
        if opened.tag == "blockquote" and "expandable" in opened.attributes:
            entity["type"] = "expandable_blockquote"
        self.entities.append(entity)

    def _folds_into_pre(self, opened: _Open) -> bool:
        """`<pre><code class="language-x">` is one pre with a language."""
        parent = self.stack[-1] if self.stack else None
        if parent is None or parent.tag != "pre" or parent.offset != opened.offset:
            return False
        parent.attributes["language"] = opened.attributes.get("class", "").removeprefix("language-")
        return True

    def _name(self, start: int) -> str:
        found = TAG_NAME.match(self.source, start)
        return found.group() if found else ""

    def _byte(self) -> int:
        return len(self.source[: self.position].encode("utf-8", "surrogatepass"))

    @staticmethod
    def _refuse(reason: str) -> Exception:
        return bad_request(f"can't parse entities: {reason}")


def _decode(found: re.Match[str]) -> str | None:
    decimal, hexadecimal, name = found.groups()
    if name:
        return NAMED.get(name)
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else None


def parse_html(source: str) -> tuple[str, list[dict[str, Any]]]:
    """Visible text and entities; raises ApiError 400 with the server's text when the markup is not Telegram's."""
    return _Reader(source).read()


def trim(text: str, entities: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    """Blank ends removed as the server does it: leading ones only up to the first entity, so that code keeps them."""
    first = min((entity["offset"] for entity in entities), default=len(text))
    lead = min(len(text) - len(text.lstrip(" \n")), first)
    kept = text[lead:].rstrip(" \n\t\r")
    size = utf16_length(kept)
    moved = []
    for entity in entities:
        offset = entity["offset"] - lead
        length = min(entity["length"], size - offset)
        if length > 0:
            moved.append({**entity, "offset": offset, "length": length})
    return kept, moved
