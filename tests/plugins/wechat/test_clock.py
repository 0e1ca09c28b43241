"""A wall clock that jumps while people write: pushes, windows, tokens and the doctor."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from core.clock import SystemClock
from core.store import Store
from gateway.store.sqlite import SqliteStore
from tests.doubles.agent import FakeAgent
from tests.fakes.wechat import FakeWechat
from tests.plugins.wechat.account import ANN, Account, account
from tests.plugins.wechat.test_passive import taking
from tests.waiting import until

JUMPS = [3600.0, -3600.0, 3 * 86_400.0]
WRONG = "set this machine's clock"


class Jumping(SystemClock):
    """Its wall clock is this far from the platform's."""

    off = 0.0

    def now(self) -> float:
        return super().now() + self.off


@pytest.fixture
def clock() -> Jumping:
    return Jumping()


@pytest.fixture
async def store(tmp_path: Path, clock: Jumping) -> AsyncIterator[Store]:
    async with SqliteStore(tmp_path / "desk.db", clock=clock) as sqlite:
        await sqlite.hold()
        yield sqlite


def desk(
    platform: FakeWechat, store: Store, clock: Jumping, agent: FakeAgent | None = None, **changed: Any
) -> AbstractAsyncContextManager[Account]:
    """An account, its line and its store, all by this clock."""
    return account(platform, store, agent, clock=clock, options={"clock": clock}, **changed)


@pytest.mark.parametrize("off", JUMPS)
async def test_pushes_are_taken_after_a_jump_and_the_doctor_says_so_until_the_clock_is_set(
    platform: FakeWechat, store: Store, clock: Jumping, off: float
) -> None:
    async with desk(platform, store, clock) as there:
        assert (await there.pushes.says(ANN, "one")).reply == "ONE"
        clock.off = off
        assert (await there.pushes.says(ANN, "two")).reply == "TWO"
        assert WRONG in str(there.plugin.health["trouble"])
        clock.off = 0.0
        assert (await there.pushes.says(ANN, "three")).reply == "THREE"
        assert there.plugin.health["trouble"] == ""


@pytest.mark.parametrize("off", [0.0, *JUMPS])
async def test_no_jump_makes_an_old_query_good(platform: FakeWechat, store: Store, clock: Jumping, off: float) -> None:
    """Neither by the clock that jumped, nor by drawing the time after those that are just good enough."""
    async with desk(platform, store, clock) as there:
        assert (await there.pushes.says(ANN, "one")).reply == "ONE"
        clock.off = off
        for age in (250, 290, 420, 590):
            old = there.pushes.signed("<xml></xml>", there.pushes.query(at=time.time() - age))
            status = (await there.pushes.post(old[1], old[0])).status
            assert (status == 403) == (age > 300), age


@pytest.mark.parametrize("off", JUMPS)
async def test_after_a_start_with_a_wrong_clock_nothing_is_believed(
    platform: FakeWechat, store: Store, clock: Jumping, off: float
) -> None:
    clock.off = off
    async with desk(platform, store, clock) as there:
        message = there.pushes.message(ANN, "text", Content="hello")
        assert (await there.pushes.request(message)).status == 403
        assert WRONG in str(there.plugin.health["trouble"])


@pytest.mark.parametrize("off", JUMPS[:2])
@pytest.mark.parametrize("may_send", [True, False])
async def test_an_answer_over_a_jump_of_an_hour_is_shown_once_or_waits_for_the_next_message(
    platform: FakeWechat, store: Store, clock: Jumping, off: float, may_send: bool
) -> None:
    async with desk(platform, store, clock, taking(6, 0.1), customer_service=may_send) as there:
        pushing = await there.asks("hello")
        clock.off = off
        await pushing
        await asyncio.wait_for(there.outcomes(1), 20)
        if "HELLO" not in there.shown():
            assert "HELLO" in str((await there.pushes.says(ANN, "and?")).reply)
        assert sum("HELLO" in text for text in there.shown()) == 1
        assert len(there.agent.asks) == 1 + ("AND?" in str(there.shown()))


@pytest.mark.parametrize("off", JUMPS)
async def test_a_token_that_ended_while_the_clock_jumped_is_fetched_anew_and_nothing_is_lost(
    platform: FakeWechat, store: Store, clock: Jumping, off: float
) -> None:
    async with desk(platform, store, clock, taking(6, 6)) as there:
        await there.pushes.says(ANN, "one")
        await platform.until_shown(ANN, 1)
        clock.off = off
        platform.expire_tokens()
        await there.pushes.says(ANN, "two")
        assert await platform.until_shown(ANN, 2) == ["ONE", "TWO"]


async def test_an_answer_that_nobody_fetched_waits_for_the_next_message_though_the_clock_jumped_back(
    platform: FakeWechat, store: Store, clock: Jumping
) -> None:
    """The request for it would come within seconds, and not within the hour that the clock fell back by."""
    async with desk(platform, store, clock, taking(7, 0.1), customer_service=False) as there:
        assert (await there.pushes.request(there.pushes.message(ANN, "text", Content="hello"))).status is None
        clock.off = -3600.0
        await until(lambda: bool(there.reasons()), seconds=20)
        assert await there.outcomes(1) == ["waiting_for_user"]
        assert (await there.pushes.says(ANN, "and?")).reply == "(To your earlier question)\nHELLO\n\nAND?"
