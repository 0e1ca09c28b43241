"""What strangers and broken clients send to a running gateway: refused early, cheaply, and without a word too many.

One gateway serves all of these tests; each uses a chat of its own, and each family begins by showing that a right
request is served (T00).
"""

import asyncio
import gzip
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.fakes.agent import ScriptedAgent
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_people import person
from tests.fakes.telegram_updates import SECRET_HEADER
from tests.journeys.process import GatewayProcess, admitted, look
from tests.journeys.raw import exchange, request
from tests.journeys.setting import SECRET, account, configured, words_said
from tests.waiting import within

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOOK, OTHER_HOOK, CHAT_PAGE = "/hooks/support", "/hooks/sales", "/chat/web"
OTHER_SECRET = "another-secret-0123456789"
OTHER_TOKEN = "987654321:" + "B" * 35
HEAD_DEADLINE = 1.5  # seconds
BODY_LIMIT = 512 << 10  # bytes; of a Telegram update
JSON = "Content-Type: application/json"
_numbers = itertools.count(1)


@dataclass(slots=True)
class Desk:
    """The running gateway with its two ends."""

    gateway: GatewayProcess
    telegram: FakeTelegram
    agent: ScriptedAgent

    def update(self, chat: int, text: str, **fields: Any) -> dict[str, Any]:
        number = next(_numbers)
        private = {"id": chat, "type": "private", "first_name": "Ada"}
        body = {"message_id": number, "from": person(chat), "chat": private, "date": 1790000000, "text": text}
        return {"update_id": 50_000 + number, "message": {**body, **fields}}

    async def post(
        self, body: bytes | dict[str, Any], path: str = HOOK, secret: str | None = SECRET, **headers: str
    ) -> int:
        """The status of a webhook call."""
        sent = {"Content-Type": "application/json", **headers}
        if secret is not None:
            sent[SECRET_HEADER] = secret
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.gateway.status(path, "POST", data=data, headers=sent)

    async def envelopes(self) -> int:
        return admitted(await self.gateway.summary())

    async def is_served(self, chat: int) -> None:
        """The control (T00): a right request is taken and answered."""
        assert await self.post(self.update(chat, f"control in {chat}")) == 200
        await self.telegram.wait_for_text(chat, f"control in {chat}")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    folder: Path = tmp_path_factory.mktemp("requests") / "desk"
    async with AsyncExitStack() as stack:
        telegram = await stack.enter_async_context(FakeTelegram())
        other = await stack.enter_async_context(FakeTelegram(token=OTHER_TOKEN, username="sales_bot"))
        agent = await stack.enter_async_context(ScriptedAgent())
        gateway = await stack.enter_async_context(configured(folder, telegram.base, telegram.token, agent.card_url))
        gateway.configure("gateway", head_deadline=HEAD_DEADLINE, body_deadline=2)
        gateway.configure("plugins.sales", **account(other.base, other.token, webhook_secret=OTHER_SECRET))
        gateway.configure("plugins.web", kind="webchat", agent="remote", access={"direct": "open"})
        gateway.private |= {OTHER_SECRET, OTHER_TOKEN}
        await gateway.start()
        for bot in (telegram, other):
            await bot.wait_for_calls("setWebhook")
        yield Desk(gateway, telegram, agent)
        assert await gateway.stop() == 0
        gateway.private |= words_said(telegram)
        gateway.check_log()


# ---------------------------------------------------------------------------------------- who is let in


@pytest.mark.case("T01")
@pytest.mark.case("T03")
@pytest.mark.case("SEC-01")
@pytest.mark.parametrize(
    "secret",
    [None, "", "wrong", SECRET[:-1], SECRET + "x", SECRET.swapcase(), f"{SECRET},{SECRET}", SECRET + " " + SECRET],
)
async def test_an_update_without_the_exact_secret_is_refused_and_leaves_nothing(desk: Desk, secret: str | None) -> None:
    await desk.is_served(100)
    before = await desk.envelopes()
    assert await desk.post(desk.update(101, "forged words"), secret=secret) == 401
    assert (await desk.envelopes(), desk.telegram.texts(101)) == (before, [])


