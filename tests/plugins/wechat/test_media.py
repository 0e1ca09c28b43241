"""Pictures, voice and video that people send: fetched at once and kept, or said in words."""

import asyncio
from itertools import count

import pytest
from aiohttp import web

from core.access import Access
from core.clock import SystemClock
from core.delivery import Rejected
from core.doors.outbound import GuardedClient
from core.files import id_of
from core.parts import File, Text
from core.store import Store
from core.telemetry import Silent
from plugins.wechat.api import BODY_LIMIT, Wire
from plugins.wechat.failures import ApiFailure
from plugins.wechat.health import Health
from tests.doubles.agent import FakeAgent, Parked
from tests.doubles.files import MemoryFiles
from tests.fakes.scripting import Exchange, Respond, delay, http_status
from tests.fakes.wechat import FakeWechat, errcode
from tests.plugins.wechat.account import ANN, BOB, account
from tests.plugins.wechat.test_passive import Takes
from tests.waiting import until

PICTURE, VOICE, FILM = b"\x89PNG picture", b"#!AMR\nvoice", b"\0\0\0\x18ftypmp42 film"
NOTE = "I cannot read this kind of message yet (image). Please write it as text."


@pytest.mark.case("SEC-08")
async def test_a_picture_reaches_the_agent_as_bytes_and_is_kept_under_our_own_id(
    platform: FakeWechat, store: Store
) -> None:
    files = MemoryFiles()
    async with account(platform, store, files=files) as there:
        await there.pushes.shows(ANN, "image", PICTURE, "image/png", PicUrl="http://mmbiz.example/1")
        assert there.agent.asks[0].parts == (File("image.jpg", "image/png", size=len(PICTURE), content=PICTURE),)
        assert files.kept == {id_of(PICTURE): PICTURE}
        token = platform.tokens[-1].value
        assert token not in repr(there.agent.asks)
        assert not [fields for _, fields in there.desk.events.seen if token in str(fields)]


async def test_a_voice_message_is_its_recognised_words_and_the_voice(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store) as there:
        await there.pushes.shows(ANN, "voice", VOICE, "audio/amr", Format="amr", Recognition="几点开门")
        await there.pushes.shows(ANN, "voice", VOICE, "application/octet-stream", Format="speex")
        assert [ask.parts for ask in there.agent.asks] == [
            (Text("几点开门"), File("voice.amr", "audio/amr", size=len(VOICE), content=VOICE)),
            (File("voice.speex", "audio/speex", size=len(VOICE), content=VOICE),),
        ]


@pytest.mark.parametrize("kind", ["video", "shortvideo"])
async def test_a_video_is_fetched_from_where_the_platform_says(platform: FakeWechat, store: Store, kind: str) -> None:
    async with account(platform, store) as there:
        await there.pushes.shows(ANN, kind, FILM, "video/mp4", ThumbMediaId="thumb")
        assert there.agent.asks[0].parts == (File("video.mp4", "video/mp4", size=len(FILM), content=FILM),)


async def test_an_error_in_place_of_the_file_is_none(platform: FakeWechat, store: Store) -> None:
    """It comes as HTTP 200 and JSON."""
    files = MemoryFiles()
    async with account(platform, store, files=files) as there:
        push = await there.pushes.sends(ANN, "image", MediaId="forgotten")
        assert push.reply == NOTE
        await there.pushes.sends(ANN, "voice", MediaId="forgotten", Format="amr", Recognition="hello")
        assert [ask.parts for ask in there.agent.asks] == [(Text("hello"),)]
        assert files.kept == {}
        assert "40007 bad_media" in str(there.plugin.health["counts"])


async def test_of_a_picture_that_cannot_be_had_its_public_address_is_left(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store, app_secret=None, customer_service=False) as there:
        await there.pushes.shows(ANN, "image", PICTURE, "image/png", PicUrl="http://mmbiz.example/1")
        assert there.agent.asks[0].parts == (File("image.jpg", "image/jpeg", "http://mmbiz.example/1"),)


