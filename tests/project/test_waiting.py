"""The tests' own patience: it ends, it says for what it waited, and a machine that stands still does not use it up."""

import asyncio
import time

import pytest

from tests.fakes.serving import Changes
from tests.waiting import STEP, within

STANDSTILL = 3 * STEP  # seconds


async def standstill() -> None:
    """Nothing of this process runs for a while, as where the machine is taken away; then a little does."""
    time.sleep(STANDSTILL)  # noqa: ASYNC251 - it is the loop that has to stand still
    for _ in range(3):
        await asyncio.sleep(0)


async def test_a_wait_in_vain_ends_and_says_for_what_it_was() -> None:
    with pytest.raises(TimeoutError, match=r"waited 0.05 s in vain for the bus"):
        async with within(0.05, what="the bus"):
            await asyncio.Event().wait()


async def test_a_change_that_never_comes_is_a_wait_in_vain() -> None:
    with pytest.raises(TimeoutError, match="in vain for the bus"):
        await Changes().until(lambda: False, timeout=0.05, what="the bus")


async def test_a_machine_that_stood_still_uses_up_no_patience() -> None:
    async with within(2 * STEP):
        await standstill()
        await asyncio.sleep(0)


async def test_a_timeout_inside_a_wait_stays_what_it_is() -> None:
    with pytest.raises(TimeoutError, match="its own"):
        async with within(10, what="the bus"):
            raise TimeoutError("its own")
