"""Pictures, voice and video: fetched at once and kept, uploaded and shown; and said in words where that cannot be."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from itertools import count

import pytest

from core.access import Access
from core.agent import Artifact, Ask, TaskEvent, TaskState
from core.clock import SystemClock
from core.delivery import Delivery, Piece, Refusal, Rejected, Sent
from core.doors.outbound import GuardedClient
from core.files import id_of
from core.identity import Address, Source
from core.parts import File, Part, Text
from core.plugin import Host
from core.store import Store
from core.telemetry import Silent
from plugins.wechat.api import Wire
from plugins.wechat.failures import ApiFailure
from plugins.wechat.health import Health
from plugins.wechat.media import KINDS, LIFE, REMEMBERED
from plugins.wechat.plugin import WechatPlugin
from tests.doubles.agent import FakeAgent, task
from tests.doubles.files import MemoryFiles
from tests.doubles.store import MemoryStore
from tests.fakes.scripting import cut_after_accepting, delay, http_status
from tests.fakes.wechat import FakeWechat, errcode
from tests.plugins.telegram.intake import NoHistory
from tests.plugins.wechat.account import ANN, BOB, account, settings
from tests.store.line import ManualClock
from tests.waiting import until

PICTURE, VOICE, FILM = b"\x89PNG picture", b"#!AMR\nvoice", b"\0\0\0\x18ftypmp42 film"
UPLOAD, SEND = "media/upload", "message/custom/send"
NOTE = "I cannot read this kind of message yet (image). Please write it as text."


def drawing(*parts: Part) -> FakeAgent:
    async def script(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield replace(task(ask, TaskState.COMPLETED), artifacts=(Artifact("a1", parts),))

    return FakeAgent(script)


def picture(name: str = "chart.png", content: bytes = PICTURE) -> File:
    return File(name, "image/png", size=len(content), content=content)


# ---------------------------------------------------------------------------------------------- what people send


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
            await wire.follow("media/get", f"{platform.base}/video/1", limit=1000)
        assert isinstance(caught.value.outcome, Rejected)
        assert platform.videos == 0


# ---------------------------------------------------------------------------------------------- what agents answer


async def test_a_picture_of_an_answer_is_shown_in_its_place(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store, drawing(Text("Here:"), picture(), Text("That was it."))) as there:
        await there.pushes.says(ANN, "draw")
        await platform.until_shown(ANN, 3)
        shown = platform.people[ANN].shown
        assert [each.text for each in shown] == ["Here:", "[image]", "That was it."]
        assert shown[1].media == PICTURE
        assert there.roads() == ["passive", "service", "service"]


async def test_voice_and_video_are_shown_as_such(platform: FakeWechat, store: Store) -> None:
    voice = File("v.mp3", "audio/mpeg", content=VOICE)
    film = File("f.mp4", "video/mp4; codecs=avc1", content=FILM)
    async with account(platform, store, drawing(voice, film)) as there:
        await there.pushes.says(ANN, "record")
        assert await platform.until_shown(ANN, 2) == ["[voice]", "[video]"]
        assert [each.media for each in platform.people[ANN].shown] == [VOICE, FILM]
        assert await there.outcomes(2) == ["delivered", "delivered"]


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (File("report.pdf", "application/pdf", content=b"%PDF"), "report.pdf (cannot be shown here / 此处无法显示)"),
        (File("huge.png", "image/png", content=bytes(KINDS[0].limit + 1)), "huge.png (cannot be shown here"),
        (File("far.png", "image/png", size=9 << 20), "far.png (cannot be shown here"),
        (File("there.pdf", "application/pdf", "https://ex.test/a"), "there.pdf\nhttps://ex.test/a"),
    ],
)
async def test_what_cannot_be_shown_is_named(platform: FakeWechat, store: Store, file: File, words: str) -> None:
    async with account(platform, store, drawing(Text("Here:"), file)) as there:
        push = await there.pushes.says(ANN, "draw")
        assert push.reply is not None
        assert push.reply.startswith(f"Here:\n\n📎 {words}")
        assert platform.calls[UPLOAD] == 0


async def test_where_nothing_can_be_sent_a_picture_is_named_in_the_reply(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store, drawing(picture()), customer_service=False) as there:
        push = await there.pushes.says(ANN, "draw")
        assert push.reply == "📎 chart.png (cannot be shown here / 此处无法显示)"


@dataclass
class Shower:
    """A plugin that shows one file by itself, at a time that the test sets."""

    platform: FakeWechat
    client: GuardedClient
    store: MemoryStore
    files: MemoryFiles
    clock: ManualClock

    def plugin(self) -> WechatPlugin:
        host = Host(self.client, self.store, self.store, NoHistory(), self.clock, "here", files=self.files)
        return WechatPlugin("desk", settings(self.platform), host)

    async def show(self, person: str = ANN, file: File | None = None, plugin: WechatPlugin | None = None) -> object:
        plugin, file = plugin or self.plugin(), file or picture()
        (payload,) = plugin.render(Piece("artifact:1", (file,)))
        where = Address(Source("wechat", "desk"), person)
        return await plugin.send(Delivery("t-1", "c", where, "t", payload, 1, 0.0, 9e9))


@pytest.fixture
async def shower(platform: FakeWechat) -> AsyncIterator[Shower]:
    clock = ManualClock(time.time())
    platform.clock = clock.now
    platform.wrote(ANN)
    platform.wrote(BOB)
    async with GuardedClient() as client:
        made = Shower(platform, client, MemoryStore(), MemoryFiles(), clock)
        await made.files.keep(PICTURE)
        yield made


async def test_a_file_is_uploaded_once_for_all_and_over_a_restart(shower: Shower, platform: FakeWechat) -> None:
    plugin = shower.plugin()
    for person in (ANN, BOB):
        assert isinstance(await shower.show(person, plugin=plugin), Sent)
    await shower.show(ANN)  # another process
    assert platform.calls[UPLOAD] == 1
    assert [len(platform.people[person].shown) for person in (ANN, BOB)] == [2, 1]


async def test_before_the_platform_forgets_a_file_it_is_uploaded_anew(shower: Shower, platform: FakeWechat) -> None:
    await shower.show()
    shower.clock.time += LIFE - 60
    platform.wrote(ANN)
    assert isinstance(await shower.show(), Sent)
    assert platform.calls[UPLOAD] == 2


async def test_a_file_that_the_platform_forgot_too_early_is_uploaded_anew_and_shown_once(
    shower: Shower, platform: FakeWechat
) -> None:
    await shower.show()
    platform.media.clear()
    assert isinstance(await shower.show(), Sent)
    assert platform.people[ANN].texts == ["[image]", "[image]"]
    assert (platform.calls[UPLOAD], platform.calls[SEND]) == (2, 3)


@pytest.mark.parametrize(("call", "code"), [(UPLOAD, 40005), (UPLOAD, 40006), (UPLOAD, 48001), (SEND, 45001)])
async def test_what_the_platform_does_not_take_is_named(
    shower: Shower, platform: FakeWechat, call: str, code: int
) -> None:
    platform.script.add(call, errcode(code))
    plugin = shower.plugin()
    assert isinstance(await shower.show(plugin=plugin), Sent)
    assert platform.people[ANN].texts == ["📎 chart.png (cannot be shown here / 此处无法显示)"]
    assert plugin.health["customer_service"]


@pytest.mark.parametrize("trouble", [cut_after_accepting, lambda: http_status(502), lambda: errcode(-1)])
async def test_an_upload_that_failed_has_shown_nothing(
    shower: Shower, platform: FakeWechat, trouble: Callable[[], object]
) -> None:
    platform.script.add(UPLOAD, trouble())  # type: ignore[arg-type]
    outcome = await shower.show()
    assert isinstance(outcome, Rejected)
    assert outcome.kind is Refusal.UNAVAILABLE
    assert platform.people[ANN].texts == []


async def test_past_the_quota_a_picture_waits_for_its_person(shower: Shower, platform: FakeWechat) -> None:
    platform.people[ANN].left = 0
    outcome = await shower.show()
    assert isinstance(outcome, Rejected)
    assert outcome.kind is Refusal.WINDOW_CLOSED


async def test_a_file_that_is_not_kept_any_more_is_named(shower: Shower, platform: FakeWechat) -> None:
    shower.files.kept.clear()
    assert isinstance(await shower.show(), Sent)
    assert platform.people[ANN].texts == ["📎 chart.png (cannot be shown here / 此处无法显示)"]


async def test_the_media_ids_that_are_remembered_have_a_bound(shower: Shower, platform: FakeWechat) -> None:
    platform.people[ANN].left = 2 * REMEMBERED
    plugin = shower.plugin()
    for n in (*range(REMEMBERED + 1), REMEMBERED, 0):  # the first one is forgotten by then
        content = PICTURE + n.to_bytes(2, "big")
        await shower.files.keep(content)
        assert isinstance(await shower.show(file=picture(content=content), plugin=plugin), Sent)
        shower.clock.time += 1
    assert platform.calls[UPLOAD] == REMEMBERED + 2
