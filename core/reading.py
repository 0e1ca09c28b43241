"""Reading one stream of an agent: until it ends, is cut, or somebody who knows better leaves it.

Only the waiting for the next event can be left; what is done with an event is never interrupted by that.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from core.agent import TaskEvent

CLOSE_LIMIT = 5.0  # seconds an agent's stream may take to let go when it is left


class Reading:
    """To be used within its own `limit`, which ends the waiting; a TimeoutError of another kind is the stream's."""

    def __init__(self, stream: AsyncIterator[TaskEvent]) -> None:
        self.limit = asyncio.timeout(None)
        self._stream = stream
        self._has_ended = self._is_waiting = False
        self._deadline: float | None = None

    def leave(self, after: float = 0.0) -> None:
        """Stop reading, at the latest in so many seconds."""
        deadline = asyncio.get_running_loop().time() + after
        if self._deadline is None or deadline < self._deadline:
            self._deadline = deadline
            if self._is_waiting and not self.limit.expired():
                self.limit.reschedule(deadline)

    async def next(self) -> TaskEvent | None:
        """None at the end."""
        if self._deadline is not None:
            self.limit.reschedule(self._deadline)
        self._is_waiting = True
        try:
            return await anext(self._stream)
        except StopAsyncIteration:
            self._has_ended = True
            return None
        finally:
            self._is_waiting = False
            if self._deadline is not None and not self.limit.expired():
                self.limit.reschedule(None)

    async def close(self) -> None:
        """Let go of the stream, whatever became of it."""
        close = None if self._has_ended else getattr(self._stream, "aclose", None)
        if close is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_LIMIT):
                    await close()