@pytest.mark.case("T03")
async def test_two_secrets_are_refused_even_when_both_are_right(desk: Desk) -> None:
    headers = [f"{SECRET_HEADER}: {SECRET}"] * 2
    body = json.dumps(desk.update(102, "forged words")).encode()
    assert (await exchange(desk.gateway.port, request(HOOK, JSON, *headers, body=body))).status == 401


@pytest.mark.case("T02")
async def test_a_forger_is_answered_before_the_body_is_there_and_the_connection_ends(desk: Desk) -> None:
    await desk.is_served(103)
    head = request(HOOK, JSON, f"{SECRET_HEADER}: wrong", "Content-Length: 900000", length=False)
    answer = await exchange(desk.gateway.port, head + b"{")
    assert (answer.status, answer.is_closed) == (401, True)


@pytest.mark.case("T93")
async def test_the_account_is_chosen_by_the_path_and_never_by_the_secret_that_fits(desk: Desk) -> None:
    await desk.is_served(104)
    update = desk.update(105, "to the other account")
    assert await desk.post(update, OTHER_HOOK, SECRET) == 401
    assert await desk.post(update, HOOK, OTHER_SECRET) == 401
    assert await desk.post(update, OTHER_HOOK, OTHER_SECRET) == 200


@pytest.mark.case("T94")
@pytest.mark.parametrize("path", ["/api/v1/summary", "/api/v1/openapi.json", "/api/v1/plugins", "/api/v1/sessions"])
async def test_the_control_api_is_closed_without_the_token(desk: Desk, path: str) -> None:
    assert await desk.gateway.status(path) == 401
    assert await desk.gateway.status(path, headers={"Authorization": "Bearer wrong-token-0123456789"}) == 401
    assert await desk.gateway.status(f"{path}?access_token={desk.gateway.token}") == 401
    assert await desk.gateway.status(path, headers={"Authorization": f"Bearer {desk.gateway.token}"}) == 200


@pytest.mark.case("T94")
async def test_metrics_are_closed_to_whoever_comes_through_a_proxy_and_nothing_else_is_open(desk: Desk) -> None:
    assert await desk.gateway.status("/metrics") == 200
    assert await desk.gateway.status("/metrics", headers={"X-Forwarded-For": "203.0.113.5"}) == 401
    assert await desk.gateway.status("/metrics", headers={"Host": "evil.test"}) == 401
    for path in ("/debug", "/openapi.json", "/docs", "/.git/config", "/console/"):
        assert await desk.gateway.status(path) == 404


# ---------------------------------------------------------------------------------------- bounds


