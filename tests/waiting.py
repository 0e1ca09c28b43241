"""Waiting for something to become true, with an end: what tests do instead of sleeping."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any


async def until(condition: Callable[[], Any | Awaitable[Any]], *, seconds: float = 5.0) -> Any:
    """Let everything run until the condition (plain or async) gives something true, and return that."""
    async with asyncio.timeout(seconds):
        while True:
            found = condition()
            if inspect.isawaitable(found):
                found = await found
            if found:
                return found
            await asyncio.sleep(0.001)
