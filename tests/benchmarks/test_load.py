import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import orjson
import pytest
from aiohttp import web

from benchmarks.load import Plan, Report, drive
from benchmarks.series import Series

SERIES = Series("run", 1_000_000_000, 40, 8)
SECRET = "secret"
Answer = Callable[[int, int], web.StreamResponse]  # of an update's number, and how often it has come


class Platform:
    """A webhook that answers as told and remembers what came."""

    def __init__(self, answer: Answer) -> None:
        self.came: Counter[int] = Counter()
        self.secrets: set[str] = set()
        self._answer = answer

    async def receive(self, request: web.BaseRequest) -> web.StreamResponse:
        number = orjson.loads(await request.read())["update_id"] - SERIES.first
        self.came[number] += 1
        self.secrets.add(request.headers.get("X-Telegram-Bot-Api-Secret-Token", ""))
        return self._answer(number, self.came[number])


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[tuple[str, Platform]]:
    platform = Platform(answer)
    runner = web.ServerRunner(web.Server(platform.receive), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/hook", platform
    finally:
        await runner.cleanup()


def right(_number: int, _times: int) -> web.Response:
    return web.Response(text="ok")


async def test_a_right_answer_counts_once_for_each_message() -> None:
    async with serving(right) as (url, platform):
        report = await drive(Plan(url, SERIES, 4, SECRET, expected=b"ok"))
    assert (report.answers, report.failed, report.retried) == (40, 0, 0)
    assert platform.came == Counter(range(40))
    assert platform.secrets == {SECRET}
    assert set(report.accepted) == set(range(40))
    assert all(it.sent <= it.answered for it in report.accepted.values())


async def test_every_wrong_answer_is_an_error_under_its_own_name() -> None:
    def wrong(number: int, _times: int) -> web.Response:
        match number % 4:
            case 0:
                return web.Response(text="ok")
            case 1:
                return web.Response(text="not what was asked for")
            case 2:
                return web.Response(status=500)
        return web.Response(status=302, headers={"Location": "/elsewhere"})

    async with serving(wrong) as (url, _):
        report = await drive(Plan(url, SERIES, 3, expected=b"ok"))
    assert report.errors == {"unexpected_body": 10, "http_500": 10, "http_302": 10}
    assert set(report.accepted) == set(range(0, 40, 4))


async def test_what_is_answered_busy_is_sent_again_with_the_same_id() -> None:
    def busy_at_first(_number: int, times: int) -> web.Response:
        return web.Response(status=503) if times == 1 else web.Response()

    async with serving(busy_at_first) as (url, platform):
        report = await drive(Plan(url, SERIES, 40, retries=3))
    assert (report.answers, report.failed, report.retried) == (40, 0, 40)
    assert set(platform.came.values()) == {2}


async def test_what_is_refused_for_good_is_not_sent_again() -> None:
    async with serving(lambda _number, _times: web.Response(status=403)) as (url, platform):
        report = await drive(Plan(url, SERIES, 4, retries=3))
    assert (report.errors, set(platform.came.values())) == ({"http_403": 40}, {1})


async def test_a_duplicate_is_sent_and_answered_and_accepted_once() -> None:
    async with serving(right) as (url, platform):
        report = await drive(Plan(url, SERIES, 2, duplicates=0.3))
    assert report.answers == platform.came.total() == 40
    assert set(report.accepted) == set(platform.came)
    assert len(report.accepted) < 40


async def test_in_an_open_loop_every_message_is_sent() -> None:
    async with serving(right) as (url, _):
        report = await drive(Plan(url, SERIES, 4, rate=2000.0))
    assert (report.answers, report.failed) == (40, 0)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", "connection_lost"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n", "surplus_bytes"),
        (b"220 mail.example\r\n\r\n", "not_http"),
        (b"", "connection_lost"),
    ],
)
async def test_a_server_that_lies_about_its_answer_gets_nothing_counted(said: bytes, name: str) -> None:
    report = await drive_against(said)
    assert (report.answers, dict(report.accepted), report.errors) == (0, {}, {name: 40})


async def drive_against(said: bytes) -> Report:
    """A server that says the same bytes to every request and hangs up."""

    async def lie(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"}}")
        writer.write(said)
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(lie, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        return await drive(Plan(f"http://127.0.0.1:{port}/hook", SERIES, 4))


async def test_a_server_that_is_not_there_is_an_error() -> None:
    async with serving(right) as (url, _):
        pass
    report = await drive(Plan(url, SERIES, 4))
    assert report.errors == {"connect": 40}


@pytest.mark.parametrize(
    "url", ["http://example.com:80/", "http://10.0.0.1:80/", "https://127.0.0.1:1/", "http://[::]:1/"]
)
async def test_only_addresses_of_this_machine_are_loaded(url: str) -> None:
    with pytest.raises(ValueError, match="only http addresses of this machine"):
        await drive(Plan(url, SERIES, 1))