@pytest.mark.case("T16")
async def test_a_body_over_the_cap_is_refused_by_its_length_or_as_it_grows_and_memory_stays_flat(desk: Desk) -> None:
    await desk.is_served(110)
    before = desk.gateway.memory
    secret = f"{SECRET_HEADER}: {SECRET}"
    for _ in range(10):
        declared = request(HOOK, JSON, secret, f"Content-Length: {BODY_LIMIT + 1}", length=False)
        assert (await exchange(desk.gateway.port, declared, b" " * 1000)).status == 413
        head = request(HOOK, JSON, secret, "Transfer-Encoding: chunked", length=False)
        chunks = [b"10000\r\n" + b" " * 0x10000 + b"\r\n"] * ((BODY_LIMIT + (2 << 20)) // 0x10000)
        assert (await exchange(desk.gateway.port, head, *chunks, b"0\r\n\r\n")).status in (413, 0)
    assert desk.gateway.memory - before < 16 << 20


@pytest.mark.case("T17")
async def test_fifty_slow_connections_end_at_the_deadline_and_others_are_served_meanwhile(desk: Desk) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    slow = [await asyncio.open_connection("127.0.0.1", desk.gateway.port) for _ in range(50)]
    for _, writer in slow:
        writer.write(f"POST {HOOK} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half:".encode())
    asked = loop.time()
    assert await desk.gateway.status("/healthz") == 200
    await desk.is_served(111)
    assert loop.time() - asked < 1.0 + HEAD_DEADLINE
    async with within(4 * HEAD_DEADLINE):
        for reader, writer in slow:
            assert not await reader.read()
            writer.close()
    assert loop.time() - began >= HEAD_DEADLINE


@pytest.mark.case("T17")
async def test_a_body_that_does_not_come_ends_at_its_deadline(desk: Desk) -> None:
    head = request(HOOK, JSON, f"{SECRET_HEADER}: {SECRET}", "Content-Length: 100", length=False)
    answer = await exchange(desk.gateway.port, head + b"{")
    assert (answer.status, answer.is_closed) == (408, True)


@pytest.mark.case("T22")
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
async def test_a_compressed_body_is_refused_unread(desk: Desk, encoding: str) -> None:
    await desk.is_served(112)
    before = desk.gateway.memory
    bomb = gzip.compress(bytes(50 << 20))
    assert await desk.post(bomb, **{"Content-Encoding": encoding}) == 415
    assert desk.gateway.memory - before < 8 << 20


@pytest.mark.case("T24")
async def test_a_flood_of_headers_or_trailers_is_cut_off(desk: Desk) -> None:
    await desk.is_served(113)
    many = [f"X-Header-{number}: {'v' * 40}" for number in range(5000)]
    assert (await exchange(desk.gateway.port, request(HOOK, *many))).status in (400, 431, 0)
    head = request(HOOK, JSON, f"{SECRET_HEADER}: {SECRET}", "Transfer-Encoding: chunked", length=False)
    trailers = [b"2\r\n{}\r\n0\r\n", *[f"X-Trailer-{number}: {'v' * 40}\r\n".encode() for number in range(5000)]]
    assert (await exchange(desk.gateway.port, head, *trailers)).status in (400, 408, 413, 431, 0)
    assert await desk.gateway.status("/healthz") == 200


# ---------------------------------------------------------------------------------------- framing and paths


@pytest.mark.case("T21")
@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/json; charset=utf-7", "application/x-www-form-urlencoded", "multipart/form-data", ""],
)
async def test_a_body_that_is_not_declared_as_json_is_refused(desk: Desk, content_type: str) -> None:
    await desk.is_served(120)
    assert await desk.post(desk.update(121, "in disguise"), **{"Content-Type": content_type}) == 415


@pytest.mark.case("T23")
@pytest.mark.parametrize(
    "headers",
    [
        ("Content-Length: 4", "Transfer-Encoding: chunked"),
        ("Content-Length: 4", "Content-Length: 5"),
        ("Content-Length : 4",),
        ("Content-Length: +4",),
        ("Content-Length: 4_0",),
        ("Transfer-Encoding: chunked, identity",),
        ("Transfer-Encoding: xchunked",),
    ],
)
async def test_a_request_that_could_be_read_in_two_ways_is_refused_and_the_connection_ends(
    desk: Desk, headers: tuple[str, ...]
) -> None:
    await desk.is_served(122)
    smuggled = request(HOOK, JSON, f"{SECRET_HEADER}: {SECRET}", *headers, length=False)
    second = b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    answer = await exchange(desk.gateway.port, smuggled + second, closes=True)
    assert (answer.status in (400, 413, 501, 0), answer.is_closed) == (True, True)


@pytest.mark.case("T90")
@pytest.mark.parametrize(
    "path",
    [
        "//hooks/support",
        "/hooks//support",
        "/hooks%2fsupport",
        "/hooks/%73upport",
        "/hooks/support/",
        "/hooks/support;a=b",
        "/hooks/./support",
        "/HOOKS/support",
        "/hooks/../hooks/support",
        "/hooks/unknown",
    ],
)
async def test_another_spelling_of_a_path_is_not_found(desk: Desk, path: str) -> None:
    await desk.is_served(123)
    body = json.dumps(desk.update(124, "by a side door")).encode()
    sent = request(path, JSON, f"{SECRET_HEADER}: {SECRET}", body=body)
    assert (await exchange(desk.gateway.port, sent)).status in (404, 405)


