"""Requests that no well-behaved client makes, written byte by byte."""

import asyncio
from contextlib import suppress
from typing import NamedTuple

LOOPBACK = "127.0.0.1"


class Answer(NamedTuple):
    status: int  # 0 when the connection was closed without an answer
    head: str
    body: str
    is_closed: bool  # whether the gateway closed the connection after it


async def exchange(port: int, *chunks: bytes, seconds: float = 6.0) -> Answer:
    """Send the chunks, then read until the gateway closes, or has answered and keeps the connection open."""
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    try:
        async with asyncio.timeout(seconds):
            with suppress(ConnectionError):
                for chunk in chunks:
                    writer.write(chunk)
                    await writer.drain()
            return await read_answer(reader)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (asyncio.IncompleteReadError, ConnectionError):
        return Answer(0, "", "", is_closed=True)
    lines = head.split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        body = (await reader.readexactly(int(fields.get("content-length", "0")))).decode(errors="replace")
        return Answer(int(lines[0].split()[1]), head, body, fields.get("connection", "").lower() == "close")
    return Answer(int(lines[0].split()[1]), head, "", is_closed=True)


def request(path: str, *headers: str, method: str = "POST", body: bytes = b"", length: bool = True) -> bytes:
    """A whole request; `length` False leaves Content-Length out."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *headers]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
