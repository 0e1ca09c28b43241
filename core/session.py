"""Lanes: what is admitted gets worked on, in order within its thread, fair between owners, bounded overall.

One lane per thread; it takes one turn at a time and goes to the back of its owner's line after each. Owners take
turns in a ring, so that ten thousand messages of one wait for themselves, not for others. A turn that waits on a
remote task past the foreground's patience gives its slot back and keeps only its lane. Work for the desk (commands,
notices) needs no slot and overtakes everything.

A lane clears its dirty mark *before* it looks into the store: what is admitted while the store answers "nothing"
marks it again.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol

from core.clock import Clock
from core.crashpoint import crashpoint
from core.errors import Busy, FloodFromSender, StoreUnavailable
from core.store import Ready, Turn, Turns

BUSY_RETRY = 2.0  # seconds; what a full queue tells its senders: long enough to drain some, short for a person
COLLECTED = 20  # messages in one turn at most, where an account collects
COLLECT_CAP = 10  # times the collecting window: how long a stream of messages may put off its turn


@dataclass(frozen=True, slots=True)
class Bounds:
    max_turns: int = 64  # turns at work at once
    max_turns_per_owner: int = 48  # of these, so that one owner's slow work leaves room for others
    max_queued: int = 20_000  # messages admitted and not yet answered; past it senders are told to come back
    max_queued_per_owner: int = 1_000


class Work(Protocol):
    async def __call__(self, turn: Turn, park: Callable[[], None], *, resumed: bool) -> bool:
        """Work on a turn until it ended; `park` gives its slot back early; `resumed` after a start.

        True when the turn ended by asking: what was still queued in its thread has moved to a new one.
        """
        ...


@dataclass(slots=True)
class _Line:
    """One owner's threads that are ready, and what the owner holds of the bounds."""

    ready: deque[str] = field(default_factory=deque)
    running: int = 0
    queued: int = 0


@dataclass(slots=True)
class _Lane:
    owner: str
    is_desk: bool = False
    pending: int = 0  # messages known to be queued; the store decides
    dirty: bool = False
    busy: bool = False
    lined_up: bool = False
    limit: int = 1
    first_held: float = 0.0
    hold: asyncio.TimerHandle | None = None


