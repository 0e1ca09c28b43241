"""What must be stored is stored, however long the store needs: an agent's word is not given up for a full disk."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from core.errors import StoreUnavailable
from core.telemetry import Telemetry

T = TypeVar("T")


async def patiently(call: Callable[[], Awaitable[T]], telemetry: Telemetry) -> T:
    """Call a store until it is there: of a call that ended in StoreUnavailable nothing was written."""
    while True:
        try:
            return await call()
        except StoreUnavailable as error:
            telemetry.event("store.unavailable", level="warning", error=str(error))
            await asyncio.sleep(error.retry_after)
