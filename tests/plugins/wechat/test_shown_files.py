"""Pictures, voice and video of an answer: uploaded and shown, or said in words where that cannot be."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from aiohttp import web

from core.agent import Artifact, Ask, TaskEvent, TaskState
from core.delivery import Delivery, Piece, Refusal, Rejected, Sent, Unknown
from core.doors.outbound import GuardedClient
from core.identity import Address, Source
from core.parts import File, Part, Text
from core.plugin import Host
from core.store import Store
from plugins.wechat.media import KINDS, LIFE, REMEMBERED
from plugins.wechat.plugin import WechatPlugin
from tests.doubles.agent import FakeAgent, task
from tests.doubles.clock import ManualClock
from tests.doubles.files import MemoryFiles
from tests.doubles.store import MemoryStore
from tests.fakes.scripting import (
    Exchange,
    Respond,
    cut_after_accepting,
    cut_before,
    hang_after_accepting,
    http_status,
)
from tests.fakes.wechat import FakeWechat, errcode
from tests.plugins.telegram.intake import NoHistory
from tests.plugins.wechat.account import ANN, BOB, account, settings
from tests.plugins.wechat.test_media import FILM, PICTURE, VOICE

UPLOAD, SEND = "media/upload", "message/custom/send"


def drawing(*parts: Part, after: float = 0.0) -> FakeAgent:
    async def script(ask: Ask) -> AsyncIterator[TaskEvent]:
        await asyncio.sleep(after)
        yield replace(task(ask, TaskState.COMPLETED), artifacts=(Artifact("a1", parts),))

    return FakeAgent(script)


def picture(name: str = "chart.png", content: bytes = PICTURE) -> File:
    return File(name, "image/png", size=len(content), content=content)


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

    def plugin(self, **changed: Any) -> WechatPlugin:
        host = Host(self.client, self.store, self.store, NoHistory(), self.clock, "here", files=self.files)
        return WechatPlugin("desk", settings(self.platform, **changed), host)

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


@pytest.mark.parametrize(
    "trouble",
    [
        cut_before,
        cut_after_accepting,
        hang_after_accepting,
        lambda: half_an_answer(b'{"type": "image", "media_id": "me'),
        lambda: http_status(200, body='{"type": "image", "media_id": "me'),
        lambda: http_status(200, body='{"type": "image"}'),
        lambda: http_status(200, body="<html>"),
        lambda: http_status(413),
        lambda: http_status(502),
        lambda: errcode(-1),
    ],
)
async def test_an_upload_that_failed_has_shown_nothing_and_the_next_try_shows_the_picture_once(
    shower: Shower, platform: FakeWechat, trouble: Callable[[], Respond]
) -> None:
    """Also where the platform had taken it, or nobody knows."""
    platform.script.add(UPLOAD, trouble())
    plugin = shower.plugin(timeout=0.5)
    outcome = await shower.show(plugin=plugin)
    assert isinstance(outcome, Rejected)
    assert outcome.kind is Refusal.UNAVAILABLE
    assert platform.people[ANN].texts == []
    assert isinstance(await shower.show(plugin=plugin), Sent)
    assert [each.media for each in platform.people[ANN].shown] == [PICTURE]
    assert platform.calls[SEND] == 1


def half_an_answer(body: bytes) -> Respond:
    """The work was done; the connection breaks in the middle of the answer."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        await exchange.accept()
        answer = web.StreamResponse(headers={"Content-Length": str(2 * len(body))})
        await answer.prepare(exchange.request)
        await answer.write(body)
        exchange.cut()
        return answer

    return respond


async def test_a_picture_whose_call_was_cut_may_have_been_seen_and_is_not_shown_again(
    shower: Shower, platform: FakeWechat
) -> None:
    platform.script.add(SEND, cut_after_accepting())
    assert isinstance(await shower.show(), Unknown)
    assert [each.media for each in platform.people[ANN].shown] == [PICTURE]


@pytest.mark.parametrize("call", [UPLOAD, SEND])
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (-1, Refusal.UNAVAILABLE),
        (40001, Refusal.UNAUTHORISED),
        (40164, Refusal.UNAUTHORISED),
        (43004, Refusal.BLOCKED),
        (45009, Refusal.THROTTLED),
        (45015, Refusal.WINDOW_CLOSED),
        (45047, Refusal.WINDOW_CLOSED),
    ],
)
async def test_a_code_at_any_call_for_a_picture_is_an_outcome_and_the_next_try_shows_it_once(
    shower: Shower, platform: FakeWechat, call: str, code: int, kind: Refusal
) -> None:
    script = platform.script.add(call, errcode(code), times=None)
    plugin = shower.plugin()
    outcome = await shower.show(plugin=plugin)
    assert isinstance(outcome, Rejected)
    assert (outcome.kind, str(code) in outcome.reason) == (kind, True)
    assert platform.people[ANN].texts == []
    assert platform.calls[call] == (2 if code == 40001 else 1)
    script.left = 0
    assert isinstance(await shower.show(plugin=plugin), Sent)
    assert [each.media for each in platform.people[ANN].shown] == [PICTURE]


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
