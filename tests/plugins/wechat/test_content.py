"""A file is seen by how it begins, whatever a storage on the way calls it."""

import pytest
from multidict import CIMultiDict

from core.doors.outbound import Answer
from plugins.wechat.content import is_file

BEGINNINGS = [
    (b"\xff\xd8\xff\xe0", "image"),
    (b"\x89PNG\r\n\x1a\n", "image"),
    (b"GIF89a", "image"),
    (b"RIFF\x00\x01\x00\x00WEBPVP8 ", "image"),
    (b"\x00\x00\x00\x18ftypheic", "image"),
    (b"#!AMR\n\x3c", "audio"),
    (b"#!SILK_V3", "audio"),
    (b"\x02#!SILK_V3", "audio"),
    (b"ID3\x04", "audio"),
    (b"RIFF\x00\x01\x00\x00WAVEfmt ", "audio"),
    (b"\x00\x00\x00\x1cftypM4A ", "audio"),
    (b"\x00\x00\x00\x20ftypisom", "video"),
    (b"\x00\x00\x00\x14ftypqt  ", "video"),
    (b"RIFF\x00\x01\x00\x00AVI LIST", "video"),
]


@pytest.mark.parametrize("media_type", ["", "application/octet-stream", "text/plain"])
@pytest.mark.parametrize(("beginning", "kind"), BEGINNINGS)
def test_a_file_is_one_of_the_kind_it_begins_as_and_of_no_other(beginning: bytes, kind: str, media_type: str) -> None:
    answer = Answer(200, CIMultiDict({"Content-Type": media_type}), beginning + bytes(40))
    assert [each for each in ("image", "audio", "video") if is_file(answer, each)] == [kind]