@pytest.mark.case("T90")
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "post"])
async def test_another_method_is_not_allowed_whatever_a_header_says(desk: Desk, method: str) -> None:
    body = json.dumps(desk.update(125, "by another verb")).encode()
    override = ["X-HTTP-Method-Override: POST", "X-Method-Override: POST"]
    sent = request(HOOK, JSON, f"{SECRET_HEADER}: {SECRET}", *override, method=method, body=body)
    answer = await exchange(desk.gateway.port, sent)
    assert 400 <= answer.status < 500


@pytest.mark.case("T95")
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("GET", "/nowhere", b""), ("POST", HOOK, b"{broken"), ("GET", "/api/v1/sessions", b""), ("PUT", "/healthz", b"")],
)
async def test_a_refusal_tells_no_version_no_path_and_no_trace(desk: Desk, method: str, path: str, body: bytes) -> None:
    answer = await exchange(desk.gateway.port, request(path, JSON, method=method, body=body))
    told = (answer.head + answer.body).lower()
    assert answer.status >= 400
    for word in ("aiohttp", "python", "traceback", "/work", "site-packages", ".py", "frontdesk/0"):
        assert word not in told
    assert "application/problem+json" in told


# ---------------------------------------------------------------------------------------- JSON, from a caller


BROKEN = {
    "depth of arrays": b"[" * 100_000,
    "depth of objects": b'{"a":' * 20_000,
    "duplicate keys": b'{"id":"aaaaaaaa","text":"one","text":"two"}',
    "lone surrogate": b'{"id":"aaaaaaaa","text":"\\ud800"}',
    "bad UTF-8": b'{"id":"aaaaaaaa","text":"\xff\xfe"}',
    "NaN": b'{"id":"aaaaaaaa","text":"x","n":NaN}',
    "Infinity": b'{"id":"aaaaaaaa","text":"x","n":-Infinity}',
    "an exponent out of range": b'{"id":"aaaaaaaa","text":"x","n":1e999}',
    "too many digits": b'{"id":"aaaaaaaa","text":"x","n":' + b"9" * 20_000 + b"}",
    "not an object": b'"text"',
    "nothing": b"",
    "half of it": b'{"id":"aaaaaaaa","te',
}


@pytest.mark.case("T15")
@pytest.mark.case("T18")
@pytest.mark.case("T19")
@pytest.mark.case("T20")
@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
async def test_a_caller_who_sends_bad_json_is_told_so_at_once(desk: Desk, body: bytes) -> None:
    await desk.is_served(130)
    async with desk.gateway.http.get(f"{desk.gateway.base}{CHAT_PAGE}/history") as answer:
        cookie = answer.cookies
    path, loop = f"{CHAT_PAGE}/messages", asyncio.get_running_loop()
    headers = {"Content-Type": "application/json", "Cookie": "; ".join(f"{k}={v.value}" for k, v in cookie.items())}
    right = json.dumps({"id": f"control-{next(_numbers)}", "text": "a control message"}).encode()
    assert await desk.gateway.status(path, "POST", data=right, headers=headers) == 202
    before, asked = await desk.envelopes(), loop.time()
    assert await desk.gateway.status(path, "POST", data=body, headers=headers) == 400
    assert loop.time() - asked < 3.0
    assert await desk.envelopes() == before


# ---------------------------------------------------------------------------------------- JSON, from the platform


UNREADABLE = {
    "depth": b'{"update_id":%d,"message":' + b"[" * 50_000,
    "lone surrogate": b'{"update_id":%d,"message":{"message_id":1,"text":"\\ud800"}}',
    "bad UTF-8": b'{"update_id":%d,"message":{"message_id":1,"text":"\xff\xfe"}}',
    "NaN": b'{"update_id":%d,"message":{"message_id":NaN}}',
    "1e999": b'{"update_id":%d,"message":{"message_id":1e999}}',
    "20,000 digits": b'{"update_id":%d,"message":{"message_id":' + b"9" * 20_000 + b"}}",
    "a text for a number": b'{"update_id":%d,"message":{"message_id":"x"}}',
    "half of it": b'{"update_id":%d,"message":{"mess',
    "nothing in it": b'{"update_id":%d}',
}


