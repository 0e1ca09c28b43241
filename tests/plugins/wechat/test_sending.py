"""Customer-service messages: quotas, limits and codes, in order, once; and the token they are made with."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from core.clock import SystemClock
from core.delivery import Delivery, Refusal, Rejected, Sent, Unknown
from core.doors.outbound import GuardedClient
from core.identity import Address, Source
from core.plugin import Host, PreviewFrame
from core.seal import NoSeal, Seal
from core.store import Store
from gateway.log_lines import redactor
from gateway.sealing import KeySeal
from plugins.wechat.plugin import WechatPlugin
from tests.doubles.events import Events
from tests.doubles.store import MemoryStore
from tests.fakes.scripting import cut_after_accepting, http_status
from tests.fakes.wechat import FakeWechat, errcode
from tests.peers.processes import free_port
from tests.plugins.telegram.intake import NoHistory
from tests.plugins.wechat.account import ANN, BOB, account, settings
from tests.waiting import until

SEND = "message/custom/send"


def delivery(text: str = "hello", person: str = ANN) -> Delivery:
    where = Address(Source("wechat", "desk"), person)
    return Delivery("t-1", "c", where, "t", {"text": text}, 1, 0.0, 9e9)


class Alone:
    """A plugin whose API is called by itself; `replica` is another process on the same store."""

    def __init__(self, platform: FakeWechat, client: GuardedClient, store: MemoryStore | None = None) -> None:
        self.platform, self.client, self.store, self.events = platform, client, store or MemoryStore(), Events()
        self.seal: Seal = NoSeal()
        self.plugin = self.replica("one")
        platform.wrote(ANN)
        platform.wrote(BOB)

    def replica(self, holder: str, **changed: object) -> WechatPlugin:
        host = Host(
            self.client,
            self.store,
            self.store,
            NoHistory(),
            SystemClock(),
            holder,
            telemetry=self.events,
            seal=self.seal,
        )
        return WechatPlugin("desk", settings(self.platform, **changed), host)


@pytest.fixture
async def client() -> AsyncIterator[GuardedClient]:
    async with GuardedClient() as client:
        yield client


@pytest.fixture
def alone(platform: FakeWechat, client: GuardedClient) -> Alone:
    return Alone(platform, client)


# ---------------------------------------------------------------------------------------------- codes


@pytest.mark.parametrize(
    ("code", "kind", "name"),
    [
        (45015, Refusal.WINDOW_CLOSED, "window_closed"),
        (45047, Refusal.WINDOW_CLOSED, "quota"),
        (48001, Refusal.WINDOW_CLOSED, "no_permission"),
        (43004, Refusal.BLOCKED, "not_followed"),
        (45002, Refusal.MALFORMED, "too_long"),
        (45009, Refusal.THROTTLED, "daily_quota"),
        (-1, Refusal.UNAVAILABLE, "busy"),
        (40164, Refusal.UNAUTHORISED, "address_not_listed"),
        (99999, Refusal.MALFORMED, "refused"),
    ],
)
@pytest.mark.case("WX-15")
async def test_a_code_is_an_outcome_and_the_call_is_made_once(
    alone: Alone, platform: FakeWechat, code: int, kind: Refusal, name: str
) -> None:
    platform.script.add(SEND, errcode(code))
    outcome = await alone.plugin.send(delivery())
    assert isinstance(outcome, Rejected)
    assert outcome.kind is kind
    assert outcome.reason.startswith(f"{name} ({code})")
    assert platform.calls[SEND] == 1
    assert alone.events.of("channel.called")[-1]["outcome"] == f"{code} {name}"


async def test_the_days_quota_is_waited_for_until_midnight_in_beijing(alone: Alone, platform: FakeWechat) -> None:
    platform.script.add(SEND, errcode(45009))
    outcome = await alone.plugin.send(delivery())
    assert isinstance(outcome, Rejected)
    assert outcome.retry_after is not None
    assert 0 < outcome.retry_after <= 86_400


async def test_what_may_have_been_taken_is_unknown_and_what_certainly_was_not_is_not(
    alone: Alone, platform: FakeWechat
) -> None:
    platform.script.add(SEND, cut_after_accepting())
    assert isinstance(await alone.plugin.send(delivery()), Unknown)
    platform.script.add(SEND, http_status(502))
    assert isinstance(await alone.plugin.send(delivery()), Unknown)
    outcome = await alone.replica("one", api_base="http://127.0.0.1:9").send(delivery())
    assert isinstance(outcome, Rejected)
    assert outcome.kind is Refusal.UNAVAILABLE


@pytest.mark.case("WX-23")
async def test_an_address_that_is_not_listed_is_named_and_raises_no_storm(alone: Alone, platform: FakeWechat) -> None:
    platform.listed = False
    for _ in range(5):
        outcome = await alone.plugin.send(delivery())
        assert isinstance(outcome, Rejected)
        assert outcome.kind is Refusal.UNAUTHORISED
    assert platform.token_fetches == 1
    health = alone.plugin.health
    assert health["state"] == "unauthorised"
    assert "IP allow-list: add 203.0.113.9 to it" in str(health["note"])
    assert redactor()(str(health["note"])) == health["note"], "what stands in the log is whole"


async def test_an_api_that_does_not_answer_is_named_with_what_to_look_at(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store, api_base=f"http://127.0.0.1:{free_port()}") as there:
        await until(lambda: there.plugin.health["state"] == "unreachable")
        assert "look at the network and api_base" in str(there.plugin.health["trouble"])


async def test_a_wrong_secret_is_seen_at_the_start(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store, app_secret="f" * 32) as there:
        await until(lambda: there.plugin.health["state"] == "unauthorised")
        assert (await there.pushes.says(ANN, "hello")).reply == "HELLO"


async def test_a_wrong_secret_is_named_by_its_setting(alone: Alone, platform: FakeWechat) -> None:
    platform.app_secret = "f" * 32
    await alone.plugin.send(delivery())
    assert "see app_secret" in str(alone.plugin.health["note"])


async def test_words_travel_as_utf8_and_not_as_escapes(alone: Alone, platform: FakeWechat) -> None:
    assert isinstance(await alone.plugin.send(delivery("你好\x00😀")), Sent)
    assert "你好😀".encode() in platform.raw[-1]


@pytest.mark.case("SRC-02")
async def test_without_permission_nothing_is_asked_again_for_an_hour(alone: Alone, platform: FakeWechat) -> None:
    platform.may_send = False
    first, second = await alone.plugin.send(delivery()), await alone.plugin.send(delivery())
    assert isinstance(first, Rejected)
    assert isinstance(second, Rejected)
    assert first.kind is second.kind is Refusal.WINDOW_CLOSED
    assert platform.calls[SEND] == 1
    assert alone.plugin.health["state"] == "no_permission"
    assert alone.plugin.capabilities.activity_interval is None


async def test_the_typing_state_is_shown_where_the_account_may(alone: Alone, platform: FakeWechat) -> None:
    frame = PreviewFrame(Address(Source("wechat", "desk"), ANN), "t", "")
    await alone.plugin.preview(frame)
    assert platform.bodies[-1] == ("message/custom/typing", {"touser": ANN, "command": "Typing"})


# ---------------------------------------------------------------------------------------------- the token


@pytest.mark.parametrize("code", [40001, 40014, 42001])
@pytest.mark.case("WX-12")
async def test_a_stale_token_is_fetched_anew_and_the_call_repeated_once(
    alone: Alone, platform: FakeWechat, code: int
) -> None:
    await alone.plugin.send(delivery("first"))
    platform.script.add(SEND, errcode(code))
    assert isinstance(await alone.plugin.send(delivery("second")), Sent)
    assert platform.people[ANN].texts == ["first", "second"]
    assert platform.calls[SEND] == 3


@pytest.mark.case("WX-12")
async def test_a_second_refusal_surfaces(alone: Alone, platform: FakeWechat) -> None:
    platform.script.add(SEND, errcode(42001), times=None)
    outcome = await alone.plugin.send(delivery())
    assert isinstance(outcome, Rejected)
    assert outcome.kind is Refusal.UNAUTHORISED
    assert platform.calls[SEND] == 2


async def test_however_many_ask_a_token_is_fetched_once(alone: Alone, platform: FakeWechat) -> None:
    platform.people[ANN].left = 50
    await asyncio.gather(*(alone.plugin.send(delivery(str(n))) for n in range(30)))
    assert platform.token_fetches == 1
    platform.expire_tokens()
    await asyncio.gather(*(alone.plugin.send(delivery(str(n))) for n in range(15)))
    assert platform.token_fetches == 2


@pytest.mark.case("WX-14")
@pytest.mark.case("F25")
async def test_two_replicas_share_one_token(alone: Alone, platform: FakeWechat) -> None:
    other = alone.replica("two")
    platform.people[ANN].left = 50
    await asyncio.gather(*(each.send(delivery(str(n))) for n in range(10) for each in (alone.plugin, other)))
    assert platform.token_fetches == 1
    platform.expire_tokens()
    await asyncio.gather(*(each.send(delivery(str(n))) for n in range(5) for each in (alone.plugin, other)))
    assert platform.token_fetches == 2


async def test_a_token_survives_a_restart(alone: Alone, platform: FakeWechat) -> None:
    await alone.plugin.send(delivery())
    await alone.replica("after the restart").send(delivery())
    assert platform.token_fetches == 1


@pytest.mark.case("SEC-08")
async def test_a_stored_token_is_sealed_and_one_that_cannot_be_opened_is_fetched_anew(
    alone: Alone, platform: FakeWechat
) -> None:
    """After gateway.secret_key was changed, or where an older version stored it open."""
    alone.seal = KeySeal("a secret key of the gateway")
    await alone.replica("sealing").send(delivery())
    stored, version = await alone.store.read("desk", "access_token") or ("", 0)
    assert platform.tokens[-1].value not in stored
    await alone.replica("the same").send(delivery())
    assert platform.token_fetches == 1
    alone.seal = KeySeal("another secret key of it")
    assert isinstance(await alone.replica("another key").send(delivery()), Sent)
    assert platform.token_fetches == 2
    opened = {"token": platform.tokens[-1].value, "until": 9e9, "app": "open"}
    await alone.store.write("desk", "access_token", json.dumps(opened), version=version + 1)
    assert isinstance(await alone.replica("after an upgrade").send(delivery()), Sent)
    assert platform.token_fetches == 3


async def test_another_secret_gets_another_token(alone: Alone, platform: FakeWechat) -> None:
    await alone.plugin.send(delivery())
    platform.app_secret = "a" * 32
    assert isinstance(await alone.replica("x", app_secret="a" * 32).send(delivery()), Sent)
    assert platform.token_fetches == 2


async def test_where_the_platform_gives_the_failed_token_again_a_new_one_is_forced(
    alone: Alone, platform: FakeWechat
) -> None:
    await alone.plugin.send(delivery())
    platform.script.add(SEND, errcode(40001))
    await alone.plugin.send(delivery())
    asked = [body["force_refresh"] for call, body in platform.bodies if call == "stable_token"]
    assert asked == [False, False, True]


# ---------------------------------------------------------------------------------------------- menus

MENU = {"text": "Which one?\n1. a table\n2. a car", "menu": {"head": "Which one?", "lines": ["1. a table", "2. a car"]}}


async def test_choices_are_sent_as_a_menu_whose_clicks_write_its_lines(alone: Alone, platform: FakeWechat) -> None:
    outcome = await alone.plugin.send(replace(delivery(), payload=MENU, is_repeat=True))

    assert isinstance(outcome, Sent)
    items = [{"id": "1", "content": "1. a table"}, {"id": "2", "content": "2. a car"}]
    assert platform.menus == [{"head_content": "(again) Which one?", "list": items, "tail_content": ""}]


async def test_a_menu_that_the_platform_refuses_is_sent_in_words(alone: Alone, platform: FakeWechat) -> None:
    platform.script.add(SEND, errcode(48008))
    outcome = await alone.plugin.send(replace(delivery(), payload=MENU))

    assert isinstance(outcome, Sent)
    assert platform.people[ANN].texts == [MENU["text"]]
