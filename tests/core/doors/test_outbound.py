"""The one way out: where it goes, what it takes back, and what is known when it fails."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence

import pytest
import trustme
from aiohttp import web

from core.doors.listener import Listener
from core.doors.outbound import (
    Ambiguous,
    BadAnswer,
    CannotConnect,
    ConnectTimeout,
    Disconnected,
    GuardedClient,
    HeadTimeout,
    NameNotFound,
    NotSent,
    OutboundPolicy,
    ReadTimeout,
    Refused,
    Timeouts,
    TlsFailed,
    TooLarge,
)
from tests.core.doors.wire import PATIENCE, raw_server, read_request
from tests.waiting import within

AUTHORITY = trustme.CA()
CERTIFICATE = AUTHORITY.issue_cert("desk.test")
PUBLIC = OutboundPolicy()
PRIVATE = OutboundPolicy(allow_private=True, body_limit=1000)
QUICK = Timeouts(connect=0.3, head=0.3, idle=0.3, whole=PATIENCE)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def resolve(host: str, port: int) -> Sequence[str]:
    match host:
        case "desk.test" | "localhost":
            return ["127.0.0.1"]
        case "mixed.test":
            return ["1.1.1.1", "127.0.0.1"]
        case "slow.test":
            await asyncio.Event().wait()
    raise OSError("no such name")


@pytest.fixture
async def client() -> AsyncIterator[GuardedClient]:
    async with GuardedClient(resolve=resolve) as client:
        yield client


@pytest.fixture
async def echo() -> AsyncIterator[int]:
    """Answers with what it was asked: method, body, and headers under X-Got-."""

    async def answer(request: web.Request) -> web.Response:
        got = {f"X-Got-{name}": value for name, value in request.headers.items()}
        return web.Response(body=request.method.encode() + b" " + await request.read(), headers=got)

    app = web.Application(client_max_size=4 << 20)
    app.router.add_route("*", "/{tail:.*}", answer)
    async with Listener(app) as listener:
        yield listener.port


class Script:
    """A raw server that plays one answer per request and remembers what it was sent."""

    def __init__(self, *answers: bytes | None) -> None:
        self.answers = list(answers)
        self.requests: list[bytes] = []
        self.connections = 0
        self.asked = asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while True:
            self.requests.append(await read_request(reader))
            self.asked.set()
            answer = self.answers.pop(0)
            if answer is None:  # hang up
                return
            writer.write(answer)
            if not answer.endswith(b"\r\n\r\nok"):
                await reader.read()  # until the client leaves
                return


async def failure(
    client: GuardedClient,
    url: str,
    *,
    policy: OutboundPolicy = PRIVATE,
    timeouts: Timeouts = QUICK,
    method: str = "POST",
) -> NotSent | Ambiguous:
    with pytest.raises((NotSent, Ambiguous)) as caught:
        await client.request(method, url, policy=policy, body=b"{}", timeouts=timeouts)
    assert isinstance(caught.value, (NotSent, Ambiguous))
    return caught.value


async def test_a_request_brings_its_answer(client: GuardedClient, echo: int) -> None:
    answer = await client.request(
        "POST", f"http://desk.test:{echo}/x", policy=PRIVATE, body=b"{}", headers={"Content-Type": "application/json"}
    )
    assert (answer.status, answer.body, answer.headers["x-got-content-type"]) == (200, b"POST {}", "application/json")


@pytest.mark.case("T31")
async def test_the_name_is_kept_for_the_host_header(client: GuardedClient, echo: int) -> None:
    answer = await client.request("GET", f"http://desk.test:{echo}/", policy=PRIVATE)
    assert answer.headers["X-Got-Host"] == f"desk.test:{echo}"


@pytest.mark.parametrize("size", [1 << 20, (1 << 20) + 1, 3 << 20])
async def test_a_large_body_goes_out_whole(client: GuardedClient, echo: int, size: int) -> None:
    policy = OutboundPolicy(allow_private=True, body_limit=4 << 20)
    answer = await client.request("PUT", f"http://desk.test:{echo}/", policy=policy, body=b"x" * size)
    assert (len(answer.body), answer.headers["X-Got-Content-Length"]) == (size + 4, str(size))


async def test_it_names_no_version_and_asks_for_no_encoding(client: GuardedClient, echo: int) -> None:
    answer = await client.request("GET", f"http://desk.test:{echo}/", policy=PRIVATE)
    assert (answer.headers["X-Got-User-Agent"], answer.headers["X-Got-Accept-Encoding"]) == ("frontdesk", "identity")


async def test_cookies_are_not_kept(client: GuardedClient) -> None:
    script = Script(OK.replace(b"\r\n\r\n", b"\r\nSet-Cookie: a=b\r\n\r\n"), OK)
    async with raw_server(script) as port:
        for _ in range(2):
            await client.request("GET", f"http://desk.test:{port}/", policy=PRIVATE)
    assert b"cookie" not in script.requests[1].lower()


async def test_proxies_of_the_environment_are_not_used(
    client: GuardedClient, echo: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(OK)
    async with raw_server(script) as port:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        await client.request("GET", f"http://desk.test:{echo}/", policy=PRIVATE)
    assert script.requests == []


@pytest.mark.case("T30")
@pytest.mark.case("A2A-22")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_an_answer_and_is_not_followed(client: GuardedClient, status: int) -> None:
    inner = Script(OK)
    async with raw_server(inner) as inside:
        head = f"HTTP/1.1 {status} Moved\r\nLocation: http://127.0.0.1:{inside}/\r\nContent-Length: 0\r\n\r\n"
        async with raw_server(Script(head.encode())) as port:
            answer = await client.request("GET", f"http://desk.test:{port}/", policy=PRIVATE)
    assert (answer.status, inner.requests) == (status, [])


@pytest.mark.case("T29")
@pytest.mark.case("A2A-22")
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{}/",
        "http://localhost.:{}/",
        "http://[::ffff:127.0.0.1]:{}/",
        "file:///etc/hosts",
        "http://169.254.169.254/",
    ],
)
async def test_a_forbidden_url_is_refused_at_dispatch_before_any_connection(client: GuardedClient, url: str) -> None:
    script = Script(OK)
    async with raw_server(script) as port:
        assert isinstance(await failure(client, url.format(port), policy=PUBLIC), Refused)
    assert script.connections == 0


@pytest.mark.case("T31")
@pytest.mark.parametrize("host", ["desk.test", "mixed.test"])
async def test_a_name_that_leads_inside_is_refused_before_any_connection(client: GuardedClient, host: str) -> None:
    script = Script(OK)
    async with raw_server(script) as port:
        error = await failure(client, f"http://{host}:{port}/secret", policy=PUBLIC)
    assert (type(error), error.reason, script.connections) == (Refused, "private_address", 0)


async def test_a_connection_made_for_one_policy_never_serves_another(client: GuardedClient) -> None:
    script = Script(OK, OK, OK)
    async with raw_server(script) as port:
        for _ in range(2):
            await client.request("GET", f"http://desk.test:{port}/", policy=PRIVATE)
        assert isinstance(await failure(client, f"http://desk.test:{port}/", policy=PUBLIC), Refused)
    assert (len(script.requests), script.connections) == (2, 1)


@pytest.mark.case("T91")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Token", "a\r\nHost: evil"),
        ("X-Token", "a\nb"),
        ("X-Token", "a\x00"),
        ("X-To\r\nken", "a"),
        ("X Token", "a"),
        ("", "a"),
        ("Host", "evil.test"),
        ("transfer-encoding", "chunked"),
        ("Content-Length", "1"),
        ("Accept-Encoding", "gzip"),
    ],
)
async def test_headers_that_would_change_the_request_are_refused(client: GuardedClient, name: str, value: str) -> None:
    with pytest.raises(Refused, match=r"^http://desk\.test:9: header$"):
        await client.request("GET", "http://desk.test:9/", policy=PRIVATE, headers={name: value})


@pytest.mark.case("DEL-02")
async def test_a_refused_connection_sent_nothing(client: GuardedClient) -> None:
    async with raw_server(Script()) as port:
        pass
    assert isinstance(await failure(client, f"http://desk.test:{port}/"), CannotConnect)


async def test_an_unknown_name_sent_nothing(client: GuardedClient) -> None:
    assert isinstance(await failure(client, "http://unknown.test/"), NameNotFound)


@pytest.mark.case("DEL-02")
@pytest.mark.parametrize("timeouts", [QUICK, Timeouts(whole=0.3)], ids=["connect", "whole"])
async def test_a_name_that_takes_too_long_sent_nothing(client: GuardedClient, timeouts: Timeouts) -> None:
    assert isinstance(await failure(client, "http://slow.test/", timeouts=timeouts), ConnectTimeout)


async def test_waiting_for_a_free_connection_sent_nothing(echo: int) -> None:
    script = Script(b"")
    async with GuardedClient(resolve=resolve, limit_per_host=1) as client, raw_server(script) as port:
        held = asyncio.create_task(
            client.request("POST", f"http://desk.test:{port}/", policy=PRIVATE, timeouts=Timeouts(head=PATIENCE))
        )
        await script.asked.wait()
        assert isinstance(await failure(client, f"http://desk.test:{port}/"), ConnectTimeout)
        held.cancel()
    assert script.connections == 1


async def test_a_server_without_tls_was_sent_nothing(client: GuardedClient) -> None:
    received: list[bytes] = []

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.read(1))
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with raw_server(plain) as port:
        error = await failure(client, f"https://desk.test:{port}/")
    assert isinstance(error, TlsFailed)
    assert received == [b"\x16"]  # a handshake, not a request


def tls_server_context(names: list[str | None]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    CERTIFICATE.configure_cert(context)
    context.sni_callback = lambda _, name, __: names.append(name)
    return context


def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    return context


async def answer_ok(request: web.Request) -> web.Response:
    return web.Response(text=str(request.url))


@pytest.mark.case("T31")
async def test_tls_is_made_with_the_name_though_the_connection_goes_to_the_address() -> None:
    names: list[str | None] = []
    app = web.Application()
    app.router.add_get("/", answer_ok)
    async with (
        Listener(app, tls=tls_server_context(names)) as listener,
        GuardedClient(resolve=resolve, tls=trusting()) as client,
    ):
        answer = await client.request("GET", f"https://desk.test:{listener.port}/", policy=PRIVATE)
    assert (answer.body, names) == (f"https://desk.test:{listener.port}/".encode(), ["desk.test"])


@pytest.mark.parametrize("host", ["desk.test", "localhost"], ids=["unknown issuer", "another name"])
async def test_a_certificate_that_is_not_good_for_the_name_sent_nothing(host: str) -> None:
    trust = trusting() if host == "localhost" else ssl.create_default_context()
    async with (
        Listener(web.Application(), tls=tls_server_context([])) as listener,
        GuardedClient(resolve=resolve, tls=trust) as client,
    ):
        assert isinstance(await failure(client, f"https://{host}:{listener.port}/"), TlsFailed)


@pytest.mark.case("DEL-01")
async def test_no_answer_in_time_leaves_open_whether_it_arrived(client: GuardedClient) -> None:
    script = Script(b"")
    async with raw_server(script) as port:
        error = await failure(client, f"http://desk.test:{port}/")
    assert isinstance(error, HeadTimeout)
    assert (error.status, len(script.requests)) == (None, 1)


async def test_the_whole_deadline_after_sending_leaves_it_open_too(client: GuardedClient) -> None:
    async with raw_server(Script(b"")) as port:
        error = await failure(client, f"http://desk.test:{port}/", timeouts=Timeouts(whole=0.3))
    assert isinstance(error, HeadTimeout)


async def test_a_peer_that_takes_no_bytes_leaves_it_open(client: GuardedClient) -> None:
    done = asyncio.Event()

    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await done.wait()

    async with raw_server(deaf) as port, within(PATIENCE):
        with pytest.raises(HeadTimeout):
            await client.request(
                "POST",
                f"http://desk.test:{port}/",
                policy=PRIVATE,
                body=b"x" * (20 << 20),
                timeouts=Timeouts(head=0.1, whole=0.5),
            )
        with pytest.raises(HeadTimeout):
            async with client.stream(
                "POST",
                f"http://desk.test:{port}/",
                policy=PRIVATE,
                body=b"x" * (20 << 20),
                timeouts=Timeouts(connect=0.2, head=0.2),
            ):
                pass
        done.set()


@pytest.mark.case("DEL-01")
@pytest.mark.parametrize("method", ["POST", "GET", "PUT", "DELETE"])
async def test_a_server_that_hangs_up_unanswered_is_asked_once_only(client: GuardedClient, method: str) -> None:
    script = Script(None, OK)
    async with raw_server(script) as port:
        error = await failure(client, f"http://desk.test:{port}/", method=method)
    assert isinstance(error, Disconnected)
    assert (error.status, len(script.requests)) == (None, 1)


@pytest.mark.case("DEL-01")
@pytest.mark.parametrize("method", ["POST", "GET", "PUT", "DELETE"])
async def test_a_kept_connection_that_fails_is_not_quietly_replaced(client: GuardedClient, method: str) -> None:
    script = Script(OK, None, OK)
    async with raw_server(script) as port:
        await client.request(method, f"http://desk.test:{port}/", policy=PRIVATE)
        error = await failure(client, f"http://desk.test:{port}/", method=method)
    assert isinstance(error, Disconnected)
    assert (len(script.requests), script.connections) == (2, 1)


async def test_a_kept_connection_that_was_closed_while_idle_is_not_used(client: GuardedClient) -> None:
    closed = asyncio.Event()
    connections = 0

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await read_request(reader)
        writer.write(OK)
        writer.close()
        await writer.wait_closed()
        closed.set()

    async with raw_server(once) as port, within(PATIENCE):
        for _ in range(3):
            closed.clear()
            answer = await client.request("POST", f"http://desk.test:{port}/", policy=PRIVATE, body=b"{}")
            assert answer.body == b"ok"
            await closed.wait()
            for _ in range(5):
                await asyncio.sleep(0)
    assert connections == 3


async def test_what_a_kept_connection_said_unasked_answers_no_later_request(client: GuardedClient) -> None:
    """A proxy says 408 to a connection that is idle for long; taken for an answer it would shift all that follow."""
    answered, spoke = asyncio.Event(), asyncio.Event()

    async def speak_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK)
        if not spoke.is_set():
            await answered.wait()
            writer.write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
            spoke.set()
            await reader.read()

    async with raw_server(speak_up) as port, within(PATIENCE):
        await client.request("POST", f"http://desk.test:{port}/", policy=PRIVATE, body=b"{}")
        answered.set()
        await spoke.wait()
        for _ in range(5):
            await asyncio.sleep(0)  # what was written is read in one of the loop's next rounds
        answer = await client.request("POST", f"http://desk.test:{port}/", policy=PRIVATE, body=b"{}")
    assert (answer.status, answer.body) == (200, b"ok")


REFUSED = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    ("early", "size"),
    [(REFUSED, 8 << 20), (REFUSED, 1 << 20), (REFUSED, 100_000), (OK, 8 << 20)],
    ids=["8 MB refused", "1 MB refused", "100 kB refused", "8 MB taken"],
)
async def test_a_connection_whose_peer_answered_before_it_took_the_body_is_not_used_again(
    client: GuardedClient, early: bytes, size: int
) -> None:
    connections = 0

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        if connections > 1:
            await read_request(reader)
            writer.write(OK)
        else:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(early)
            await done.wait()

    done = asyncio.Event()
    async with raw_server(refuse) as port, within(PATIENCE):
        url, body = f"http://desk.test:{port}/", b"x" * size
        assert (await client.request("POST", url, policy=PRIVATE, body=body)).status == int(early[9:12])
        assert (await client.request("POST", url, policy=PRIVATE, body=b"{}")).status == 200
        done.set()


async def test_a_reset_connection_leaves_it_open(client: GuardedClient) -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.transport.abort()

    async with raw_server(reset) as port:
        assert isinstance(await failure(client, f"http://desk.test:{port}/"), Disconnected)


@pytest.mark.parametrize(
    "answer",
    [b"\x00\x01garbage\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\nX" + b"x" * 100_000 + b": 1\r\n\r\n"],
    ids=["not http", "no status", "endless field"],
)
async def test_an_answer_that_cannot_be_read_leaves_it_open(client: GuardedClient, answer: bytes) -> None:
    async with raw_server(Script(answer)) as port:
        error = await failure(client, f"http://desk.test:{port}/")
    assert isinstance(error, BadAnswer)
    assert error.status is None


@pytest.mark.parametrize("encoding", ["gzip", "br", "GZIP"])
async def test_an_encoded_answer_is_refused_without_inflating_it(client: GuardedClient, encoding: str) -> None:
    answer = OK.replace(b"\r\n\r\n", f"\r\nContent-Encoding: {encoding}\r\n\r\n".encode(), 1)
    async with raw_server(Script(answer)) as port:
        error = await failure(client, f"http://desk.test:{port}/")
    assert isinstance(error, BadAnswer)
    assert (error.reason, error.status) == ("encoded_body", 200)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 No\r\nContent-Length: 1001\r\n\r\n",
        b"HTTP/1.1 400 No\r\nContent-Length: 1001\r\n\r\n" + b"x" * 1001,
        b"HTTP/1.1 400 No\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"1f4\r\n"
        + b"x" * 500
        + b"\r\n1f5\r\n"
        + b"x" * 501
        + b"\r\n",
        b"HTTP/1.1 400 No\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + b"x" * 1001 + b"\r\n0\r\n\r\n",
        b"HTTP/1.1 400 No\r\nConnection: close\r\n\r\n" + b"x" * 100_000,
    ],
    ids=["announced", "sent", "chunks", "whole chunk", "until close"],
)
async def test_an_answer_past_the_limit_is_cut_and_its_status_kept(client: GuardedClient, answer: bytes) -> None:
    async with raw_server(Script(answer)) as port:
        error = await failure(client, f"http://desk.test:{port}/")
    assert isinstance(error, TooLarge)
    assert error.status == 400


async def test_an_answer_of_exactly_the_limit_is_taken(client: GuardedClient) -> None:
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n" + b"x" * 1000 + b"\r\n0\r\n\r\n"
    async with raw_server(Script(answer)) as port:
        taken = await client.request("GET", f"http://desk.test:{port}/", policy=PRIVATE)
    assert taken.body == b"x" * 1000


@pytest.mark.parametrize("timeouts", [QUICK, Timeouts(whole=0.3)], ids=["idle", "whole"])
async def test_an_answer_that_stalls_keeps_its_status(client: GuardedClient, timeouts: Timeouts) -> None:
    async with raw_server(Script(b"HTTP/1.1 201 OK\r\nContent-Length: 9\r\n\r\nhalf")) as port:
        error = await failure(client, f"http://desk.test:{port}/", timeouts=timeouts)
    assert isinstance(error, ReadTimeout)
    assert error.status == 201


@pytest.mark.parametrize("framing", [b"Content-Length: 9", b"Transfer-Encoding: chunked"])
async def test_an_answer_cut_off_keeps_its_status(client: GuardedClient, framing: bytes) -> None:
    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 201 OK\r\n" + framing + b"\r\n\r\n4\r\nhalf")

    async with raw_server(half) as port:
        error = await failure(client, f"http://desk.test:{port}/")
    assert isinstance(error, Disconnected)
    assert error.status == 201


async def test_an_error_tells_neither_path_nor_query(client: GuardedClient) -> None:
    async with raw_server(Script(None)) as port:
        error = await failure(client, f"http://desk.test:{port}/bot1:TOKEN/x?key=SECRET")
    assert str(error) == f"http://desk.test:{port}: no_answer"


async def test_a_connection_is_used_again_after_its_answer_was_read(client: GuardedClient) -> None:
    script = Script(*[OK] * 5)
    async with raw_server(script) as port:
        for _ in range(5):
            await client.request("POST", f"http://desk.test:{port}/", policy=PRIVATE, body=b"{}")
    assert script.connections == 1