class Aged(SystemClock):
    """By this clock every process has run for a long time, and knows all requests for a message."""

    def __init__(self) -> None:
        self._ahead = count(0.0, 60.0)

    def monotonic(self) -> float:
        return super().monotonic() + next(self._ahead)


async def test_a_message_is_acknowledged_when_its_file_is_here_and_fetched_once(
    platform: FakeWechat, store: Store
) -> None:
    release = asyncio.Event()
    platform.script.add("media/get", delay(release))
    async with account(platform, store, clock=Aged()) as there:
        pushing = asyncio.ensure_future(there.pushes.shows(ANN, "image", PICTURE, "image/png"))
        await platform.changes.until(lambda: platform.downloads == 1, what="a download")
        await until(lambda: any(asked.number == 2 for asked in there.plugin._webhook._requests._asked.values()))
        release.set()
        push = await pushing
        assert push.statuses == [None, 200]
        assert len(there.agent.asks) == platform.downloads == 1


async def test_the_last_request_waits_no_longer(platform: FakeWechat, store: Store) -> None:
    platform.script.add("media/get", delay(asyncio.Event()))
    async with account(platform, store, clock=Aged()) as there:
        push = await there.pushes.shows(ANN, "image", PICTURE, "image/png", PicUrl="http://mmbiz.example/1")
        assert push.statuses[:2] == [None, None]
        await until(lambda: bool(there.agent.asks))
        assert there.agent.asks[0].parts == (File("image.jpg", "image/jpeg", "http://mmbiz.example/1"),)


async def test_after_a_start_any_request_may_be_the_last_and_none_is_left_to_the_next(
    platform: FakeWechat, store: Store
) -> None:
    platform.script.add("media/get", delay(asyncio.Event()))
    async with account(platform, store) as there:
        media_id = platform.add_media("image", PICTURE, "image/png")
        message = there.pushes.message(ANN, "image", MediaId=media_id, PicUrl="http://mmbiz.example/1")
        await there.pushes.request(message)
        await until(lambda: bool(there.agent.asks))
        assert there.agent.asks[0].parts == (File("image.jpg", "image/jpeg", "http://mmbiz.example/1"),)


async def test_a_request_is_answered_in_time_though_its_file_hangs_and_an_earlier_answer_waits_for_company(
    platform: FakeWechat, store: Store
) -> None:
    """By the platform's own seconds: the earlier answer has no time left to wait for the one to the picture."""
    parked = Parked()
    platform.script.add("media/get", delay(asyncio.Event()))
    agent = FakeAgent(parked)
    async with account(platform, store, agent, customer_service=False) as there:
        await there.pushes.says(ANN, "hello")
        parked.released.set()
        assert await there.outcomes(1) == ["waiting_for_user"]
    agent.script = Takes(3600)
    async with account(platform, store, agent, customer_service=False, reply_within=4.5) as there:
        there.pushes.patience = 4.5
        push = await there.pushes.shows(ANN, "image", PICTURE, "image/png", PicUrl="http://mmbiz.example/1")
        assert (push.statuses, push.reply) == ([200], "(To your earlier question)\nHELLO")
        assert await there.outcomes(1) == ["presumed"]


async def test_what_failed_for_a_while_is_fetched_again_for_the_next_request(
    platform: FakeWechat, store: Store
) -> None:
    platform.script.add("media/get", http_status(502))
    async with account(platform, store, clock=Aged()) as there:
        push = await there.pushes.shows(ANN, "image", PICTURE, "image/png")
        assert push.statuses == [None, 200]
        assert [ask.parts for ask in there.agent.asks] == [
            (File("image.jpg", "image/png", size=len(PICTURE), content=PICTURE),)
        ]


async def test_nothing_is_fetched_for_whoever_is_not_let_in(platform: FakeWechat, store: Store) -> None:
    options = {"access": Access("allow", "off", frozenset({BOB}))}
    async with account(platform, store, options=options) as there:
        assert (await there.pushes.shows(ANN, "image", PICTURE, "image/png")).reply is None
        assert platform.downloads == 0
        await there.pushes.shows(BOB, "image", PICTURE, "image/png")
        assert platform.downloads == 1


