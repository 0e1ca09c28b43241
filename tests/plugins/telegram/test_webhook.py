"""Updates brought by Telegram, over a real socket: what is believed, what is stored, and what each answer means."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from core.doors.ingress import Ingress
from core.doors.listener import Listener
from core.envelope import Unreadable
from core.errors import Busy, ConfigurationError, FloodFromSender, StoreUnavailable
from plugins.telegram.webhook import BODY_LIMIT, CHECK_INTERVAL, SECRET_HEADER
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_responses import bad_request, throttle, unauthorized
from tests.plugins.telegram import payloads as tg
from tests.plugins.telegram.conftest import SECRET, MakePlugin
from tests.plugins.telegram.intake import ManualTime, MemoryState, RecordingIntake, running
from tests.waiting import until, within

HEADERS = {SECRET_HEADER: SECRET, "Content-Type": "application/json"}


class Door:
    """The account's route on a listening gateway, and the account at work behind it."""

    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self.http = http
        self.url = url

    async def post(self, body: bytes | tg.Json, **headers: str) -> aiohttp.ClientResponse:
        raw = body if isinstance(body, bytes) else tg.raw(body)
        return await self.http.post(self.url, data=raw, headers={**HEADERS, **headers})


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
async def door(make_plugin: MakePlugin, intake: RecordingIntake, http: aiohttp.ClientSession) -> AsyncIterator[Door]:
    plugin = make_plugin(mode="webhook", webhook_secret=SECRET)
    app = web.Application()
    app.add_routes(plugin.routes(Ingress()))
    async with Listener(app) as listener, running(plugin.run(intake)):
        await until(lambda: plugin.health["state"] == "receiving")
        yield Door(http, f"http://127.0.0.1:{listener.port}/hooks/support")


@pytest.mark.case("T00")
async def test_an_update_is_acknowledged_once_the_host_has_it(door: Door, intake: RecordingIntake) -> None:
    answer = await door.post(tg.update(message=tg.message("hello")))
    assert (answer.status, await answer.read()) == (200, b"{}")
    assert intake.texts == ["hello"]


@pytest.mark.case("T01")
@pytest.mark.case("SEC-01")
@pytest.mark.parametrize(
    "secret", [None, "wrong", "", SECRET[:-1], SECRET + "x", SECRET.swapcase(), f"{SECRET},{SECRET}"]
)
@pytest.mark.case("T03")
async def test_whoever_does_not_know_the_secret_is_not_believed(
    door: Door, intake: RecordingIntake, secret: str | None
) -> None:
    headers = {"Content-Type": "application/json", **({} if secret is None else {SECRET_HEADER: secret})}
    answer = await door.http.post(door.url, data=tg.raw(tg.update(message=tg.message())), headers=headers)
    assert answer.status == 401
    assert intake.batches == []


@pytest.mark.case("T03")
async def test_the_secret_twice_is_not_the_secret(door: Door, intake: RecordingIntake) -> None:
    twice = [(SECRET_HEADER, SECRET), (SECRET_HEADER, SECRET), ("Content-Type", "application/json")]
    answer = await door.http.post(door.url, data=tg.raw(tg.update(message=tg.message())), headers=twice)
    assert (answer.status, intake.batches) == (401, [])


