"""What the platform pushes, as the host understands it; payloads as the developer guide prints them (2026-08)."""

import re
from typing import Any

import pytest

from core.envelope import Inbound, Unreadable
from core.parts import Data, File, Text
from plugins.wechat.translate import inbound, media_in
from tests.fakes.wechat_seal import element
from tests.plugins.wechat.account import ANN, BOB

ORIGINAL = "gh_0123456789ab"


def pushed(kind: str, sender: str = ANN, **fields: Any) -> bytes:
    said = {"ToUserName": ORIGINAL, "FromUserName": sender, "CreateTime": 1348831860, "MsgType": kind, **fields}
    return ("<xml>" + "".join(element(*item) for item in said.items()) + "</xml>").encode()


def read(raw: bytes) -> Inbound:
    found = inbound(raw)
    assert isinstance(found, Inbound)
    return found


def event(name: str, **fields: Any) -> Inbound:
    return read(pushed("event", Event=name, **fields))


def test_a_text_is_its_words() -> None:
    said = read(pushed("text", Content="你好 <b>", MsgId=24_000_000_000_000_001))
    assert (said.parts, said.chat, said.sender, said.is_direct) == ((Text("你好 <b>"),), ANN, ANN, True)
    assert (said.external_id, said.message_id, said.language) == ("24000000000000001", "24000000000000001", None)


@pytest.mark.case("WX-06")
def test_a_message_is_known_by_its_sender_and_its_number() -> None:
    assert read(pushed("text", Content="a", MsgId=5)).keys == (f"message:{ANN}:5",)
    assert read(pushed("text", BOB, Content="a", MsgId=5)).keys == (f"message:{BOB}:5",)


def test_a_voice_message_is_what_was_recognised_in_it_and_a_file() -> None:
    said = read(pushed("voice", MediaId="m", Format="amr", Recognition="明天几点开门", MsgId=7))
    assert said.parts == (Text("明天几点开门"), File("voice.amr", "audio/amr"))
    silent = read(pushed("voice", MediaId="m", Format="a/b", Recognition="", MsgId=8))
    assert silent.parts == (File("voice.amr", "audio/amr"),)


def test_a_picture_or_video_is_a_file_that_the_platform_has() -> None:
    raw = pushed("image", MediaId="m1", PicUrl="https://x/1", MsgId=9)
    assert (read(raw).parts, media_in(raw)) == ((File("image.jpg", "image/jpeg", "https://x/1"),), "m1")
    assert read(pushed("image", MediaId="m1", PicUrl="file:///etc/passwd", MsgId=9)).parts[0] == (
        File("image.jpg", "image/jpeg")
    )
    for kind in ("video", "shortvideo"):
        assert read(pushed(kind, MediaId="m2", MsgId=9)).parts == (File("video.mp4", "video/mp4"),)


def test_what_cannot_be_read_is_named() -> None:
    said = read(pushed("new_kind", MediaId="m", MsgId=9))
    assert (said.parts, said.unsupported) == ((), "new_kind")


def test_a_sticker_is_told_from_a_text() -> None:
    assert read(pushed("text", Content="【收到不支持的消息类型，暂无法显示】", MsgId=9)).unsupported == "sticker"


def test_a_place_is_words_and_numbers() -> None:
    said = read(pushed("location", Location_X="23.134521", Location_Y="113.358803", Scale=20, Label="广州", MsgId=9))
    place = {"latitude": 23.134521, "longitude": 113.358803, "scale": 20.0, "label": "广州"}
    assert said.parts == (Text("📍 广州 (23.134521, 113.358803)"), Data({"location": place}))


def test_a_link_is_its_title_words_and_address() -> None:
    said = read(pushed("link", Title="Title", Description="words", Url="https://ex.test/a_b", MsgId=9))
    assert said.parts == (Text("Title\nwords\nhttps://ex.test/a_b"),)


@pytest.mark.parametrize("name", ["subscribe", "SCAN", "CLICK"])
def test_what_a_person_asks_for_by_an_event_is_work(name: str) -> None:
    said = event(name, EventKey="qrscene_123", Ticket="T")
    assert not said.is_event
    assert said.parts == (
        Data({"event": name, "key": "qrscene_123", "time": "1348831860", "details": {"Ticket": "T"}}),
    )


