"""The socket: how long it waits, how much it holds, and what it says of framing that means two things."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from aiohttp import web

from core.doors.ingress import Ingress, IngressLimits, Refusal
from core.doors.listener import Listener
from tests.core.doors.wire import PATIENCE, ask, converse, parse, read_answer
from tests.waiting import within

LIMITS = IngressLimits(body=1000, body_deadline=0.5, head_deadline=0.3, keepalive=0.6, linger=0.2)
GOOD = b"POST /hook HTTP/1.1\r\nHost: desk\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
HEAD = b"POST /hook HTTP/1.1\r\nHost: desk\r\nContent-Type: application/json\r\n"


def anybody(request: web.Request) -> None:
    """These tests are about what comes before authentication."""


class Rooms:
    """An application with a quick and a slow room."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.keys: list[str | None] = []
        self.entered = asyncio.Event()
        self.leave = asyncio.Event()
        ingress = Ingress(LIMITS)
        self.app = web.Application()
        self.app.add_routes(
            [
                ingress.post("/hook", authenticate=anybody, handle=self.quick),
                ingress.post("/slow", authenticate=anybody, handle=self.slow),
            ]
        )

    async def quick(self, request: web.Request, body: bytes) -> web.Response:
        self.bodies.append(body)
        self.keys.append(request.headers.get("X-API-Key"))
        return web.Response(text="ok")

    async def slow(self, request: web.Request, body: bytes) -> web.Response:
        self.entered.set()
        await self.leave.wait()
        return web.Response(text="done")


@pytest.fixture
async def rooms() -> Rooms:
    return Rooms()


@pytest.fixture
async def port(rooms: Rooms) -> AsyncIterator[int]:
    async with Listener(rooms.app, limits=LIMITS, grace=1.0) as listener:
        yield listener.port


@pytest.fixture
async def patient_port(rooms: Rooms) -> AsyncIterator[int]:
    """Only a head's own deadline ends a connection here within a test's patience."""
    async with Listener(rooms.app, limits=replace(LIMITS, keepalive=600.0), grace=1.0) as listener:
        yield listener.port


@pytest.mark.case("T17")
@pytest.mark.parametrize(
    "beginning", [b"", b"POST /hook HT", HEAD, HEAD + b"X-Slow: "], ids=["silence", "line", "head", "field"]
)
async def test_half_a_head_is_closed_at_the_deadline(patient_port: int, beginning: bytes) -> None:
    assert await converse(patient_port, beginning) == b""


