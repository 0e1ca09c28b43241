"""What the platform pushes, as the host understands it: pure."""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from core.envelope import Inbound, Unreadable
from core.parts import Data, File, Part, Text
from plugins.wechat.xml import BadXml, Fields, read

WORK = frozenset({"subscribe", "SCAN", "CLICK"})  # events by which a person asks for something; the rest is history
_UNSHOWN = "【收到不支持的消息类型，暂无法显示】"  # what the platform puts in place of a sticker and other kinds
_EVENT = ("Event", "EventKey", "CreateTime")
_CONTENT = (
    *("Content", "MediaId", "PicUrl", "Format", "Recognition", "Title", "Description", "Url"),
    *("Location_X", "Location_Y", "Scale", "Label"),
)
_ENVELOPE = frozenset({"ToUserName", "FromUserName", "CreateTime", "MsgType", "Event", "EventKey", "Encrypt"})


def inbound(raw: bytes, *, nonce: str = "") -> Inbound | Unreadable:
    """One push. Where a query signs nothing but itself, its `nonce` makes every other message under it a duplicate."""
    extra = (f"nonce:{nonce}",) if nonce else ()
    try:
        fields = read(raw)
        sender, kind = _text(fields, "FromUserName"), _text(fields, "MsgType")
        _text(fields, "ToUserName")  # who answers: without it no reply can be written
        _check_once(fields, "MsgId", *(_EVENT if kind == "event" else _CONTENT))
    except (BadXml, _Missing, _Odd) as error:
        return Unreadable((f"raw:{_digest(raw)}", *extra), "", raw, str(error))
    if kind == "event":
        return _event(fields, raw, sender, extra)
    number = str(fields.get("MsgId") or "").strip()
    key = f"message:{sender}:{number}" if number.isdigit() else f"raw:{_digest(raw)}"
    unsupported, parts = _content(kind, fields)
    return Inbound(
        keys=(key, *extra),
        external_id=number,
        chat=sender,
        sender=sender,
        parts=parts,
        raw=raw,
        message_id=number,
        unsupported=unsupported,
    )


def media_in(raw: bytes) -> str:
    """The media_id of the picture, voice or video that a readable push brings; "" where it names none."""
    return str(read(raw).get("MediaId") or "").strip()


def is_sealed(raw: bytes) -> bool:
    """Whether a readable push holds a cipher and nothing else."""
    fields = read(raw)
    return "Encrypt" in fields and "MsgType" not in fields


class _Missing(ValueError):
    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is missing")


class _Odd(ValueError):
    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not one text: it stands there more than once, or holds elements")


def _check_once(fields: Fields, *names: str) -> None:
    """The platform writes each of these once and plainly; of two, nobody knows which is meant. Raises _Odd."""
    for name in names:
        if not isinstance(fields.get(name, ""), str):
            raise _Odd(name)


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise _Odd(name)
    if not value.strip():
        raise _Missing(name)
    return value.strip()


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:32]


def _event(fields: Fields, raw: bytes, sender: str, extra: tuple[str, ...]) -> Inbound:
    """Its key has all that it says: CreateTime counts whole seconds, and two events of one second may differ in any."""
    name, at = str(fields.get("Event") or ""), str(fields.get("CreateTime") or "")
    said = json.dumps(fields, sort_keys=True, ensure_ascii=False)
    details = {key: value for key, value in fields.items() if key not in _ENVELOPE}
    event = {"event": name, "key": fields.get("EventKey") or "", "time": at, "details": details}
    return Inbound(
        keys=(f"event:{sender}:{at}:{name}:{_digest(said.encode())}", *extra),
        external_id=f"{name}:{at}",
        chat=sender,
        sender=sender,
        parts=(Data(event),),
        raw=raw,
        is_event=name not in WORK,
    )


# ---------------------------------------------------------------------------------------------- kinds of content


def _content(kind: str, fields: Fields) -> tuple[str, tuple[Part, ...]]:
    """What cannot be read ("" when all can), and the parts."""
    make = _KINDS.get(kind)
    parts = make(fields) if make is not None else ()
    return ("" if parts else _NAMES.get(kind, kind[:40])), parts


def _said(fields: Fields) -> tuple[Part, ...]:
    text = str(fields.get("Content") or "")
    return () if not text.strip() or text.strip() == _UNSHOWN else (Text(text),)


def _voice(fields: Fields) -> tuple[Part, ...]:
    """The words that the platform recognised, which is often silent, and may stop altogether; and the voice itself."""
    text = str(fields.get("Recognition") or "").strip()
    form = str(fields.get("Format") or "amr").strip().lower()
    form = form if form.isascii() and form.isalnum() else "amr"
    words: tuple[Part, ...] = (Text(text),) if text else ()
    return (*words, File(f"voice.{form[:8]}", f"audio/{form[:8]}"))


def _picture(fields: Fields) -> tuple[Part, ...]:
    """Its address is public; it is handed on only where the picture itself cannot be had."""
    url = str(fields.get("PicUrl") or "").strip()
    return (File("image.jpg", "image/jpeg", url if url.startswith(("http://", "https://")) else ""),)


def _video(fields: Fields) -> tuple[Part, ...]:
    del fields
    return (File("video.mp4", "video/mp4"),)


def _location(fields: Fields) -> tuple[Part, ...]:
    place = {name.lower(): _number(fields.get(field)) for name, field in _PLACE.items()}
    label = str(fields.get("Label") or "").strip()
    if place["latitude"] is None or place["longitude"] is None:
        return ()
    at = f"{place['latitude']}, {place['longitude']}"
    return (Text(f"📍 {label} ({at})" if label else f"📍 {at}"), Data({"location": {**place, "label": label}}))


def _link(fields: Fields) -> tuple[Part, ...]:
    lines = [str(fields.get(name) or "").strip() for name in ("Title", "Description", "Url")]
    return (Text("\n".join(line for line in lines if line)),) if lines[2] else ()


def _number(value: Any) -> float | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) else None  # JSON has no others


_PLACE = {"latitude": "Location_X", "longitude": "Location_Y", "scale": "Scale"}
_KINDS: Mapping[str, Callable[[Fields], tuple[Part, ...]]] = {
    "text": _said,
    "voice": _voice,
    "image": _picture,
    "video": _video,
    "shortvideo": _video,
    "location": _location,
    "link": _link,
}
_NAMES = {"text": "sticker"}