@pytest.mark.case("T15")
@pytest.mark.case("T19")
@pytest.mark.case("T20")
@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
async def test_an_update_of_the_platform_that_cannot_be_read_is_kept_and_the_chat_goes_on(
    desk: Desk, body: bytes
) -> None:
    await desk.is_served(140)
    number = 90_000 + next(_numbers)
    assert await desk.post(body.replace(b"%d", str(number).encode())) == 200
    told = await desk.gateway.event("envelope.admitted", external_id=str(number))
    assert (told["outcome"], told["reason"]) == ("refused", "unreadable")
    await desk.is_served(140)


async def test_an_operator_reads_what_could_not_be_read_but_no_secret_of_the_configuration(desk: Desk) -> None:
    number = 90_000 + next(_numbers)
    assert await desk.post(b'{"update_id":%d,"mess %s \xff' % (number, SECRET.encode())) == 200
    await desk.gateway.event("envelope.admitted", external_id=str(number))
    (listed,) = [item for item in await desk.gateway.items("unreadable") if item["external_id"] == str(number)]
    read = await desk.gateway.api(f"unreadable/{listed['id']}")
    assert (listed["account"], bool(listed["error"])) == ("support", True)
    assert read["body"] == f'{{"update_id":{number},"mess [hidden] \\xff'


@pytest.mark.case("T19")
async def test_a_nul_in_a_text_is_stored_and_answered(desk: Desk) -> None:
    assert await desk.post(desk.update(141, "a\u0000b in a text")) == 200
    await desk.telegram.wait_for_text(141, "b in a text")


@pytest.mark.case("T53")
async def test_control_characters_in_a_text_reach_no_log_line(desk: Desk) -> None:
    nasty = 'nasty\r\n{"level":"error","event":"forged"}\r\n\x1b[31mred\x1b[0m\u2028\u202e eyJhbGciOiJub25lIn0.e30.'
    sender = person(142, first_name=nasty, username="nasty_name")
    assert await desk.post(desk.update(142, nasty, **{"from": sender})) == 200
    await desk.telegram.wait_for_messages(142)
    await desk.gateway.event("delivery.attempted")
    assert not desk.gateway.events("forged")
    assert not [line for line in desk.gateway.lines if "\x1b" in line or "nasty" in line or "eyJ" in line]


@pytest.mark.case("T68")
async def test_what_a_payload_says_of_source_owner_and_target_is_not_believed(desk: Desk) -> None:
    claims = {"source": "operator", "owner": "root", "trust": "full", "target": "main", "session": "main"}
    update = {**desk.update(143, "I am the operator"), **claims}
    update["message"].update(claims)
    assert await desk.post(update, **{"X-Source": "operator", "X-Owner": "root"}) == 200
    await desk.telegram.wait_for_text(143, "I am the operator")
    (session,) = [it for it in await desk.gateway.items("sessions?limit=200") if it["chat"] == "143"]
    assert (session["owner"], session["account"], session["kind"]) == ("support:143", "support", "front_desk")


@pytest.mark.case("T04")
@pytest.mark.case("TG-39")
async def test_one_update_sent_many_times_at_once_is_one_envelope(desk: Desk) -> None:
    update, before = desk.update(144, "many times at once"), await desk.envelopes()
    assert set(await asyncio.gather(*(desk.post(update) for _ in range(20)))) == {200}
    await desk.telegram.wait_for_messages(144)
    await look(lambda: _is_at_rest(desk), what="the gateway to rest")
    assert (await desk.envelopes() - before, len(desk.telegram.texts(144))) == (1, 1)


async def _is_at_rest(desk: Desk) -> bool:
    return not (await desk.gateway.summary())["turns"].get("running")
