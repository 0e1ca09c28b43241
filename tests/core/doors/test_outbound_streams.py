"""Streams: what is read as it comes, how it ends, and what it leaves alone."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack

import pytest

from core.doors.outbound import (
    Disconnected,
    GuardedClient,
    HeadTimeout,
    OutboundPolicy,
    ReadTimeout,
    Refused,
    StreamedAnswer,
    Timeouts,
    TooLarge,
)
from tests.core.doors.wire import PATIENCE, raw_server, read_request
from tests.waiting import within

PRIVATE = OutboundPolicy(allow_private=True, body_limit=1000)
QUICK = Timeouts(connect=0.3, head=0.3, idle=0.3, whole=0.1)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


async def resolve(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


@pytest.fixture
async def client() -> AsyncIterator[GuardedClient]:
    async with GuardedClient(resolve=resolve, limit_per_host=1) as client:
        yield client


def chunk(text: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(text), text)


async def collect(answer: StreamedAnswer) -> list[bytes]:
    return [piece async for piece in answer.chunks()]


class Feed:
    """Sends what the test puts in, and tells when the client has left."""

    def __init__(self) -> None:
        self.pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.left = asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        while (piece := await self.pieces.get()) is not None:
            writer.write(piece)
        if await reader.read() == b"":
            self.left.set()

    def put(self, *pieces: bytes | None) -> None:
        for piece in pieces:
            self.pieces.put_nowait(piece)


async def test_chunks_come_as_they_are_sent_without_a_deadline_for_the_whole(client: GuardedClient) -> None:
    feed = Feed()
    feed.put(HEAD)
    async with (
        raw_server(feed) as port,
        client.stream("POST", f"http://desk.test:{port}/", policy=PRIVATE, timeouts=QUICK) as answer,
    ):
        assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
        feed.put(chunk(b"event 1"))
        got = []
        async with within(PATIENCE):
            async for piece in answer.chunks():
                got.append(piece)
                feed.put(*((chunk(b"event %d" % (len(got) + 1)),) if len(got) < 5 else (b"0\r\n\r\n", None)))
    assert got == [b"event %d" % n for n in range(1, 6)]


async def test_a_stream_that_falls_silent_ends_with_a_read_timeout(client: GuardedClient) -> None:
    feed = Feed()
    feed.put(HEAD, chunk(b"one"))
    async with (
        raw_server(feed) as port,
        client.stream("POST", f"http://desk.test:{port}/", policy=PRIVATE, timeouts=QUICK) as answer,
    ):
        with pytest.raises(ReadTimeout):
            await collect(answer)


async def test_a_stream_cut_off_is_not_a_clean_end(client: GuardedClient) -> None:
    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD + chunk(b"one"))

    async with raw_server(cut) as port, client.stream("POST", f"http://desk.test:{port}/", policy=PRIVATE) as answer:
        with pytest.raises(Disconnected):
            await collect(answer)


async def test_a_stream_without_a_head_ends_at_the_deadline(client: GuardedClient) -> None:
    async with raw_server(Feed()) as port:
        with pytest.raises(HeadTimeout):
            async with client.stream("POST", f"http://desk.test:{port}/", policy=PRIVATE, timeouts=QUICK):
                pass


async def test_leaving_a_stream_early_closes_its_connection(client: GuardedClient) -> None:
    feed = Feed()
    feed.put(HEAD, chunk(b"one"), None)
    async with raw_server(feed) as port, within(PATIENCE):
        async with client.stream("POST", f"http://desk.test:{port}/", policy=PRIVATE) as answer:
            async for _ in answer.chunks():
                break
        await feed.left.wait()


async def test_streams_do_not_take_the_places_of_short_calls(client: GuardedClient) -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (await read_request(reader)).startswith(b"GET"):
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        else:
            writer.write(HEAD)
        await reader.read()

    async with raw_server(endless) as port, AsyncExitStack() as streams, within(PATIENCE):
        url = f"http://desk.test:{port}/"
        for _ in range(3):
            await streams.enter_async_context(client.stream("POST", url, policy=PRIVATE))
        assert (await client.request("GET", url, policy=PRIVATE)).status == 204


async def test_an_answer_that_is_no_stream_is_read_within_the_limit(client: GuardedClient) -> None:
    feed = Feed()
    feed.put(b"HTTP/1.1 401 No\r\nContent-Length: 4\r\n\r\nnope", None)
    async with raw_server(feed) as port, client.stream("POST", f"http://desk.test:{port}/", policy=PRIVATE) as answer:
        assert (answer.status, await answer.read()) == (401, b"nope")


async def test_an_endless_answer_that_is_no_stream_is_cut(client: GuardedClient) -> None:
    feed = Feed()
    feed.put(HEAD, *[chunk(b"x" * 400)] * 3)
    async with raw_server(feed) as port, client.stream("POST", f"http://desk.test:{port}/", policy=PRIVATE) as answer:
        with pytest.raises(TooLarge):
            await answer.read()


async def test_a_stream_is_refused_like_any_request(client: GuardedClient) -> None:
    with pytest.raises(Refused):
        async with client.stream("POST", "http://desk.test/", policy=OutboundPolicy()):
            pass
