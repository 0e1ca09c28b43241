"""What people and agents say, in the three kinds every channel and A2A share: text, files, data."""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import Any

from core.values import value


@value(frozen=True, slots=True)
class Text:
    text: str


@value(frozen=True, slots=True)
class File:
    """A file: `url` as the sender gave it, never fetched by itself, or its very bytes."""

    name: str
    media_type: str
    url: str = ""
    size: int | None = None  # bytes; None where the sender did not say
    content: bytes | None = None  # None: by reference only


@value(frozen=True, slots=True)
class Data:
    value: Any  # any JSON value, null included


Part = Text | File | Data


def text_of(parts: Iterable[Part]) -> str:
    """The words in the parts, in order, without separators (chunks of one artifact are concatenated verbatim)."""
    return "".join(part.text for part in parts if isinstance(part, Text))


def part_to_json(part: Part) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"text": text}
        case File(name, media_type, url, size, content):
            file: dict[str, Any] = {"name": name, "media_type": media_type, "url": url, "size": size}
            if content is not None:
                file["content"] = b64encode(content).decode()
            return {"file": file}
        case Data(value):
            return {"data": value}


def part_from_json(value: Mapping[str, Any]) -> Part:
    if "text" in value:
        return Text(value["text"])
    if "file" in value:
        file = value["file"]
        content = file.get("content")
        return File(**{**file, "content": None if content is None else b64decode(content)})
    return Data(value["data"])
