"""The answer that is made once: every caller gets it whole, in the form it asked for."""

import asyncio
from collections.abc import AsyncIterator
from email.utils import parsedate_to_datetime
from time import time

import pytest
from aiohttp import web

from core.doors.acknowledgement import Acknowledgement, Answers
from core.doors.ingress import Ingress
from core.doors.listener import Listener
from tests.core.doors.wire import PATIENCE, converse, parse, read_answer
from tests.waiting import within

DONE = Acknowledgement(b'{"ok":true}', "application/json")
ECHO = Answers("text/plain", {"Cache-Control": "no-store"})
LINES = b"Host: desk\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"


async def taken(request: web.Request, body: bytes) -> web.StreamResponse:
    return DONE.to(request)


async def echoed(request: web.Request, body: bytes) -> web.StreamResponse:
    return ECHO.to(request, body)


async def bare(request: web.Request) -> web.StreamResponse:
    return DONE.to(request)


def anybody(request: web.Request) -> None:
    """These tests are about the answer."""


@pytest.fixture
async def port() -> AsyncIterator[int]:
    app = web.Application()
    app.add_routes([Ingress().post("/hook", authenticate=anybody, handle=taken)])
    app.add_routes([Ingress().post("/echo", authenticate=anybody, handle=echoed), web.head("/hook", bare)])
    async with Listener(app, grace=1.0) as listener:
        yield listener.port


async def test_each_request_of_a_connection_gets_the_whole_answer_with_the_present_date(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for _ in range(3):
            before = int(time())
            writer.write(b"POST /hook HTTP/1.1\r\n" + LINES + b"\r\n{}")
            async with within(PATIENCE):
                answer = await read_answer(reader)
            said = dict(line.split(": ", 1) for line in answer.head.split("\r\n")[1:] if line)
            date = parsedate_to_datetime(said.pop("Date")).timestamp()
            assert (answer.status, answer.body) == (200, b'{"ok":true}')
            assert before <= date <= time()
            assert said == {"Content-Type": "application/json", "Content-Length": "11", "Server": "frontdesk"}
    finally:
        writer.close()


async def test_requests_sent_together_are_answered_one_after_the_other(port: int) -> None:
    request = b"POST /hook HTTP/1.1\r\n" + LINES
    raw = await converse(port, request + b"\r\n{}" + request + b"Connection: close\r\n\r\n{}")
    assert raw.count(b"HTTP/1.1 200 OK\r\n") == 2
    assert raw.count(b'{"ok":true}') == 2


@pytest.mark.parametrize(
    "beginning",
    [b"POST /hook HTTP/1.0\r\n", b"POST /hook HTTP/1.1\r\nConnection: close\r\n"],
    ids=["1.0", "close"],
)
async def test_who_wants_the_connection_to_end_gets_the_answer_and_the_end(port: int, beginning: bytes) -> None:
    answer = parse(await converse(port, beginning + LINES + b"\r\n{}"))
    assert (answer.status, answer.body) == (200, b'{"ok":true}')
    assert "server: frontdesk" in answer.head.lower()


async def test_who_asks_for_the_head_alone_gets_no_body(port: int) -> None:
    head = b"HEAD /hook HTTP/1.1\r\nHost: desk\r\n\r\n"
    raw = await converse(port, head + b"POST /hook HTTP/1.1\r\nConnection: close\r\n" + LINES + b"\r\n{}")
    assert raw.count(b"HTTP/1.1 200 OK\r\n") == 2
    assert raw.count(b'{"ok":true}') == 1


@pytest.mark.parametrize("ending", [b"", b"Connection: close\r\n"], ids=["kept", "closed"])
async def test_answers_of_one_kind_have_its_lines_and_each_a_body_of_its_own(port: int, ending: bytes) -> None:
    head = b"POST /echo HTTP/1.1\r\nHost: desk\r\nContent-Type: application/json\r\n"
    sent = head + b"Content-Length: 5\r\n\r\n[1,2]" + head + ending + b"Content-Length: 2\r\n\r\n[]"
    if not ending:
        sent += head + b"Connection: close\r\nContent-Length: 0\r\n\r\n"
    raw = await converse(port, sent)
    first, second = parse(raw), parse(raw[raw.index(b"[1,2]") + len(b"[1,2]") :])
    assert (first.body[:5], second.body[:2]) == (b"[1,2]", b"[]")
    assert "content-length: 5" in first.head.lower()
    assert "content-length: 2" in second.head.lower()
    assert all("cache-control: no-store" in answer.head.lower() for answer in (first, second))
