"""The host as the Telegram plugin sees it, in memory: an intake, leases, plugin state, and time that a test moves."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager

from core.envelope import Inbound, Moved, Unreadable
from core.identity import Address
from core.parts import text_of
from core.plugin import Accepted, Admission, Cursor, Duplicate, Entry, Refused
from core.window import ReplyWindow
from plugins.telegram.patience import Patience
from tests.fakes.serving import Changes

Item = Inbound | Unreadable | Moved

LONG = 5.0  # seconds; shorter waits pass at once, longer ones when the test moves the time


class RecordingIntake:
    """Keeps what it accepted, each key once, and the cursors. `fail_with` orders errors for the next calls."""

    def __init__(self) -> None:
        self.changes = Changes()
        self.accepted: list[Item] = []
        self.cursors: dict[str, str] = {}
        self.batches: list[tuple[tuple[Item, ...], Cursor | None]] = []  # every call, failed ones too
        self.room: int | None = None  # the largest batch that is taken; None for any
        self._seen: set[str] = set()
        self._errors: list[Exception] = []
        self._full: Exception | None = None

    def fail_with(self, *errors: Exception) -> None:
        self._errors.extend(errors)

    def take_at_most(self, room: int, error: Exception) -> None:
        self.room, self._full = room, error

    async def accept(
        self, batch: Sequence[Item], *, cursor: Cursor | None = None, window: ReplyWindow | None = None
    ) -> Sequence[Admission]:
        assert window is None, "a bot's update is not answered in the request that brings it"
        self.batches.append((tuple(batch), cursor))
        self.changes.mark()
        await asyncio.sleep(0)
        if self._errors:
            raise self._errors.pop(0)
        if self.room is not None and len(batch) > self.room and self._full is not None:
            raise self._full
        admissions = [self._admit(item) for item in batch]
        if cursor is not None:
            self.cursors[cursor.name] = cursor.value
        self.changes.mark()
        return admissions

    language = ""

    async def lets_in(self, inbound: Inbound) -> bool:
        del inbound
        return True

    async def cursor(self, name: str) -> str | None:
        return self.cursors.get(name)

    def _admit(self, item: Item) -> Admission:
        if not self._seen.isdisjoint(item.keys):
            return Duplicate("")
        self._seen.update(item.keys)
        self.accepted.append(item)
        return Accepted(f"e{len(self.accepted)}") if isinstance(item, Inbound) else Refused("unreadable")

    @property
    def messages(self) -> list[Inbound]:
        return [item for item in self.accepted if isinstance(item, Inbound)]

    @property
    def texts(self) -> list[str]:
        return [text_of(message.parts) for message in self.messages]

    async def until(self, count: int) -> list[Item]:
        """What was accepted, once there are at least `count`."""
        await self.changes.until(lambda: len(self.accepted) >= count, what=f"{count} accepted")
        return self.accepted


class MemoryLeases:
    """Leases of one shared store; `hand_to` gives one away as a fenced-off holder finds it."""

    def __init__(self) -> None:
        self.changes = Changes()
        self.holders: dict[str, str] = {}
        self.asked: list[tuple[str, str]] = []
        self._fences = itertools.count(1)

    async def acquire(self, name: str, holder: str, ttl: float) -> int | None:
        self.asked.append((name, holder))
        held = self.holders.setdefault(name, holder) == holder
        self.changes.mark()
        return next(self._fences) if held else None

    async def release(self, name: str, holder: str) -> None:
        if self.holders.get(name) == holder:
            del self.holders[name]
        self.changes.mark()

    def hand_to(self, name: str, holder: str) -> None:
        self.holders[name] = holder


class NoHistory:
    """Telegram keeps its chats' history itself."""

    async def history(self, address: Address, *, limit: int = 200) -> Sequence[Entry]:
        del address, limit
        return ()


class MemoryState:
    def __init__(self) -> None:
        self.values: dict[tuple[str, str], tuple[str, int]] = {}

    async def read(self, account: str, name: str) -> tuple[str, int] | None:
        return self.values.get((account, name))

    async def write(self, account: str, name: str, value: str, *, version: int) -> bool:
        _, present = self.values.get((account, name), ("", 0))
        if present != version:
            return False
        self.values[account, name] = (value, version + 1)
        return True

    async def forget(self, account: str, name: str, *, version: int) -> bool:
        if self.values.get((account, name), ("", 0))[1] != version:
            return False
        return self.values.pop((account, name), None) is not None


class ManualTime:
    """A clock that stands still until `advance`; `waits` holds every wait asked for, in seconds."""

    def __init__(self) -> None:
        self.changes = Changes()
        self.seconds = 0.0
        self.waits: list[float] = []

    def now(self) -> float:
        return 1_790_000_000.0 + self.seconds

    def monotonic(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.seconds += seconds
        self.changes.mark()

    async def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        until = self.seconds + seconds
        self.changes.mark()
        if seconds < LONG:
            await asyncio.sleep(0)
            return
        while self.seconds < until:
            await self.changes.until(lambda: self.seconds >= until, timeout=60, what=f"{seconds} s of manual time")

    def patience(self) -> Patience:
        return Patience(self, _short_pauses, self.wait)


def _short_pauses() -> Iterator[float]:
    return itertools.chain((0.01,), itertools.repeat(0.02))


@asynccontextmanager
async def running(work: Coroutine[object, object, None]) -> AsyncIterator[None]:
    """The work runs while the block does; if it failed by itself, the block fails with its error."""
    task = asyncio.create_task(work, name="plugin under test")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task}, timeout=10)
    if not task.cancelled() and (error := task.exception()) is not None:
        raise error