@pytest.mark.parametrize("name", ["unsubscribe", "VIEW", "LOCATION", "TEMPLATESENDJOBFINISH", "brand_new_event"])
def test_what_merely_happened_is_history(name: str) -> None:
    assert event(name, EventKey="", Latitude="23.1", Status="success").is_event


def test_two_events_of_one_second_are_two_and_a_repeated_one_is_one() -> None:
    first, second = event("CLICK", EventKey="a"), event("CLICK", EventKey="b")
    assert first.keys != second.keys
    assert event("CLICK", EventKey="a").keys == first.keys
    here, there = event("LOCATION", Latitude="1.0"), event("LOCATION", Latitude="2.0")
    assert here.keys != there.keys


def test_nested_fields_of_an_event_stay_nested() -> None:
    said = event("scancode_push", EventKey="k", ScanCodeInfo={"ScanType": "qrcode", "ScanResult": "2"})
    (part,) = said.parts
    assert isinstance(part, Data)
    assert part.value["details"] == {"ScanCodeInfo": {"ScanType": "qrcode", "ScanResult": "2"}}


@pytest.mark.parametrize("raw", [b"<xml></xml>", b"<xml><MsgType>text</MsgType></xml>", b"<xml><a></xml>", b"<foo/>"])
def test_what_lacks_its_sender_is_kept_as_unreadable(raw: bytes) -> None:
    found = inbound(raw)
    assert isinstance(found, Unreadable)
    assert found.raw == raw


def test_a_number_that_is_none_makes_no_key() -> None:
    assert read(pushed("text", Content="a", MsgId="x")).keys[0].startswith("raw:")
    assert read(pushed("text", Content="a")).keys != read(pushed("text", Content="b")).keys


@pytest.mark.parametrize(
    "odd",
    [
        {"Content": ["one", "two"]},
        {"FromUserName": [ANN, BOB]},
        {"MsgType": ["text", "event"]},
        {"MsgId": ["1", "2"]},
        {"Content": {"MsgType": "image"}},
    ],
    ids=["words", "sender", "kind", "number", "elements"],
)
def test_what_stands_twice_or_holds_elements_is_not_guessed_at(odd: dict[str, Any]) -> None:
    (name, value) = next(iter(odd.items()))
    usual: dict[str, Any] = {"Content": "hello", "MsgId": 5}
    several = "".join(element(name, each) for each in value) if isinstance(value, list) else ""
    inside = f"<{name}>{''.join(element(*item) for item in value.items())}</{name}>" if isinstance(value, dict) else ""
    known = {key: text for key, text in usual.items() if key != name}
    raw = pushed("text", **known)
    if name in ("FromUserName", "MsgType"):
        several = element(name, value[1])
    found = inbound(raw.replace(b"</xml>", (several + inside).encode() + b"</xml>"))
    assert isinstance(found, Unreadable)
    assert found.error == f"{name} is not one text: it stands there more than once, or holds elements"


@pytest.mark.parametrize("number", ["nan", "inf", "-Infinity", "north"])
def test_a_place_that_is_none_is_not_read(number: str) -> None:
    said = read(pushed("location", Location_X=number, Location_Y="113.3", Scale=16, Label="x", MsgId=1))
    assert (said.unsupported, said.parts) == ("location", ())


@pytest.mark.parametrize("name", ["ToUserName", "FromUserName", "MsgType"])
@pytest.mark.parametrize("kind", ["text", "event"])
@pytest.mark.parametrize("left", ["", "<{0}></{0}>", "<{0}> </{0}>"], ids=["missing", "empty", "blank"])
def test_a_push_that_could_not_be_answered_is_unreadable_by_the_name_of_what_is_missing(
    name: str, kind: str, left: str
) -> None:
    raw = pushed(kind, Content="hello", Event="CLICK", MsgId=5).decode()
    found = inbound(re.sub(f"<{name}>.*?</{name}>", left.format(name), raw).encode())
    assert isinstance(found, Unreadable)
    assert found.error == f"{name} is missing"