@pytest.mark.case("T17")
async def test_a_head_that_drips_does_not_gain_time(patient_port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", patient_port)
    writer.write(HEAD + b"X-Slow: ")
    is_open = True
    async with within(PATIENCE):
        while is_open:
            writer.write(b"x")
            try:
                async with asyncio.timeout(0.05):
                    assert await reader.read() == b""
                is_open = False
            except TimeoutError:
                continue
            except ConnectionError:  # a drop came after the close
                is_open = False
    writer.close()


@pytest.mark.case("T17")
async def test_half_of_a_second_head_is_closed_at_the_deadline(patient_port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", patient_port)
    writer.write(GOOD)
    async with within(PATIENCE):
        assert (await read_answer(reader)).status == 200
        writer.write(b"POST /hook HT")
        assert await reader.read() == b""
    writer.close()


@pytest.mark.case("T17")
@pytest.mark.parametrize("beginning", [b"", b"POST /hook HT"], ids=["silence", "half a head"])
async def test_a_second_request_that_does_not_come_is_not_waited_for(port: int, beginning: bytes) -> None:
    answer = await converse(port, GOOD + beginning)
    assert parse(answer).status == 200


@pytest.mark.case("T17")
async def test_fifty_stalled_callers_do_not_keep_others_waiting(port: int) -> None:
    stalled = [asyncio.create_task(converse(port, HEAD)) for _ in range(50)]
    assert (await ask(port, GOOD)).status == 200
    assert await asyncio.gather(*stalled) == [b""] * 50


async def test_a_connection_may_idle_and_be_used_again_within_the_limit(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(3):
        writer.write(GOOD)
        async with within(PATIENCE):
            assert (await read_answer(reader)).status == 200
        past_a_heads_deadline = asyncio.Event()
        asyncio.get_running_loop().call_later(LIMITS.head_deadline + 0.05, past_a_heads_deadline.set)
        await past_a_heads_deadline.wait()
    writer.close()


@pytest.mark.case("T23")
@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        b"Content-Length: 3\r\nContent-Length: 4\r\n",
        b"Content-Length: 3\r\nContent-Length: 3\r\n",
        b"Content-Length : 3\r\n",
        b"Content-Length: +3\r\n",
        b"Content-Length: -3\r\n",
        b"Content-Length: 3, 3\r\n",
        b"Content-Length: 0x3\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding: identity\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"Content-Length: 3\r\n folded: 1\r\n",
    ],
)
async def test_framing_that_can_be_read_in_two_ways_is_refused_and_the_connection_closed(
    rooms: Rooms, port: int, framing: bytes
) -> None:
    raw = await converse(port, HEAD + framing + b"\r\n0\r\n\r\n" + GOOD)
    assert parse(raw).status == 400
    assert raw.count(b"HTTP/1.") == 1
    assert rooms.bodies == []


@pytest.mark.case("T23")
@pytest.mark.parametrize(
    "chunks", [b"zz\r\nabc\r\n", b"3\nabc\r\n0\r\n\r\n", b"-1\r\n", b"3\r\nabcd\r\n0\r\n\r\n", b"fffffffffffffffff\r\n"]
)
async def test_a_broken_chunk_is_refused_and_the_connection_closed(rooms: Rooms, port: int, chunks: bytes) -> None:
    raw = await converse(port, HEAD + b"Transfer-Encoding: chunked\r\n\r\n", chunks + GOOD)
    assert (parse(raw).status, raw.count(b"HTTP/1."), rooms.bodies) == (400, 1, [])


@pytest.mark.case("T24")
@pytest.mark.parametrize(
    "flood",
    [
        b"".join(b"X-%d: 1\r\n" % n for n in range(5000)),
        b"X-Long: " + b"x" * 100_000 + b"\r\n",
        b"X" * 100_000 + b": 1\r\n",
    ],
    ids=["many", "long value", "long name"],
)
async def test_a_flood_of_headers_is_refused(rooms: Rooms, port: int, flood: bytes) -> None:
    answer = parse(await converse(port, HEAD + flood + b"Content-Length: 2\r\n\r\n{}"))
    assert answer.status in (400, 431)
    assert rooms.bodies == []


@pytest.mark.case("T24")
async def test_endless_trailers_are_refused(rooms: Rooms, port: int) -> None:
    trailers = b"".join(b"X-%d: 1\r\n" % n for n in range(5000))
    raw = await converse(port, HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", trailers)
    assert parse(raw).status == 400
    assert rooms.bodies == []


@pytest.mark.case("T23")
async def test_a_trailer_of_one_request_is_no_header_of_the_next(rooms: Rooms, port: int) -> None:
    """Behind a proxy the two may be of two people; the trailer names what tells them apart."""
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-API-Key: another\r\n\r\n"
    raw = await converse(port, chunked + GOOD)
    assert (parse(raw).status, raw.count(b"HTTP/1.")) == (200, 1)
    assert "Connection: close" in parse(raw).head
    assert rooms.keys == [None]


async def test_a_request_line_that_is_not_http_gets_a_problem(port: int) -> None:
    answer = parse(await converse(port, b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"))
    assert answer.problem["status"] == 400


async def test_past_the_cap_a_new_connection_is_closed(rooms: Rooms) -> None:
    async with Listener(rooms.app, limits=IngressLimits(connections=2)) as listener:
        held = [await asyncio.open_connection("127.0.0.1", listener.port) for _ in range(2)]
        for reader, writer in held:
            writer.write(GOOD)
            assert (await read_answer(reader)).status == 200
        assert await converse(listener.port, GOOD) == b""
        for _, writer in held:
            writer.close()
            await writer.wait_closed()


async def test_leaving_waits_for_a_request_that_is_open(rooms: Rooms) -> None:
    listener = Listener(rooms.app, limits=LIMITS, grace=PATIENCE)
    async with within(PATIENCE), listener:
        asked = asyncio.create_task(ask(listener.port, GOOD.replace(b"/hook", b"/slow")))
        await rooms.entered.wait()
        listener.stop_accepting()
        rooms.leave.set()
    assert (await asked).body == b"done"


async def test_after_it_stops_accepting_open_connections_are_still_served(rooms: Rooms) -> None:
    async with Listener(rooms.app) as listener:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(GOOD)
        await read_answer(reader)
        port = listener.port
        listener.stop_accepting()
        writer.write(GOOD)
        assert (await read_answer(reader)).status == 200
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", port)
        writer.close()


async def test_a_taken_port_fails_at_entry_and_cleans_the_application_up(rooms: Rooms) -> None:
    cleaned = asyncio.Event()

    async def clean(_: web.Application) -> None:
        cleaned.set()

    rooms.app.on_cleanup.append(clean)
    async with Listener(web.Application()) as taken:
        with pytest.raises(OSError):
            await Listener(rooms.app, port=taken.port).__aenter__()
    assert cleaned.is_set()


@pytest.mark.parametrize("error", [RuntimeError("inner"), Refusal(409, "late"), web.HTTPConflict()])
async def test_an_answer_that_has_begun_is_cut_off_and_not_followed_by_another(error: Exception) -> None:
    async def half(request: web.Request, body: bytes) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"half")
        raise error

    app = web.Application()
    app.add_routes([Ingress().post("/half", authenticate=anybody, handle=half)])
    async with Listener(app) as listener:
        raw = await converse(listener.port, GOOD.replace(b"/hook", b"/half"))
    assert raw.count(b"HTTP/1.") == 1
    assert b"Server: frontdesk" in raw
    assert not raw.endswith(b"0\r\n\r\n")


def test_a_refusal_names_its_status_and_reason() -> None:
    assert str(Refusal(409, "replayed")) == "409 replayed"