@pytest.mark.case("T02")
async def test_a_forger_is_refused_before_the_body_came(door: Door) -> None:
    port = URL(door.url).port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST /hooks/support HTTP/1.1\r\nHost: x\r\n{SECRET_HEADER}: no\r\nContent-Length: 900000\r\n\r\n{{"
    writer.write(head.encode())
    async with within(5):
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 401 ")
    writer.close()


@pytest.mark.case("TG-39")
@pytest.mark.case("T04")
async def test_one_update_posted_twice_at_once_is_one_message(door: Door, intake: RecordingIntake) -> None:
    update = tg.update(message=tg.message("once"))
    answers = await asyncio.gather(door.post(update), door.post(update))
    assert [answer.status for answer in answers] == [200, 200]
    assert intake.texts == ["once"]


@pytest.mark.case("TG-38")
@pytest.mark.parametrize(
    "raw", [b'{"update_id": 7, "message": {}}', b"{", b'{"update_id": 7, "x": NaN}', b"[]", b'{"update_id": 7}']
)
async def test_what_cannot_be_read_is_kept_and_acknowledged(door: Door, intake: RecordingIntake, raw: bytes) -> None:
    answer = await door.post(raw)
    assert answer.status == 200
    assert isinstance(intake.accepted[0], Unreadable)
    assert intake.accepted[0].raw == raw


async def test_an_update_nobody_wrote_is_acknowledged_and_not_stored(door: Door, intake: RecordingIntake) -> None:
    answer = await door.post(tg.update(channel_post=tg.message(chat=tg.CHANNEL)))
    assert (answer.status, intake.batches) == (200, [])


@pytest.mark.parametrize(
    ("error", "status", "retry_after"),
    [
        (Busy("full", retry_after=7.2), 503, "8"),
        (FloodFromSender("too much of one", retry_after=0.1), 429, "1"),
        (StoreUnavailable("locked", retry_after=9999), 503, "3600"),
    ],
)
async def test_what_the_host_cannot_take_now_is_to_be_brought_again(
    door: Door, intake: RecordingIntake, error: Busy | StoreUnavailable, status: int, retry_after: str
) -> None:
    intake.fail_with(error)
    answer = await door.post(tg.update(message=tg.message("later")))
    assert (answer.status, answer.headers["Retry-After"]) == (status, retry_after)
    assert intake.accepted == []
    assert (await door.post(tg.update(message=tg.message("later")))).status == 200
    assert intake.texts == ["later"]


@pytest.mark.case("T90")
@pytest.mark.parametrize(
    "path", ["/hooks/support/", "//hooks/support", "/hooks%2fsupport", "/hooks/support;a=b", "/hooks/x"]
)
async def test_only_the_exact_path_is_a_door(door: Door, path: str) -> None:
    url = door.url.replace("/hooks/support", path)
    answer = await door.http.post(URL(url, encoded=True), data=b"{}", headers=HEADERS)
    assert answer.status == 404


@pytest.mark.case("T90")
@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
async def test_only_post_brings_updates(door: Door, intake: RecordingIntake, method: str) -> None:
    headers = {**HEADERS, "X-HTTP-Method-Override": "POST"}
    answer = await door.http.request(method, door.url, data=tg.raw(tg.update(message=tg.message())), headers=headers)
    assert (answer.status, intake.batches) == (405, [])


async def test_a_body_beyond_the_cap_is_refused(door: Door, intake: RecordingIntake) -> None:
    answer = await door.post(b" " * (BODY_LIMIT + 1))
    assert (answer.status, intake.batches) == (413, [])


@pytest.mark.case("T95")
async def test_a_refusal_says_nothing_of_the_inside(door: Door) -> None:
    answer = await door.http.post(door.url, data=b"{", headers={SECRET_HEADER: "no"})
    said = await answer.text()
    assert not any(word in said.lower() for word in ("trace", "secret", "telegram", "python", "aiohttp", "plugins"))


@pytest.mark.case("T93")
async def test_one_accounts_secret_opens_no_other_accounts_door(
    make_plugin: MakePlugin, intake: RecordingIntake, door: Door
) -> None:
    other = make_plugin(mode="webhook", webhook_secret="other-secret")
    app = web.Application()
    app.add_routes(other.routes(Ingress()))
    async with Listener(app) as listener:
        url = f"http://127.0.0.1:{listener.port}/hooks/support"
        answer = await door.http.post(url, data=b"{}", headers=HEADERS)
    assert (answer.status, intake.batches) == (401, [])


async def test_before_the_bot_is_known_updates_are_to_be_brought_again(
    make_plugin: MakePlugin, http: aiohttp.ClientSession
) -> None:
    plugin = make_plugin(mode="webhook", webhook_secret=SECRET)
    app = web.Application()
    app.add_routes(plugin.routes(Ingress()))
    async with Listener(app) as listener:
        answer = await Door(http, f"http://127.0.0.1:{listener.port}/hooks/support").post(b"{}")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "2")


async def test_after_a_restart_updates_are_taken_while_telegram_is_out_of_reach(
    make_plugin: MakePlugin, telegram: FakeTelegram, http: aiohttp.ClientSession
) -> None:
    async with running(make_plugin(mode="webhook", webhook_secret=SECRET).run(RecordingIntake())):
        await telegram.wait_for_calls("setMyCommands", 2)
    await telegram.go_down()
    plugin, intake = make_plugin(mode="webhook", webhook_secret=SECRET), RecordingIntake()
    app = web.Application()
    app.add_routes(plugin.routes(Ingress()))
    async with Listener(app) as listener, running(plugin.run(intake)):
        await until(lambda: plugin.health["state"] == "unreachable")
        await Door(http, f"http://127.0.0.1:{listener.port}/hooks/support").post(tg.update(message=tg.message("hi")))
    assert intake.texts == ["hi"]


async def test_another_bots_name_is_not_remembered_for_this_token(
    make_plugin: MakePlugin, telegram: FakeTelegram, state: MemoryState
) -> None:
    fingerprint = hashlib.sha256(b"something else").hexdigest()[:16]
    await state.write("support", "bot", json.dumps({"id": 5, "username": "x", "token": fingerprint}), version=0)
    async with running(make_plugin(mode="webhook", webhook_secret=SECRET).run(RecordingIntake())):
        await telegram.wait_for_calls("setMyCommands", 2)
    assert json.loads(state.values["support", "bot"][0])["username"] == "desk_bot"


class TestRegistration:
    async def test_telegram_is_told_where_to_deliver_and_with_which_secret(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake
    ) -> None:
        plugin = make_plugin(mode="webhook", webhook_secret=SECRET, public_url="https://desk.example.com/")
        async with running(plugin.run(intake)):
            [call] = await telegram.wait_for_calls("setWebhook")
            await until(lambda: plugin.health["state"] == "receiving")
        assert call.params["url"] == "https://desk.example.com/hooks/support"
        assert call.params["secret_token"] == SECRET
        assert call.params["allowed_updates"] == ["message", "edited_message"]
        assert "drop_pending_updates" not in call.params

    async def test_without_a_public_url_it_is_left_to_the_operator(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake
    ) -> None:
        plugin = make_plugin(mode="webhook", webhook_secret=SECRET)
        async with running(plugin.run(intake)):
            await until(lambda: plugin.health["state"] == "receiving")
        assert telegram.calls_of("setWebhook") == []
        assert "by hand" in str(plugin.health["note"])

    async def test_it_is_repeated_until_telegram_can_be_reached(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake, time: ManualTime
    ) -> None:
        telegram.script("setWebhook", respond=throttle(1), times=2)
        plugin = make_plugin(mode="webhook", webhook_secret=SECRET, public_url="https://desk.example.com")
        async with running(plugin.run(intake)):
            await telegram.wait_for_calls("setWebhook", 3)
            await until(lambda: plugin.health["state"] == "receiving")
        assert time.waits[:2] == [1.0, 1.0]

    async def test_a_url_that_telegram_refuses_is_shown_and_the_door_stays_open(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake
    ) -> None:
        telegram.script("setWebhook", respond=bad_request("bad webhook: HTTPS url must be provided for webhook"))
        plugin = make_plugin(mode="webhook", webhook_secret=SECRET, public_url="http://desk.example.com")
        async with running(plugin.run(intake)):
            await until(lambda: plugin.health["state"] == "unreachable")
            assert "gateway.public_url" in str(plugin.health["note"])

    async def test_a_webhook_that_somebody_took_away_is_set_again(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake, time: ManualTime
    ) -> None:
        plugin = make_plugin(mode="webhook", webhook_secret=SECRET, public_url="https://desk.example.com")
        async with running(plugin.run(intake)):
            await until(lambda: CHECK_INTERVAL in time.waits)
            await telegram.updates.delete_webhook({})
            time.advance(CHECK_INTERVAL)
            await telegram.wait_for_calls("setWebhook", 2)

    async def test_a_refused_token_stops_the_account_and_names_the_setting(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, intake: RecordingIntake
    ) -> None:
        telegram.script("getMe", respond=unauthorized())
        plugin = make_plugin(mode="webhook", webhook_secret=SECRET)
        with pytest.raises(ConfigurationError, match="BotFather") as caught:
            await plugin.run(intake)
        assert caught.value.setting == "plugins.support.token"
        assert plugin.health["state"] == "unauthorised"
        assert telegram.token not in str(caught.value)


async def test_what_people_write_arrives_by_telegrams_own_delivery(
    door: Door, telegram: FakeTelegram, intake: RecordingIntake
) -> None:
    intake.fail_with(StoreUnavailable("locked", retry_after=1))
    await telegram.updates.set_webhook({"url": door.url, "secret_token": SECRET})
    telegram.user_says(1001, "hello")
    telegram.user_says(telegram.supergroup(-1001), "😀 @desk_bot help")
    await telegram.wait_until_acknowledged()
    assert sorted(intake.texts) == ["hello", "help"]