async def test_a_file_that_is_too_large_to_keep_is_told_of(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store, files=MemoryFiles(limit=4)) as there:
        assert (await there.pushes.shows(ANN, "image", PICTURE, "image/png")).reply == NOTE
        assert there.agent.asks == []


PAGE = "<html>sign in to the network</html>"
AMR, OCTETS = "audio/amr", "application/octet-stream"


def said(body: bytes, media_type: str, **headers: str) -> Respond:
    """HTTP 200 with these bytes, called that."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(body=body, headers={**named, "Content-Type": media_type})

    return respond


@pytest.mark.parametrize(
    "answer",
    [
        said(PAGE.encode(), "text/html"),
        said(PAGE.encode(), AMR),
        said(PAGE.encode("utf-8-sig"), AMR),
        said(PAGE.encode("utf-16"), AMR),
        said("\ufeff \n<!doctype html>".encode(), "text/html"),
        said(b"upstream error", "text/plain"),
        said(b"upstream error", AMR),
        said(PAGE.encode().ljust(1500) + bytes(20), AMR),
        said("上游错误".encode("gbk"), AMR),
        said(b"\x1f\x8b\x08\x00" + bytes(20), AMR),
        said(PICTURE, "image/png", Content_Disposition="attachment; filename=logo.png"),
        said(PICTURE, AMR),
        said(bytes(20), "image/png"),
        said(bytes(20), OCTETS),
        said(bytes(20), OCTETS, Content_Disposition="inline"),
        said(b"upstream error", OCTETS, Content_Disposition="attachment"),
        said(b"", AMR, Content_Disposition="attachment"),
        said(b" \n", AMR),
        said(b"[]", "application/json"),
    ],
)
async def test_what_no_platform_says_in_place_of_a_file_is_none_and_it_is_fetched_again(
    platform: FakeWechat, store: Store, answer: Respond
) -> None:
    """What stands on the way to it, a proxy or a portal, answers with HTTP 200, too, and calls it what it likes."""
    platform.script.add("media/get", answer)
    files = MemoryFiles()
    async with account(platform, store, clock=Aged(), files=files) as there:
        push = await there.pushes.shows(ANN, "voice", VOICE, AMR, Format="amr")
        assert (push.statuses, list(files.kept.values())) == ([None, 200], [VOICE])
        assert [ask.parts for ask in there.agent.asks] == [(File("voice.amr", AMR, size=len(VOICE), content=VOICE),)]


@pytest.mark.parametrize("page", [PAGE.encode("utf-8-sig"), b"upstream error"])
async def test_a_message_goes_on_without_the_file_in_whose_place_there_are_only_pages(
    platform: FakeWechat, store: Store, page: bytes
) -> None:
    """And the operator sees that the platform could not be asked."""
    platform.script.add("media/get", said(page, "text/plain"), times=None)
    files = MemoryFiles()
    async with account(platform, store, clock=Aged(), files=files) as there:
        push = await there.pushes.shows(ANN, "voice", VOICE, AMR, Format="amr", Recognition="几点开门")
        assert (push.statuses, push.reply) == ([None, None, 200], "几点开门")
        assert [ask.parts for ask in there.agent.asks] == [(Text("几点开门"),)]
        assert (files.kept, there.plugin.health["state"]) == ({}, "unreachable")


@pytest.mark.parametrize(
    ("answer", "content"),
    [
        (said(bytes(range(40)), "voice/speex"), bytes(range(40))),
        (said(bytes(range(40)), OCTETS, Content_Disposition='attachment; filename="a.speex"'), bytes(range(40))),
        (said(VOICE, OCTETS), VOICE),
        (said(VOICE, "text/plain"), VOICE),
        (said(VOICE, "audio/amr; codecs=amr"), VOICE),
    ],
)
async def test_a_voice_is_one_by_its_type_or_as_an_attachment_or_by_how_it_begins(
    platform: FakeWechat, store: Store, answer: Respond, content: bytes
) -> None:
    platform.script.add("media/get", answer)
    files = MemoryFiles()
    async with account(platform, store, files=files) as there:
        await there.pushes.shows(ANN, "voice", VOICE, AMR, Format="speex")
        assert list(files.kept.values()) == [content]
        (part,) = there.agent.asks[0].parts
        assert isinstance(part, File)
        assert part.media_type in ("audio/speex", "audio/amr")


async def test_a_page_at_the_address_of_a_video_is_none_and_it_is_fetched_again(
    platform: FakeWechat, store: Store
) -> None:
    platform.script.add("video", said(PAGE.encode("utf-8-sig"), "video/mp4"))
    platform.script.add("video", said(b'{"message": "upstream error"}', "application/json"))
    async with account(platform, store, clock=Aged()) as there:
        push = await there.pushes.shows(ANN, "video", FILM, "video/mp4")
        assert push.statuses == [None, None, 200]
        assert there.agent.asks[0].parts == (File("video.mp4", "video/mp4", size=len(FILM), content=FILM),)


async def test_a_refusal_behind_a_byte_order_mark_is_the_platforms_and_final(
    platform: FakeWechat, store: Store
) -> None:
    refusal = b'\xef\xbb\xbf{"errcode": 40007, "errmsg": "invalid media_id"}'
    platform.script.add("media/get", said(refusal, "text/plain"), times=None)
    async with account(platform, store) as there:
        push = await there.pushes.shows(ANN, "image", PICTURE, "image/png")
        assert (push.statuses, push.reply, platform.downloads) == ([200], NOTE, 1)


async def test_a_file_that_is_larger_than_anything_that_is_read_is_asked_for_once(
    platform: FakeWechat, store: Store
) -> None:
    """It would be as large the next time; and the platform is there, so that the operator is told of no trouble."""
    async with account(platform, store, files=MemoryFiles(limit=4), clock=Aged()) as there:
        push = await there.pushes.shows(ANN, "image", bytes(BODY_LIMIT + 1), "image/png")
        assert (push.statuses, push.reply, platform.downloads) == ([200], NOTE, 1)
        assert there.plugin.health["trouble"] == ""


async def test_an_account_that_sends_nothing_is_well_again_when_a_file_was_fetched(
    platform: FakeWechat, store: Store
) -> None:
    """Nothing else tells it so."""
    platform.script.add("media/get", http_status(502))
    platform.script.add("media/get", errcode(40164))
    async with account(platform, store, clock=Aged(), customer_service=False) as there:
        for trouble in ("HTTP 502", "40164"):
            media_id = platform.add_media("image", PICTURE, "image/png")
            await there.pushes.request(there.pushes.message(ANN, "image", MediaId=media_id))
            assert trouble in str(there.plugin.health["trouble"])
        await there.pushes.shows(ANN, "image", PICTURE, "image/png")
        assert (there.plugin.health["state"], there.plugin.health["trouble"]) == ("receiving", "")


async def test_a_stale_token_is_no_reason_to_lose_a_picture(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store) as there:
        await there.pushes.shows(ANN, "image", PICTURE, "image/png")
        platform.expire_tokens()
        await there.pushes.shows(ANN, "image", PICTURE + b"2", "image/png")
        assert len(there.agent.asks) == 2
        assert there.agent.asks[1].parts[0].size == len(PICTURE) + 1  # type: ignore[union-attr]


@pytest.mark.case("SRC-15")
async def test_no_answer_of_the_platform_leads_to_a_private_address(platform: FakeWechat) -> None:
    async with GuardedClient() as client:
        wire = Wire(
            "desk",
            "https://api.weixin.qq.com",
            client=client,
            is_public=True,
            timeout=5.0,
            clock=SystemClock(),
            telemetry=Silent(),
            health=Health("desk", "safe"),
        )
        with pytest.raises(ApiFailure) as caught:
            await wire.follow("media/get", f"{platform.base}/video/1", kind="video", limit=1000)
        assert isinstance(caught.value.outcome, Rejected)
        assert platform.videos == 0
