"""Waiting for something to become true, with an end: what tests do instead of sleeping.

The end counts the time in which this process ran: where a machine stands still, nothing can become true.
"""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

STEP = 0.1  # seconds; a longer one between two looks counts as this: then the machine stood still, and nothing ran


async def until(condition: Callable[[], Any | Awaitable[Any]], *, seconds: float = 5.0, pause: float = 0.001) -> Any:
    """Let everything run until the condition (plain or async) gives something true, and return that.

    Raises TimeoutError after so many seconds in which this process ran. `pause`: seconds between two looks.
    """
    patience = _Patience(seconds)
    while True:
        found = condition()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return found
        await asyncio.sleep(pause)
        if patience.is_over():
            raise TimeoutError(f"not within {seconds:g} s")


@asynccontextmanager
async def within(seconds: float, *, what: str = "it") -> AsyncIterator[None]:
    """As asyncio.timeout, for so many seconds in which this process ran; TimeoutError names `what` was waited for."""
    try:
        async with asyncio.timeout(None) as limit:
            counting = asyncio.create_task(_count(_Patience(seconds), limit), name="patience")
            try:
                yield
            finally:
                counting.cancel()
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise TimeoutError(f"waited {seconds:g} s in vain for {what}") from error


async def _count(patience: "_Patience", limit: asyncio.Timeout) -> None:
    while not patience.is_over():  # noqa: ASYNC110 - nothing else tells that time passes
        await asyncio.sleep(min(STEP, patience.left))
    limit.reschedule(asyncio.get_running_loop().time())


class _Patience:
    """Seconds that are left of a wait; to be looked at every STEP or oftener."""

    def __init__(self, seconds: float) -> None:
        self.left, self._looked = seconds, time.monotonic()

    def is_over(self) -> bool:
        now = time.monotonic()
        self.left, self._looked = self.left - min(STEP, now - self._looked), now
        return self.left <= 0