class Lanes:
    def __init__(
        self,
        turns: Turns,
        bounds: Callable[[], Bounds],
        tasks: asyncio.TaskGroup,
        clock: Clock,
        work: Work,
        desk: Callable[[Turn], Awaitable[None]],
    ) -> None:
        self._turns, self._bounds, self._tasks, self._clock = turns, bounds, tasks, clock
        self._work, self._desk = work, desk
        self._lanes: dict[str, _Lane] = {}
        self._lines: dict[str, _Line] = {}
        self._ring: deque[str] = deque()  # owners with a ready thread
        self._reserved = 0
        self._stopped = False
        self._freed = asyncio.Event()  # a slot was given back
        self.queued = 0
        self.running = 0

    # ------------------------------------------------------------------ the way in

    def room_for(self, owners: Sequence[str]) -> "_Room":
        """Hold room for one message of each owner while it is being admitted. Raises Busy or FloodFromSender."""
        bounds = self._bounds()
        if owners and (self._stopped or self.queued + self._reserved + len(owners) > bounds.max_queued):
            raise Busy("the queue is full (gateway.max_queued)", retry_after=BUSY_RETRY)
        for owner in owners:
            line = self._lines.get(owner)
            if line and line.queued >= bounds.max_queued_per_owner:
                raise FloodFromSender("too many unanswered messages (max_queued_per_owner)", retry_after=BUSY_RETRY)
        return _Room(self, len(owners))

    def add(self, ready: Ready, *, collect: float = 0.0) -> None:
        """Messages were admitted to a thread; its lane will look, after the collecting window where there is one."""
        lane = self._lanes.get(ready.thread)
        if lane is None:
            lane = self._lanes[ready.thread] = _Lane(ready.owner, ready.is_desk)
        lane.pending += ready.queued
        lane.dirty = True
        if not lane.is_desk:
            self.queued += ready.queued
            self._lines.setdefault(ready.owner, _Line()).queued += ready.queued
        if collect:
            self._hold(ready.thread, lane, collect)
        else:
            self._line_up(ready.thread, lane)

    def wake(self, ready: Ready) -> None:
        """A thread has something to do that was admitted earlier: a message put back to work, or moved here."""
        self.add(ready)

    def drop(self, owner: str, count: int) -> None:
        """Queued messages of this owner were cancelled in the store."""
        self._leave(owner, count)

    def adopt(self, turn: Turn, after: float = 0.0) -> None:
        """After a start: go on with a turn that had begun, `after` so many seconds. One that waits needs no slot."""
        lane = self._lanes[turn.thread] = _Lane(turn.owner, turn.is_desk, busy=True)
        slot = _Slot(self, lane)
        if turn.is_desk or turn.waiting:
            slot.waive()
        else:
            self.running += 1
            self.queued += len(turn.envelopes)
            line = self._lines.setdefault(turn.owner, _Line())
            line.running += 1
            line.queued += len(turn.envelopes)
        self._tasks.create_task(self._go_on(turn, lane, slot, after), name=f"lane {turn.thread}")

    def stop(self) -> None:
        """Begin no further turn; what is queued stays in the store."""
        self._stopped = True

    async def quiet(self) -> None:
        """Until no turn holds a slot; what waits on a remote task holds none."""
        while self.running:
            self._freed.clear()
            await self._freed.wait()

    # ------------------------------------------------------------------ scheduling

    def _hold(self, thread: str, lane: _Lane, collect: float) -> None:
        """Start the collecting window again, but never put the first message off past the cap."""
        lane.limit = COLLECTED
        loop, now = asyncio.get_running_loop(), self._clock.monotonic()
        if lane.hold is None:
            lane.first_held = now
        else:
            lane.hold.cancel()
        delay = max(0.0, min(collect, lane.first_held + COLLECT_CAP * collect - now))
        lane.hold = loop.call_later(delay, self._release, thread)

    def _release(self, thread: str) -> None:
        if lane := self._lanes.get(thread):
            lane.hold = None
            self._line_up(thread, lane)

    def _line_up(self, thread: str, lane: _Lane) -> None:
        if lane.busy or lane.lined_up or lane.hold is not None or self._stopped:
            return
        if lane.is_desk:
            self._start(thread, lane)
            return
        lane.lined_up = True
        line = self._lines.setdefault(lane.owner, _Line())
        line.ready.append(thread)
        if len(line.ready) == 1:
            self._ring.append(lane.owner)
        self._fill()

    def _fill(self) -> None:
        bounds = self._bounds()
        for _ in range(len(self._ring)):
            if self.running >= bounds.max_turns or self._stopped:
                return
            owner = self._ring.popleft()
            line = self._lines[owner]
            if line.running >= bounds.max_turns_per_owner:
                self._ring.append(owner)
                continue
            thread = line.ready.popleft()
            if line.ready:
                self._ring.append(owner)
            self._lanes[thread].lined_up = False
            line.running += 1
            self.running += 1
            self._start(thread, self._lanes[thread])

    def _start(self, thread: str, lane: _Lane) -> None:
        lane.busy = True
        self._tasks.create_task(self._one_turn(thread, lane), name=f"lane {thread}")

    async def _one_turn(self, thread: str, lane: _Lane) -> None:
        slot = _Slot(self, lane)
        turn, moved = None, False
        try:
            lane.dirty = False  # before looking
            turn = await self._begin(thread, lane.limit)
            if turn is not None:
                lane.pending -= len(turn.envelopes)
                crashpoint("router.after_claim")
                moved = await self._answer(turn, slot)
        finally:
            lane.busy = False
            slot.give_back()
        if moved and lane.pending > 0:
            await self._follow_moved(lane)
        self._again(thread, lane, found=turn is not None)

    async def _go_on(self, turn: Turn, lane: _Lane, slot: "_Slot", after: float) -> None:
        try:
            await asyncio.sleep(after)
            await self._answer(turn, slot, resumed=True)
        finally:
            lane.busy = False
            slot.give_back()
        lane.dirty = True  # what was queued behind it is known to the store only
        self._again(turn.thread, lane, found=True)

    async def _answer(self, turn: Turn, slot: "_Slot", *, resumed: bool = False) -> bool:
        if turn.is_desk:
            await self._desk(turn)
            return False
        slot.messages = len(turn.envelopes)
        return await self._work(turn, slot.give_back, resumed=resumed)

    async def _begin(self, thread: str, limit: int) -> Turn | None:
        while True:
            try:
                return await self._turns.begin(thread, self._clock.now(), limit=limit)
            except StoreUnavailable as error:
                await asyncio.sleep(error.retry_after)

    async def _follow_moved(self, lane: _Lane) -> None:
        """What was queued behind a question has a thread of its own now: find it."""
        self._leave(lane.owner, lane.pending)
        lane.pending, lane.dirty = 0, False
        for ready in await self._turns.ready():
            known = self._lanes.get(ready.thread)
            if known is None or (known.pending <= 0 and not known.busy):
                self.add(ready)

    def _again(self, thread: str, lane: _Lane, *, found: bool) -> None:
        if lane.dirty or (found and lane.pending > 0):
            self._line_up(thread, lane)
        elif not lane.busy:
            if lane.pending > 0:  # the store had nothing after all: dropped, or taken before it was counted
                self._leave(lane.owner, lane.pending)
            self._lanes.pop(thread, None)

    def _leave(self, owner: str, messages: int) -> None:
        """Messages left the queue, answered or dropped."""
        line = self._lines.get(owner)
        self.queued = max(0, self.queued - messages)
        if line is not None:
            line.queued = max(0, line.queued - messages)
            if not (line.queued or line.running or line.ready):
                del self._lines[owner]


class _Slot:
    """A turn's place among `max_turns`, and its messages' among `max_queued`; given back once."""

    def __init__(self, lanes: Lanes, lane: _Lane) -> None:
        self._lanes, self._lane = lanes, lane
        self.messages = 0
        self._held = not lane.is_desk

    def waive(self) -> None:
        self._held = False

    def give_back(self) -> None:
        if not self._held:
            return
        self._held = False
        self._lanes.running -= 1
        self._lanes._freed.set()
        line = self._lanes._lines.get(self._lane.owner)
        if line is not None:
            line.running -= 1
        self._lanes._leave(self._lane.owner, self.messages)
        self._lanes._fill()


class _Room:
    def __init__(self, lanes: Lanes, count: int) -> None:
        self._lanes, self._count = lanes, count

    def __enter__(self) -> None:
        self._lanes._reserved += self._count

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._lanes._reserved -= self._count
