"""Waiting for something to become true, with an end: what tests do instead of sleeping."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any

STEP = 0.1  # seconds; a longer one between two looks counts as this: then the machine stood still, and nothing ran


async def until(condition: Callable[[], Any | Awaitable[Any]], *, seconds: float = 5.0, pause: float = 0.001) -> Any:
    """Let everything run until the condition (plain or async) gives something true, and return that.

    Raises TimeoutError after so many seconds in which this process ran. `pause`: seconds between two looks.
    """
    left, looked = seconds, time.monotonic()
    while True:
        found = condition()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return found
        await asyncio.sleep(pause)
        now = time.monotonic()
        left, looked = left - min(STEP, now - looked), now
        if left <= 0:
            raise TimeoutError(f"not within {seconds:g} s")
