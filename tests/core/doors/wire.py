"""Bytes on real sockets, for what no well-behaved client or server would send."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tests.waiting import within

PATIENCE = 10.0  # seconds until a test gives up on a peer
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class RawAnswer:
    status: int
    head: str
    body: bytes

    @property
    def problem(self) -> dict[str, Any]:
        assert "content-type: application/problem+json" in self.head.lower(), self.head
        value = json.loads(self.body)
        assert isinstance(value, dict)
        return value


def parse(raw: bytes) -> RawAnswer:
    head, _, body = raw.partition(b"\r\n\r\n")
    status_line = head.split(b"\r\n", 1)[0].split()
    return RawAnswer(int(status_line[1]) if len(status_line) > 1 else 0, head.decode(), body)


async def converse(port: int, *parts: bytes) -> bytes:
    """Sends the parts one by one and returns all that comes until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        async with within(PATIENCE):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def ask(port: int, raw: bytes) -> RawAnswer:
    """One request, one answer, whether or not the server closes afterwards."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(raw)
        async with within(PATIENCE):
            return await read_answer(reader)
    finally:
        writer.close()


async def read_answer(reader: asyncio.StreamReader) -> RawAnswer:
    answer = parse(await reader.readuntil(b"\r\n\r\n"))
    lengths = [line for line in answer.head.lower().splitlines() if line.startswith("content-length:")]
    body = await reader.readexactly(int(lengths[0].split(":")[1])) if lengths else b""
    return RawAnswer(answer.status, answer.head, body)


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """One request with its body."""
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.decode().lower().splitlines():
        if line.startswith("content-length:"):
            return head + await reader.readexactly(int(line.split(":")[1]))
    return head


@asynccontextmanager
async def raw_server(serve: Serve) -> AsyncIterator[int]:
    """A server that does exactly what `serve` says to each connection; yields its port."""
    open_writers: set[asyncio.StreamWriter] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_writers.add(writer)
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        for writer in open_writers:
            writer.close()
        await asyncio.sleep(0)
