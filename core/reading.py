"""Reading one stream of an agent: until it ends, is cut, or somebody who knows better leaves it.

Only the waiting for the next event can be left; what is done with an event is never interrupted by that.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from core.agent import TaskEvent

CLOSE_LIMIT = 5.0  # seconds an agent's stream may take to let go when it is left


class Reading:
    def __init__(self, stream: AsyncIterator[TaskEvent]) -> None:
        self._stream = stream
        self._has_ended = False
        self._deadline: float | None = None
        self._waiting: asyncio.Timeout | None = None

    def leave(self, after: float = 0.0) -> None:
        """Stop reading, at the latest in so many seconds."""
        deadline = asyncio.get_running_loop().time() + after
        if self._deadline is None or deadline < self._deadline:
            self._deadline = deadline
            if self._waiting is not None:
                self._waiting.reschedule(deadline)

    async def next(self) -> TaskEvent | None:
        """None at the end, or when the stream was left."""
        self._waiting = asyncio.timeout_at(self._deadline)
        try:
            async with self._waiting:
                return await anext(self._stream)
        except StopAsyncIteration:
            self._has_ended = True
            return None
        except TimeoutError:
            if self._waiting.expired():
                return None
            raise
        finally:
            self._waiting = None

    async def close(self) -> None:
        """Let go of the stream, whatever became of it."""
        close = None if self._has_ended else getattr(self._stream, "aclose", None)
        if close is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_LIMIT):
                    await close()
