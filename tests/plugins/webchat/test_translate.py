"""What a page may send, and what of it is told to the host."""

import json

import pytest

from core.doors.strict_json import BadJson
from core.parts import Text
from plugins.webchat.translate import TEXT_LIMIT, BadMessage, inbound, language_of, read


def raw(**fields: object) -> bytes:
    return json.dumps({"id": "message-1", "text": "hello"} | fields).encode()


def test_a_message_is_its_visitors_under_the_id_that_the_page_gave_it() -> None:
    body = raw()
    told = inbound(read(body), body, "visitor", "zh-CN,zh;q=0.9,en;q=0.8")
    assert told.keys == ("message:visitor:message-1",)
    assert (told.chat, told.sender, told.external_id) == ("visitor", "visitor", "message-1")
    assert (told.parts, told.raw, told.language) == ((Text("hello"),), body, "zh-CN")
    assert (told.is_direct, told.is_forward, told.is_edit) == (True, False, False)


@pytest.mark.parametrize(
    "fields",
    [
        {"text": ""},
        {"text": " \n "},
        {"text": "x" * (TEXT_LIMIT + 1)},
        {"text": 1},
        {"text": None},
        {"id": "short"},
        {"id": "x" * 65},
        {"id": "with spaces in it"},
        {"id": "message-1\n"},
        {"sender": "somebody else"},
    ],
)
def test_what_is_no_message_is_refused_with_a_reason(fields: dict[str, object]) -> None:
    with pytest.raises(BadMessage) as refused:
        read(raw(**fields))
    assert next(iter(fields)) in str(refused.value)
    assert "x" * 20 not in str(refused.value)


@pytest.mark.parametrize(
    "body",
    [b"{", b"\xff", b'{"id": "message-1", "text": "\\ud800"}', b'{"id": "message-1", "text": "a", "text": "b"}'],
)
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(BadJson):
        read(body)


def test_json_that_is_no_object_is_refused() -> None:
    with pytest.raises(BadMessage):
        read(b"[]")


@pytest.mark.parametrize(
    ("header", "language"), [("", None), ("*", None), ("en-US,en;q=0.9", "en-US"), ("zh", "zh"), ("<script>", None)]
)
def test_the_language_is_the_first_one_that_the_browser_names(header: str, language: str | None) -> None:
    assert language_of(header) == language
