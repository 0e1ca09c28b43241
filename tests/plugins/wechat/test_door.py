"""The door: who is let in, what is refused before it is read, and that every refusal of a forger looks the same."""

import asyncio
import time

import pytest

from core.access import Access
from core.clock import SystemClock
from core.errors import StoreUnavailable
from core.store import Store
from tests.fakes.wechat import AES_KEY, TOKEN, FakeWechat
from tests.fakes.wechat_pushes import Pushes
from tests.fakes.wechat_seal import element, seal, sign
from tests.plugins.wechat.account import ANN, BOB, Account, account

OTHER_KEY = "ZYXWVUTSRQPONMLKJIHGFEDCBA9876543210zyxwvu8"


def admitted(there: Account) -> int:
    return len(there.desk.events.of("envelope.admitted"))


def sealed(pushes: Pushes, inner: str, **changed: str) -> tuple[dict[str, str], str]:
    """A push whose cipher holds these bytes of base64, rightly signed."""
    query = pushes.query()
    signature = sign(TOKEN, query["timestamp"], query["nonce"], inner)
    query |= {"encrypt_type": "aes", "msg_signature": signature, **changed}
    return query, f"<xml>{element('Encrypt', inner)}</xml>"


async def test_a_valid_push_is_served_first(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store) as there:
        assert (await there.pushes.says(ANN, "hello")).reply == "HELLO"


@pytest.mark.case("WX-20")
@pytest.mark.case("T14")
@pytest.mark.parametrize("mode", ["safe", "plain"])
async def test_the_url_check_gets_its_echostr_back_as_plain_text(platform: FakeWechat, store: Store, mode: str) -> None:
    async with account(platform, store, mode=mode) as there:
        query = {**there.pushes.query(), "echostr": "<script>1</script>"}
        status, text, headers = await there.pushes.get(query)
        assert (status, text) == (200, "<script>1</script>")
        assert headers["Content-Type"] == "text/plain; charset=utf-8"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert (await there.pushes.get({**query, "signature": "0" * 40}))[0] == 403


@pytest.mark.case("SEC-01")
@pytest.mark.case("T08")
@pytest.mark.parametrize("signature", ["", "0" * 40, "0" * 39, None])
async def test_a_wrong_missing_or_short_signature_is_refused(
    platform: FakeWechat, store: Store, signature: str | None
) -> None:
    async with account(platform, store) as there:
        query, body = there.pushes.signed("<xml></xml>")
        query = {name: value for name, value in query.items() if name != "signature"}
        request = await there.pushes.post(body, query if signature is None else {**query, "signature": signature})
        assert request.status == 403
        assert admitted(there) == 0


@pytest.mark.case("T08")
async def test_a_part_of_the_right_signature_or_a_second_one_is_refused(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store) as there:
        query, body = there.pushes.signed(as_xml(there.pushes.message(ANN, "text", Content="hello")))
        for name in ("signature", "msg_signature"):
            for wrong in (query[name][:39], query[name] + "0", query[name].upper()):
                assert (await there.pushes.post(body, {**query, name: wrong})).status == 403
        there.pushes.url += f"?signature={query['signature']}"
        assert (await there.pushes.post(body, query)).status == 403
        assert admitted(there) == 0


@pytest.mark.case("SEC-05")
@pytest.mark.case("SRC-14")
@pytest.mark.case("T09")
@pytest.mark.parametrize("age", [-420, 420])
async def test_a_query_signed_too_long_ago_or_ahead_is_refused(platform: FakeWechat, store: Store, age: int) -> None:
    async with account(platform, store) as there:
        message = there.pushes.message(ANN, "text", Content="hello")
        query, body = there.pushes.signed(as_xml(message), there.pushes.query(at=time.time() + age))
        assert (await there.pushes.post(body, query)).status == 403
        assert admitted(there) == 0


@pytest.mark.parametrize("query", [{"signature": "0" * 39}, {"timestamp": "1"}, {"nonce": ""}])
async def test_a_call_that_no_platform_makes_is_not_taken_for_one_under_another_token(
    platform: FakeWechat, store: Store, query: dict[str, str]
) -> None:
    async with account(platform, store) as there:
        there.pushes.token = "anotherToken1"
        assert (await there.pushes.get({**there.pushes.query(), **query}))[0] == 403
        assert there.plugin.health["note"] == ""


async def test_a_clock_that_is_wrong_is_said_and_an_old_query_that_is_sent_again_is_not_taken_for_one(
    platform: FakeWechat, store: Store
) -> None:
    async with account(platform, store) as there:
        old = there.pushes.signed("<xml></xml>", there.pushes.query(at=time.time() - 420))
        assert (await there.pushes.post(old[1], old[0])).status == 403
        assert "set this machine's clock" in str(there.plugin.health["trouble"])
        assert (await there.pushes.says(ANN, "hello")).reply == "HELLO"
        assert there.plugin.health["trouble"] == ""
        assert (await there.pushes.post(old[1], old[0])).status == 403
        assert there.plugin.health["trouble"] == ""


