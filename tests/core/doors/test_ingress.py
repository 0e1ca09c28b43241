"""The one way in: who is let in, what is read of them, and in which order."""

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from core.doors.ingress import BadJson, Ingress, IngressLimits, Refusal, require_secret, strict_json
from core.doors.listener import Listener
from tests.core.doors.wire import PATIENCE, RawAnswer, ask, converse, parse, read_answer
from tests.waiting import within

SECRET = "s3cret-Token_1"
HEADER = "X-Telegram-Bot-Api-Secret-Token"
LIMITS = IngressLimits(body=1000, body_deadline=0.3, head_deadline=0.3, keepalive=0.6, linger=0.2)
BODY = b'{"update_id":1}'


@dataclass
class Desk:
    """A listening ingress and what it let through."""

    port: int = 0
    admitted: list[bytes] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    async def handle(self, request: web.Request, body: bytes) -> web.Response:
        self.admitted.append(body)
        return web.Response(text="admitted")


async def signed(request: web.Request) -> None:
    await asyncio.sleep(0)
    if "X-Signature" not in request.headers:
        raise Refusal(401, "no_signature", headers={"WWW-Authenticate": "Signature"})


def verify(request: web.Request, body: bytes) -> None:
    expected = hmac.new(b"key", body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(request.headers["X-Signature"].encode(), expected.encode()):
        raise Refusal(401, "bad_signature")


async def parsed(request: web.Request, body: bytes) -> web.Response:
    return web.json_response(strict_json(body))


async def busy(request: web.Request, body: bytes) -> web.Response:
    raise Refusal(503, "queue_full", headers={"Retry-After": "7"})


async def broken(request: web.Request, body: bytes) -> web.Response:
    raise RuntimeError("secret inner detail")


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    desk = Desk()
    ingress = Ingress(LIMITS, on_refusal=lambda _, refusal: desk.refusals.append(refusal.reason))
    guard = require_secret(HEADER, SECRET.encode())
    app = web.Application()
    app.add_routes(
        [
            ingress.post("/hook", authenticate=guard, handle=desk.handle),
            ingress.get("/hook/state", authenticate=guard, handle=desk.handle),
            ingress.post("/signed", authenticate=signed, verify=verify, handle=desk.handle, content_types=None),
            ingress.post("/parsed", authenticate=guard, handle=parsed),
            ingress.post("/busy", authenticate=guard, handle=busy),
            ingress.post("/broken", authenticate=guard, handle=broken),
        ]
    )
    async with Listener(app, limits=LIMITS, grace=1.0) as listener:
        desk.port = listener.port
        yield desk


def post(path: str = "/hook", body: bytes = BODY, secret: str | None = SECRET, **headers: str) -> bytes:
    lines = {"Host": "desk", "Content-Type": "application/json", "Content-Length": str(len(body))}
    if secret is not None:
        lines[HEADER] = secret
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body


async def refused(desk: Desk, raw: bytes) -> RawAnswer:
    answer = await ask(desk.port, raw)
    assert desk.admitted == []
    assert answer.problem["status"] == answer.status
    return answer


@pytest.mark.case("T00")
async def test_a_valid_request_is_served(desk: Desk) -> None:
    answer = await ask(desk.port, post())
    assert (answer.status, answer.body, desk.admitted) == (200, b"admitted", [BODY])


async def test_requests_on_one_connection_are_answered_in_order(desk: Desk) -> None:
    bodies = [b'{"update_id":%d}' % n for n in range(5)]
    reader, writer = await asyncio.open_connection("127.0.0.1", desk.port)
    writer.write(b"".join(post(body=body) for body in bodies))
    for _ in bodies:
        assert (await read_answer(reader)).status == 200
    writer.close()
    assert desk.admitted == bodies


@pytest.mark.case("T01")
@pytest.mark.case("SEC-01")
@pytest.mark.parametrize("secret", [None, "wrong"])
async def test_a_forged_update_is_refused_and_counted(desk: Desk, secret: str | None) -> None:
    answer = await refused(desk, post(secret=secret))
    assert (answer.status, desk.refusals) == (401, ["bad_secret"])


@pytest.mark.case("T02")
async def test_a_bad_secret_is_answered_while_the_body_is_outstanding(desk: Desk) -> None:
    raw = await converse(desk.port, post(secret="wrong", body=b"{", Content_Length="900"))
    assert parse(raw).status == 401
    assert "connection: close" in parse(raw).head.lower()


@pytest.mark.case("T02")
async def test_the_secret_is_checked_before_anything_else_of_the_head(desk: Desk) -> None:
    answer = await refused(desk, post(secret="wrong", Content_Type="text/plain", Content_Length="9999999"))
    assert answer.status == 401


@pytest.mark.case("T02")
async def test_a_stranger_who_asks_is_not_told_to_send_the_body(desk: Desk) -> None:
    head = post(secret="wrong", body=b"", Content_Length="15", Expect="100-continue")
    assert parse(await converse(desk.port, head)).status == 401


async def test_an_authenticated_caller_who_asks_is_told_to_go_on(desk: Desk) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", desk.port)
    writer.write(post(body=b"", Content_Length=str(len(BODY)), Expect="100-continue"))
    async with within(PATIENCE):
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
        writer.write(BODY)
        assert (await read_answer(reader)).status == 200
    writer.close()


async def test_an_unknown_expectation_is_refused(desk: Desk) -> None:
    assert (await refused(desk, post(Expect="200-maybe"))).status == 417


@pytest.mark.case("T03")
@pytest.mark.parametrize(
    "secret", [SECRET[:-1], SECRET + "x", SECRET.swapcase(), f"{SECRET},{SECRET}", "\x80", "ä" * len(SECRET)]
)
async def test_a_secret_that_is_almost_right_is_wrong(desk: Desk, secret: str) -> None:
    assert (await refused(desk, post(secret=secret))).status == 401


@pytest.mark.case("T03")
@pytest.mark.parametrize("second", [SECRET, "wrong"])
async def test_a_secret_given_twice_is_wrong(desk: Desk, second: str) -> None:
    raw = post().replace(b"\r\n\r\n", f"\r\n{HEADER}: {second}\r\n\r\n".encode(), 1)
    assert (await refused(desk, raw)).status == 401


@pytest.mark.case("T05")
@pytest.mark.parametrize("secret", [b"", b"  ", b"\t\n"])
def test_an_empty_secret_cannot_be_set(secret: bytes) -> None:
    with pytest.raises(ValueError, match="must be set"):
        require_secret(HEADER, secret)


@pytest.mark.case("T16")
async def test_a_body_announced_too_long_is_refused_unread(desk: Desk) -> None:
    raw = await converse(desk.port, post(body=b"{", Content_Length="1001"))
    assert parse(raw).status == 413
    assert desk.admitted == []


@pytest.mark.case("T16")
@pytest.mark.parametrize("size", [1001, 400_000])
async def test_a_chunked_body_is_counted_while_it_is_read(desk: Desk, size: int) -> None:
    head = post(body=b"", Content_Length="", Transfer_Encoding="chunked")
    chunks = b"%x\r\n%s\r\n" % (size, b" " * size)
    assert parse(await converse(desk.port, head, chunks, b"0\r\n\r\n")).status == 413
    assert desk.admitted == []


async def test_a_body_of_exactly_the_limit_is_admitted_also_in_chunks(desk: Desk) -> None:
    head = post(body=b"", Content_Length="", Transfer_Encoding="chunked")
    body = b"1" * 1000
    assert (await ask(desk.port, post(body=body))).status == 200
    assert (
        await ask(desk.port, head + b"1f4\r\n" + body[:500] + b"\r\n1f4\r\n" + body[500:] + b"\r\n0\r\n\r\n")
    ).status == 200
    assert desk.admitted == [body, body]


@pytest.mark.case("T17")
async def test_a_slow_body_ends_at_the_deadline_while_others_are_served(desk: Desk) -> None:
    slow = asyncio.create_task(converse(desk.port, post(body=b"{")))
    assert (await ask(desk.port, post())).status == 200
    stalled = post(Content_Length="100")
    assert parse(await converse(desk.port, stalled)).status == 408
    assert parse(await slow).status == 200
    assert BODY in desk.admitted


@pytest.mark.case("T21")
@pytest.mark.parametrize(
    "value",
    [
        "text/plain",
        "application/json; charset=utf-7",
        "application/json; charset=utf-16",
        "application/json; charset=latin-1",
        "application/json; boundary=x",
        "application/x-www-form-urlencoded",
        "application/jsonx",
        "application/json, text/plain",
        "",
    ],
)
async def test_another_content_type_is_refused(desk: Desk, value: str) -> None:
    assert (await refused(desk, post(Content_Type=value))).status == 415


@pytest.mark.case("T21")
@pytest.mark.parametrize(
    "value", ["application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"', "application/json;"]
)
async def test_json_in_utf_8_is_accepted_however_it_is_spelled(desk: Desk, value: str) -> None:
    assert (await ask(desk.port, post(Content_Type=value))).status == 200


@pytest.mark.case("T22")
@pytest.mark.parametrize(
    "value", ["gzip", "deflate", "br", "zstd", "x-gzip", "identity, gzip", "identity\r\nContent-Encoding: gzip"]
)
async def test_an_encoded_body_is_refused_from_the_head(desk: Desk, value: str) -> None:
    raw = await converse(desk.port, post(body=b"\x1f\x8b", Content_Encoding=value, Content_Length="900"))
    assert parse(raw).status == 415
    assert desk.admitted == []


async def test_a_signature_is_checked_over_the_raw_bytes_before_they_are_used(desk: Desk) -> None:
    signature = hmac.new(b"key", BODY, hashlib.sha256).hexdigest()
    tampered = post("/signed", BODY.replace(b"1", b"2"), X_Signature=signature)
    assert (await refused(desk, tampered)).status == 401
    assert (await ask(desk.port, post("/signed", BODY, X_Signature=signature))).status == 200
    assert (desk.refusals, desk.admitted) == (["bad_signature"], [BODY])


async def test_a_missing_signature_is_refused_from_the_head_with_its_challenge(desk: Desk) -> None:
    answer = await refused(desk, post("/signed", body=b"{", Content_Length="900"))
    assert answer.status == 401
    assert "WWW-Authenticate: Signature" in answer.head


@pytest.mark.case("T15")
@pytest.mark.case("T18")
@pytest.mark.case("T19")
@pytest.mark.case("T20")
@pytest.mark.parametrize("body", [b"[" * 900, b'{"a":1,"a":2}', rb'"\ud800"', b'{"n":NaN}', b"\xff\xfe", b"{"])
async def test_json_that_is_refused_is_answered_400(desk: Desk, body: bytes) -> None:
    assert (await refused(desk, post("/parsed", body))).status == 400


async def test_a_refusal_may_carry_headers_but_keeps_its_reason_inside(desk: Desk) -> None:
    answer = await refused(desk, post("/busy"))
    assert "Retry-After: 7" in answer.head
    assert answer.problem == {"type": "about:blank", "title": "Service Unavailable", "status": 503}


@pytest.mark.case("T90")
@pytest.mark.parametrize(
    "path",
    [
        "//hook",
        "/hook/",
        "/%68ook",
        "/hook%2f",
        "/hook;a=b",
        "/x/../hook",
        "/./hook",
        "/HOOK",
        "/hook%00",
        "/hook%2fstate",
        "/%68ook/state",
        "/hoo%6B?x=1",
        "/hook\\",
    ],
)
async def test_only_the_exact_path_is_a_path(desk: Desk, path: str) -> None:
    assert (await refused(desk, post(path))).status in (400, 404, 405)


@pytest.mark.case("T90")
@pytest.mark.parametrize("method", ["PUT", "GET", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"])
async def test_only_the_exact_method_is_a_method(desk: Desk, method: str) -> None:
    raw = post(X_HTTP_Method_Override="POST", X_Method_Override="POST", Connection="close")
    answer = parse(await converse(desk.port, raw.replace(b"POST", method.encode(), 1)))
    assert (answer.status, desk.admitted) == (405, [])
    assert "Allow: POST" in answer.head


@pytest.mark.case("T90")
async def test_a_method_override_changes_nothing(desk: Desk) -> None:
    raw = post("/hook/state", X_HTTP_Method_Override="GET")
    assert (await refused(desk, raw)).status == 405


async def test_a_get_is_served_without_a_body_and_refused_with_one(desk: Desk) -> None:
    get = f"GET /hook/state HTTP/1.1\r\nHost: desk\r\n{HEADER}: {SECRET}\r\n"
    assert (await ask(desk.port, f"{get}\r\n".encode())).status == 200
    assert (await ask(desk.port, f"{get}Content-Length: 1\r\n\r\nx".encode())).status == 413
    assert desk.admitted == [b""]


@pytest.mark.case("T95")
@pytest.mark.parametrize("path", ["/nothing", "/hook", "/parsed", "/broken", "/hook\x01"])
async def test_no_answer_tells_of_versions_paths_or_traces(
    desk: Desk, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await ask(desk.port, post(path, body=b"{"))
    text = (answer.head + answer.body.decode()).lower()
    assert not any(word in text for word in ("aiohttp", "python", "traceback", "secret inner", "/work", ".py"))
    assert "server: frontdesk" in text


@pytest.mark.case("T95")
async def test_a_failing_handler_is_a_plain_500_and_its_cause_is_logged(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await refused(desk, post("/broken"))
    assert answer.problem == {"type": "about:blank", "title": "Internal Server Error", "status": 500}
    assert "secret inner detail" in caplog.text


async def test_a_caller_gone_in_the_middle_of_its_body_disturbs_nobody(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", desk.port)
    writer.write(post(Content_Length="100"))
    await writer.drain()
    writer.transport.abort()
    assert (await ask(desk.port, post())).status == 200
    assert (desk.admitted, caplog.text) == ([BODY], "")


def test_the_reason_of_refused_json_is_known_to_the_caller_and_quotes_nothing() -> None:
    assert str(BadJson("too_deep")) == "JSON refused: too_deep"
