"""What people and agents say, in the three kinds every channel and A2A share: text, files, data."""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from core.values import value


@value(frozen=True, slots=True)
class Text:
    text: str


@value(frozen=True, slots=True)
class File:
    """A file: `url` as the sender gave it, never fetched by itself, or its very bytes, here or kept by the gateway."""

    name: str
    media_type: str
    url: str = ""
    size: int | None = None  # bytes; None where the sender did not say
    content: bytes | None = None  # None: by reference only
    stored: str = ""  # the id under which the gateway keeps its bytes (core/files.py)


@value(frozen=True, slots=True)
class Data:
    value: Any  # any JSON value, null included


Part = Text | File | Data


@value(frozen=True, slots=True)
class Attached:
    """What a sender put beside a message's parts; kept with it, and handed on only as far as `passes` says."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    extensions: tuple[str, ...] = ()  # URIs
    references: tuple[str, ...] = ()  # ids of other work, as the channel names it
    passes: tuple[str, ...] = ()  # keys of the metadata, and extensions, that the agent gets too
    hops: int = 0  # gateways it passed through before this one, as far as they say so
    request: Mapping[str, Any] = field(default_factory=dict)  # metadata of the call that brought the message
    forwarded: tuple[int, ...] = ()  # which of the parts the sender says to pass on only

    @property
    def passed_metadata(self) -> dict[str, Any]:
        return {key: value for key, value in self.metadata.items() if key in self.passes}

    @property
    def passed_request(self) -> dict[str, Any]:
        return {key: value for key, value in self.request.items() if key in self.passes}

    @property
    def passed_extensions(self) -> tuple[str, ...]:
        return tuple(uri for uri in self.extensions if uri in self.passes)

    def to_json(self) -> dict[str, Any]:
        names = ("metadata", "extensions", "references", "passes", "hops", "request", "forwarded")
        return {name: value for name in names if (value := getattr(self, name))}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Attached":
        lists = {name: tuple(value.get(name, ())) for name in ("extensions", "references", "passes", "forwarded")}
        return cls(value.get("metadata", {}), **lists, hops=value.get("hops", 0), request=value.get("request", {}))


def text_of(parts: Iterable[Part]) -> str:
    """The words in the parts, in order, without separators (chunks of one artifact are concatenated verbatim)."""
    return "".join(part.text for part in parts if isinstance(part, Text))


def joined(known: tuple[Part, ...], more: Iterable[Part]) -> tuple[Part, ...]:
    """The parts with more behind them: chunks of text are concatenated verbatim, without separators."""
    parts = list(known)
    for part in more:
        if parts and isinstance(part, Text) and isinstance(parts[-1], Text):
            parts[-1] = Text(parts[-1].text + part.text)
        else:
            parts.append(part)
    return tuple(parts)


def say_the_same(one: tuple[Part, ...], other: tuple[Part, ...]) -> bool:
    """Whether they are equal, however their text was cut into parts."""
    return one == other or joined((), one) == joined((), other)


def part_to_json(part: Part) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"text": text}
        case File(name, media_type, url, size, content, stored):
            file: dict[str, Any] = {"name": name, "media_type": media_type, "url": url, "size": size}
            if content is not None:
                file["content"] = b64encode(content).decode()
            if stored:
                file["stored"] = stored
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