async def test_an_old_query_that_is_sent_again_while_nobody_writes_is_no_trouble(
    platform: FakeWechat, store: Store
) -> None:
    """The platform signed it in its time, so that it says nothing of a clock."""
    clock = Later()
    async with account(platform, store, clock=clock, options={"clock": clock}) as there:
        old = there.pushes.signed("<xml></xml>")
        assert (await there.pushes.post(old[1], old[0])).status == 200
        clock.seconds = 420.0
        assert (await there.pushes.post(old[1], old[0])).status == 403
        assert there.plugin.health["trouble"] == ""
        ahead = there.pushes.signed("<xml></xml>", there.pushes.query(at=time.time() + 840))
        assert (await there.pushes.post(ahead[1], ahead[0])).status == 403
        assert "set this machine's clock" in str(there.plugin.health["trouble"])


class Later(SystemClock):
    """So many seconds later, by both clocks."""

    seconds = 0.0

    def now(self) -> float:
        return super().now() + self.seconds

    def monotonic(self) -> float:
        return super().monotonic() + self.seconds


@pytest.mark.case("SEC-05")
@pytest.mark.case("T09")
async def test_in_plain_mode_a_nonce_belongs_to_its_first_message(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store, mode="plain") as there:
        query = there.pushes.query()
        first = as_xml(there.pushes.message(ANN, "text", Content="one"))
        second = as_xml(there.pushes.message(ANN, "text", Content="two"))
        assert (await there.pushes.post(first, query)).status == 200
        assert (await there.pushes.post(first, query)).status == 200
        assert (await there.pushes.post(second, query)).status == 403
        assert len(there.agent.asks) == 1
    async with account(platform, store, mode="plain") as there:  # what is in memory is gone, the dedupe key is not
        assert (await there.pushes.post(second, query)).status == 200
        assert [each["outcome"] for each in there.desk.events.of("envelope.admitted")] == ["duplicate"]
        assert there.agent.asks == []


async def test_a_safe_account_takes_nothing_unencrypted_but_the_cipher_of_compatible_mode(
    platform: FakeWechat, store: Store
) -> None:
    async with account(platform, store, pushed="compatible") as there:
        assert (await there.pushes.says(ANN, "hello")).reply == "HELLO"
        there.pushes.mode = "plain"
        assert (await there.pushes.request(there.pushes.message(ANN, "text", Content="forged"))).status == 403
        assert admitted(there) == 1
        assert "choose safe mode on the platform" in str(there.plugin.health["trouble"])
        there.pushes.mode = "safe"
        assert (await there.pushes.says(ANN, "hello")).reply == "HELLO"
        assert there.plugin.health["trouble"] == ""


async def test_a_plain_account_whose_platform_encrypts_says_so_until_a_push_can_be_read(
    platform: FakeWechat, store: Store
) -> None:
    async with account(platform, store, mode="plain", pushed="safe") as there:
        assert (await there.pushes.says(ANN, "hello")).reply is None
        assert 'set mode = "safe" and encoding_aes_key' in str(there.plugin.health["trouble"])
        there.pushes.mode = "plain"
        assert (await there.pushes.says(ANN, "hello")).reply == "HELLO"
        assert there.plugin.health["trouble"] == ""


@pytest.mark.case("SRC-14")
@pytest.mark.case("T13")
@pytest.mark.case("WX-21")
async def test_every_bad_signature_or_cipher_gets_the_very_same_refusal(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store) as there:
        good = seal(as_xml(there.pushes.message(ANN, "text", Content="hello")), AES_KEY, there.pushes.app_id)
        flipped = good[:40] + ("A" if good[40] != "A" else "B") + good[41:]
        attempts = [
            sealed(there.pushes, flipped),
            sealed(there.pushes, seal("<xml></xml>", AES_KEY, "wxffffffffffffffff")),
            sealed(there.pushes, seal("<xml></xml>", AES_KEY, "")),
            sealed(there.pushes, seal("<xml></xml>", OTHER_KEY, there.pushes.app_id)),
            sealed(there.pushes, "AAAA"),
            sealed(there.pushes, "not base64!"),
            sealed(there.pushes, ""),
            sealed(there.pushes, good, msg_signature="0" * 40),
            sealed(there.pushes, good, signature="0" * 40),
        ]
        answers = [await there.pushes.post(body, query) for query, body in attempts]
        assert {(each.status, each.body) for each in answers} == {(403, answers[0].body)}
        assert admitted(there) == 0
        note = str(there.plugin.health["note"])
        assert "encoding_aes_key" in note
        assert AES_KEY not in note


async def test_while_the_key_is_changed_both_are_good_and_each_is_answered_in_its_own(
    platform: FakeWechat, store: Store
) -> None:
    async with account(platform, store, encoding_aes_key=OTHER_KEY, previous_encoding_aes_key=AES_KEY) as there:
        assert (await there.pushes.says(ANN, "old")).reply == "OLD"
        there.pushes.aes_key = OTHER_KEY
        assert (await there.pushes.says(ANN, "new")).reply == "NEW"


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n > 1 else "&a;" * 10}">' for n in range(1, 10)
)
EXTERNAL = '<!DOCTYPE x [<!ENTITY e SYSTEM "http://127.0.0.1:9/xxe">]><xml><Encrypt>&e;</Encrypt></xml>'


