"""Hours that pass in a moment: for what is promised in seconds or minutes, with everything set as it is shipped.

An event loop that skips to its next timer whenever nothing else is to be done, and a clock that tells its time. Nothing
of it depends on the machine. It must have neither threads nor sockets to wait for.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
BEGAN = 1_800_000_000.0  # what the wall clock says at the beginning


def passing(work: Coroutine[Any, Any, T]) -> T:
    """Run it in such a loop; what it comes to."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)


class LoopClock:
    """Of the running loop."""

    def now(self) -> float:
        return BEGAN + self.monotonic()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


class _Selector(selectors.SelectSelector):
    skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        ready = super().select(0)
        if not ready:
            self.skipped += timeout
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._hours = _Selector()
        super().__init__(self._hours)

    def time(self) -> float:
        return self._hours.skipped
