"""What came in answer to a download: a file of the kind that was asked for, or something in its place.

The platform gives a file as an attachment, with the type of what it is, and says in JSON, with HTTP 200 as well, that
there is none or where a video is ("Get temporary media", developer guide, read 2026-08). What stands on the way, a
proxy or a portal, answers with whatever it has: a page, a word, a picture of its own. So the bytes have to be seen to
be what was asked for, or the head has to say so and the bytes nothing else. Headerless voice (Speex) says nothing of
itself and is believed; words are not.
"""

from core.doors.outbound import Answer

WORDS = 1445  # bytes that are looked at for words (MIME Sniffing Standard, "reading the resource header")

_UNTYPED = ("", "application/octet-stream", "binary/octet-stream")
_BEGINNINGS: tuple[tuple[bytes, str], ...] = (  # "": of no media at all
    (b"\x89PNG", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF8", "image"),
    (b"#!AMR", "audio"),
    (b"#!SILK", "audio"),
    (b"\x02#!SILK", "audio"),
    (b"ID3", "audio"),
    (b"\x1f\x8b", ""),
)
_BOXES = {b"M4A ": "audio", b"heic": "image", b"heix": "image", b"mif1": "image", b"avif": "image"}  # else it is video
_CHUNKS = {b"WEBP": "image", b"WAVE": "audio", b"AVI ": "video"}
_MARKS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")  # of words in UTF-8 and UTF-16
# Bytes that no words have, in any encoding that is in use (MIME Sniffing Standard, "binary data byte").
_BINARY = frozenset(range(0x20)) - frozenset(b"\t\n\f\r\x1b")


def is_file(answer: Answer, kind: str) -> bool:
    """Whether this is a file of such media: "image", "audio" or "video"."""
    if answer.status != 200 or not answer.body:
        return False
    seen = _kind_of(answer.body)
    if seen is not None and seen != kind:
        return False
    if media_type_of(answer):
        return media_type_of(answer).startswith(f"{kind}/")
    return seen == kind or (_said_type(answer) in _UNTYPED and _is_attachment(answer))


def media_type_of(answer: Answer) -> str:
    """As the answer's head says it; "" where it says none of media. Voice is named `voice/amr`, which nobody knows."""
    said = _said_type(answer)
    if said.startswith("voice/"):
        said = said.replace("voice", "audio", 1)
    return said if said.startswith(("image/", "audio/", "video/")) else ""


def _said_type(answer: Answer) -> str:
    return answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def _is_attachment(answer: Answer) -> bool:
    return answer.headers.get("Content-Disposition", "").partition(";")[0].strip().lower() == "attachment"


def _kind_of(content: bytes) -> str | None:
    """What the bytes are seen to be, "" for no media; None where they say nothing."""
    for beginning, kind in _BEGINNINGS:
        if content.startswith(beginning):
            return kind
    if content[4:8] == b"ftyp":
        return _BOXES.get(content[8:12], "video")
    if content.startswith(b"RIFF"):
        return _CHUNKS.get(content[8:12])
    return "" if content.startswith(_MARKS) or _BINARY.isdisjoint(content[:WORDS]) else None