@pytest.mark.case("WX-19")
@pytest.mark.case("T11")
@pytest.mark.case("T12")
@pytest.mark.parametrize(
    "body",
    [
        EXTERNAL,
        BOMB + "]><xml><Encrypt>&a9;</Encrypt></xml>",
        '<!DOCTYPE x [<!ENTITY a "' + "A" * 50_000 + '">]><xml><Encrypt>' + "&a;" * 1000 + "</Encrypt></xml>",
        "<!DOCTYPE x><xml><Encrypt>A</Encrypt></xml>",
        "<xml>" + "<a>" * 3000,
        "<xml>" + "<a/>" * 3000 + "</xml>",
        "",
        "<xml/>",
        "no xml",
        '<?xml version="1.0" encoding="utf-16"?><xml><Encrypt>A</Encrypt>',
    ],
    ids=["external", "bomb", "quadratic", "doctype", "deep", "many", "empty", "nothing", "words", "other encoding"],
)
@pytest.mark.parametrize("mode", ["safe", "plain"])
async def test_what_declares_anything_or_is_no_message_is_refused_before_it_is_read(
    platform: FakeWechat, store: Store, body: str, mode: str
) -> None:
    async with account(platform, store, mode=mode) as there:
        query = {**there.pushes.query(), "encrypt_type": "aes", "msg_signature": "0" * 40}
        request = await there.pushes.post(body, query)
        assert request.status == (403 if mode == "safe" and body == "<xml/>" else 200 if body == "<xml/>" else 400)
        assert there.agent.asks == []


@pytest.mark.case("WX-19")
async def test_a_body_over_the_cap_is_not_read(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store) as there:
        request = await there.pushes.post("<xml>" + "x" * 300_000 + "</xml>", there.pushes.signed("")[0])
        assert request.status in (413, None)
        assert there.agent.asks == []


@pytest.mark.case("T19")
async def test_bytes_that_are_no_text_are_refused_and_a_nul_is_kept_out(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store, mode="plain") as there:
        for bad in (b"<xml>\xff\xfe</xml>", b"<xml><Content>\xed\xa0\x80</Content></xml>", b"<xml>\x00</xml>"):
            assert (await there.pushes.post(bad, there.pushes.query())).status == 400
        assert there.agent.asks == []


@pytest.mark.parametrize("mode", ["safe", "plain"])
async def test_words_that_look_like_a_declaration_are_words(platform: FakeWechat, store: Store, mode: str) -> None:
    async with account(platform, store, mode=mode) as there:
        assert (await there.pushes.says(ANN, "<!DOCTYPE html>")).reply == "<!DOCTYPE HTML>"


@pytest.mark.case("T93")
async def test_two_accounts_do_not_answer_for_each_other(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store) as one, account(platform, store, name="other", token="anotherToken1") as other:
        one.pushes.url, url = other.pushes.url, one.pushes.url
        assert (await one.pushes.request(one.pushes.message(ANN, "text", Content="hello"))).status == 403
        one.pushes.url = url
        assert (await one.pushes.says(ANN, "hello")).reply == "HELLO"
        assert admitted(other) == 0


@pytest.mark.case("SEC-07")
async def test_whoever_is_not_listed_is_met_with_silence(platform: FakeWechat, store: Store) -> None:
    options = {"access": Access("allow", "off", frozenset({BOB}))}
    async with account(platform, store, options=options) as there:
        assert (await there.pushes.says(ANN, "hello")).reply is None
        assert (await there.pushes.says(BOB, "hello")).reply == "HELLO"


@pytest.mark.case("DEL-07")
@pytest.mark.case("T10")
async def test_what_cannot_be_stored_is_left_without_an_answer_and_asked_for_again(
    platform: FakeWechat, store: Store
) -> None:
    """Any answer that is no reply would end the platform's requests, and tell the person that the account is broken."""

    class Full:
        async def accept(self, *_: object, **__: object) -> object:
            raise StoreUnavailable("the disk is full")

    async with account(platform, store) as there:
        intake = there.plugin._webhook._intake
        there.plugin._webhook.opens(Full())  # type: ignore[arg-type]
        message = there.pushes.message(ANN, "text", Content="hello")
        assert (await there.pushes.request(message)).status is None
        there.plugin._webhook.closes()
        assert (await there.pushes.request(message)).status is None
        there.plugin._webhook.opens(intake)  # type: ignore[arg-type]
        last = await there.pushes.push(message)
        assert (last.statuses, last.reply) == ([200], "HELLO")


async def test_requests_that_come_together_are_one_task(platform: FakeWechat, store: Store) -> None:
    async with account(platform, store) as there:
        message = there.pushes.message(ANN, "text", Content="hello")
        answers = await asyncio.gather(*(there.pushes.request(message) for _ in range(3)))
        assert {there.pushes.reply_in(each.body) for each in answers} == {"HELLO"}
        assert len(there.agent.asks) == 1


def as_xml(fields: dict[str, object]) -> str:
    return "<xml>" + "".join(element(*item) for item in fields.items()) + "</xml>"
