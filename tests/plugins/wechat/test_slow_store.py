"""A store that is slow while the platform listens: nothing is said too late, and nothing is lost or said twice."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, ServerDisconnectedError

from core.errors import StoreUnavailable
from gateway.store.sqlite import SqliteStore
from tests.doubles.agent import FakeAgent, Parked
from tests.fakes.wechat import FakeWechat, errcode
from tests.fakes.wechat_seal import element
from tests.plugins.wechat.account import ANN, SCALE, Account, account
from tests.plugins.wechat.test_media import Aged
from tests.plugins.wechat.test_passive import Takes
from tests.store.line import locked
from tests.waiting import until

HEADERS = {"Content-Type": "text/xml"}


class SlowDisk(SqliteStore):
    """What it writes is there, and whoever wrote it hears of that only once `is_quick` is set."""

    def __init__(self, path: Path, *slow: str) -> None:
        super().__init__(path)
        self._slow, self.is_quick = slow, asyncio.Event()

    async def admit(self, *given: Any, **named: Any) -> Any:
        return await self._slowly("admit", super().admit(*given, **named))

    async def ride(self, *given: Any, **named: Any) -> Any:
        return await self._slowly("ride", super().ride(*given, **named))

    async def _slowly(self, name: str, writing: Awaitable[Any]) -> Any:
        written = await writing
        if name in self._slow:
            await self.is_quick.wait()
        return written


@asynccontextmanager
async def patient(
    platform: FakeWechat, disk: SlowDisk | None = None, agent: FakeAgent | None = None, **changed: Any
) -> AsyncIterator[Account]:
    """An account with twice the usual time, so that a busy machine is none of the reasons to be late."""
    async with account(platform, disk, agent, reply_within=9.0 * SCALE, **changed) as there:
        there.pushes.patience = 10.0 * SCALE
        yield there


@pytest.fixture
async def disk(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[SlowDisk]:
    async with SlowDisk(tmp_path / "desk.db", request.param) as slow:
        await slow.hold()
        yield slow


@pytest.mark.parametrize("disk", ["none"], indirect=True)
@pytest.mark.parametrize(
    ("kind", "fields", "answered"),
    [("text", {"Content": "hello"}, "HELLO"), ("event", {"Event": "VIEW", "EventKey": "https://example.com/"}, None)],
)
async def test_what_is_not_stored_in_time_is_asked_for_again_and_not_acknowledged(
    platform: FakeWechat, disk: SlowDisk, kind: str, fields: dict[str, Any], answered: str | None
) -> None:
    async with patient(platform, disk) as there:
        message = there.pushes.message(ANN, kind, **fields)
        with locked(disk.path):
            assert (await there.pushes.request(message)).status is None
        again = await there.pushes.request(message)
        assert (again.status, there.pushes.reply_in(again.body)) == (200, answered)
        assert len(there.agent.asks) == (answered is not None)


@pytest.mark.parametrize("disk", ["admit"], indirect=True)
async def test_what_was_stored_too_late_to_be_acknowledged_is_worked_on_and_known_when_it_comes_again(
    platform: FakeWechat, disk: SlowDisk
) -> None:
    async with patient(platform, disk) as there:
        platform.wrote(ANN)
        message = there.pushes.message(ANN, "text", Content="hello")
        assert (await there.pushes.request(message)).status is None
        disk.is_quick.set()
        assert await platform.until_shown(ANN, 1) == ["HELLO"]
        await there.pushes.request(message)
        assert there.desk.events.of("envelope.admitted")[-1]["outcome"] == "duplicate"
        assert (len(there.agent.asks), there.shown()) == (1, ["HELLO"])


@pytest.mark.parametrize("disk", ["admit"], indirect=True)
@pytest.mark.parametrize("times", [1, 3])
async def test_what_was_stored_too_late_counts_in_the_queue_once_while_its_person_has_another_question_open(
    platform: FakeWechat, disk: SlowDisk, times: int
) -> None:
    parked = Parked()
    async with patient(platform, disk, FakeAgent(parked)) as there:
        disk.is_quick.set()
        await there.asks("one")
        disk.is_quick.clear()
        message = there.pushes.message(ANN, "text", Content="two")
        for _ in range(times):
            assert (await there.pushes.request(message)).status is None
        disk.is_quick.set()
        await until(lambda: len(there.desk.events.of("envelope.admitted")) == 1 + times)
        assert there.desk.lanes.queued == 2
        parked.released.set()
        assert [shown.rpartition("\n")[2] for shown in await platform.until_shown(ANN, 2)] == ["ONE", "TWO"]
        await until(lambda: there.desk.lanes.running == 0)
        assert there.desk.lanes.queued == 0


@pytest.mark.parametrize("disk", ["ride"], indirect=True)
async def test_an_answer_that_is_not_stored_in_time_is_sent_instead(platform: FakeWechat, disk: SlowDisk) -> None:
    async with patient(platform, disk) as there:
        push = await there.pushes.says(ANN, "hello")
        assert (push.statuses, push.reply) == ([200], None)
        disk.is_quick.set()
        assert await platform.until_shown(ANN, 1) == ["HELLO"]
        assert await there.outcomes(1) == ["delivered"]


@pytest.mark.parametrize("disk", ["ride"], indirect=True)
async def test_the_notice_that_ends_the_last_request_does_not_wait_for_the_store(
    platform: FakeWechat, disk: SlowDisk
) -> None:
    parked = Parked()
    async with account(platform, disk, FakeAgent(parked), customer_service=False, reply_within=4.5) as there:
        there.pushes.patience = 30.0
        message = there.pushes.message(ANN, "text", Content="hello")
        for number in (1, 2):
            asking = asyncio.ensure_future(there.pushes.request(message))
            await until(lambda n=number: len(there.desk.events.of("envelope.admitted")) == n)  # type: ignore[misc]
            asking.cancel()
        last = await there.pushes.request(message)
        assert there.pushes.reply_in(last.body) == "I am still working on it. Send me anything to see the answer."
        disk.is_quick.set()
        parked.released.set()
        assert await there.outcomes(1) == ["waiting_for_user"]
        there.agent.script = Takes(3600)
        assert (await there.pushes.says(ANN, "and?")).reply == "(To your earlier question)\nHELLO"


async def test_the_time_for_an_answer_runs_from_the_head_and_not_from_the_body(platform: FakeWechat) -> None:
    async with patient(platform) as there, ClientSession() as http:
        message = there.pushes.message(ANN, "text", Content="hello")
        query, body = there.pushes.signed("<xml>" + "".join(element(*item) for item in message.items()) + "</xml>")
        platform.wrote(ANN)

        async def late() -> AsyncIterator[bytes]:
            began = time.monotonic()  # the gateway said to go on, so it has seen the head
            await until(lambda: time.monotonic() - began > there.pushes.patience)
            yield body.encode()

        with pytest.raises(ServerDisconnectedError):
            await http.post(there.pushes.url, params=query, data=late(), headers=HEADERS, expect100=True)
        assert (await platform.until_shown(ANN, 1), there.roads()) == (["HELLO"], ["service"])


class ShutDisk(SqliteStore):
    """It cannot be asked for what a plugin remembers, nor for leases, while it is `shut`."""

    is_shut = False

    async def read(self, *given: Any, **named: Any) -> Any:
        return await self._unless_shut(super().read(*given, **named))

    async def write(self, *given: Any, **named: Any) -> Any:
        return await self._unless_shut(super().write(*given, **named))

    async def acquire(self, *given: Any, **named: Any) -> Any:
        return await self._unless_shut(super().acquire(*given, **named))

    async def aliases(self, *given: Any, **named: Any) -> Any:
        return await self._unless_shut(super().aliases(*given, **named))

    async def _unless_shut(self, work: Coroutine[Any, Any, Any]) -> Any:
        if self.is_shut:
            work.close()
            raise StoreUnavailable("the database is locked", retry_after=0.05)
        return await work


@pytest.fixture
async def shut(tmp_path: Path) -> AsyncIterator[ShutDisk]:
    async with ShutDisk(tmp_path / "desk.db") as store:
        await store.hold()
        yield store


async def test_an_answer_whose_token_the_store_cannot_give_is_tried_again_and_is_not_unknown(
    platform: FakeWechat, shut: ShutDisk
) -> None:
    """Nothing was shown for certain, so nobody is asked whether it was."""
    async with account(platform, shut, FakeAgent(Takes(6))) as there:
        await until(lambda: platform.token_fetches == 1)
        platform.expire_tokens()
        platform.script.add("message/custom/send", errcode(42001))  # so that another token is looked for
        pushing = asyncio.ensure_future(there.pushes.says(ANN, "hello"))
        await there.agent.called.wait()
        shut.is_shut = True
        await pushing
        assert await there.outcomes(1) == ["queued"]
        shut.is_shut = False
        assert await platform.until_shown(ANN, 1) == ["HELLO"]
        assert (await there.outcomes(2))[-1] == "delivered"


async def test_a_picture_that_comes_while_the_store_is_shut_is_asked_for_again_and_the_account_goes_on(
    platform: FakeWechat, shut: ShutDisk
) -> None:
    async with account(platform, shut, clock=Aged()) as there:
        shut.is_shut = True
        platform.expire_tokens()
        media_id = platform.add_media("image", b"\x89PNG", "image/png")
        message = there.pushes.message(ANN, "image", MediaId=media_id)
        assert (await there.pushes.request(message)).status is None
        shut.is_shut = False
        again = await there.pushes.request(message)
        assert (again.status, len(there.agent.asks), there.agent.asks[0].parts[0].size) == (200, 1, 4)  # type: ignore[union-attr]


async def test_an_account_starts_while_the_store_is_shut_and_takes_messages(
    platform: FakeWechat, shut: ShutDisk
) -> None:
    shut.is_shut = True
    async with account(platform, shut) as there:
        assert (await there.pushes.request(there.pushes.message(ANN, "text", Content="hello"))).status is None
        shut.is_shut = False
        assert (await there.pushes.says(ANN, "hello")).reply == "HELLO"
