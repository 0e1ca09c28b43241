"""Requests that no well-behaved client makes, written byte by byte."""

import asyncio
from contextlib import suppress
from typing import NamedTuple

from tests.waiting import within

LOOPBACK = "127.0.0.1"


class Answer(NamedTuple):
    status: int  # 0 when the connection was closed without an answer
    head: str
    body: str
    is_closed: bool  # whether the gateway closed the connection after it


async def exchange(port: int, *chunks: bytes, seconds: float = 6.0, closes: bool = False) -> Answer:
    """Send the chunks and read the answer; `closes` waits for the end of a connection whose answer promised none."""
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    try:
        async with within(seconds):
            with suppress(ConnectionError):
                for chunk in chunks:
                    writer.write(chunk)
                    await writer.drain()
            answer = await read_answer(reader, is_head=chunks[0].startswith(b"HEAD "))
            if closes and not answer.is_closed:
                with suppress(ConnectionError):
                    answer = answer._replace(is_closed=not await reader.read())
            return answer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def read_answer(reader: asyncio.StreamReader, *, is_head: bool = False) -> Answer:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (asyncio.IncompleteReadError, ConnectionError):
        return Answer(0, "", "", is_closed=True)
    lines = head.split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        body = (await reader.readexactly(0 if is_head else int(fields.get("content-length", "0")))).decode(
            errors="replace"
        )
        return Answer(int(lines[0].split()[1]), head, body, fields.get("connection", "").lower() == "close")
    return Answer(int(lines[0].split()[1]), head, "", is_closed=True)


def request(path: str, *headers: str, method: str = "POST", body: bytes = b"", length: bool = True) -> bytes:
    """A whole request; `length` False leaves Content-Length out."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *headers]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
