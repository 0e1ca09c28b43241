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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from core.clock import Clock
from core.errors import Busy, FloodFromSender
from core.persistence import patiently
from core.store import Ready, Turns
from core.telemetry import Telemetry
from core.turn import Turn

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
    async def __call__(self, turn: Turn, park: Callable[[], None], *, after: float | None) -> Turn:
        """Work on a turn until it ended; the turn then. `park` gives its slot back early.

        `after`: the turn had begun before a start, and is to be gone on with in so many seconds; None: it is new.
        """
        ...


@dataclass(slots=True)
class _Line:
    """One owner's threads that are ready, and what the owner holds of the bounds."""

    ready: deque[str] = field(default_factory=deque)
    running: int = 0
    queued: int = 0

    @property
    def is_idle(self) -> bool:
        return not (self.queued or self.running or self.ready)


@dataclass(slots=True)
class _Lane:
    owner: str
    is_desk: bool = False
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
        telemetry: Telemetry,
        work: Work,
        desk: Work,
    ) -> None:
        self._turns, self._bounds, self._tasks, self._clock = turns, bounds, tasks, clock
        self._telemetry, self._work, self._desk = telemetry, work, desk
        self._lanes: dict[str, _Lane] = {}
        self._lines: dict[str, _Line] = {}
        self._ring: deque[str] = deque()  # owners with a ready thread
        self._stopped = False
        self._freed = asyncio.Event()  # a slot was given back
        self.queued = 0  # messages coming in or admitted, not yet answered, nor waiting on a remote task
        self.running = 0  # turns that hold a slot

    # ------------------------------------------------------------------ the way in

    def enter(self, owners: Sequence[str]) -> None:
        """Count one message of each owner in, before it is stored. Raises Busy or FloodFromSender, counting none."""
        if not owners:
            return
        if self._stopped or self.queued + len(owners) > self._bounds().max_queued:
            raise Busy("the queue is full (gateway.max_queued)", retry_after=BUSY_RETRY)
        if len(owners) == 1 and self.is_flooding(owners[0]):
            raise FloodFromSender("too many unanswered messages (max_queued_per_owner)", retry_after=BUSY_RETRY)
        self.enter_again(owners)

    def enter_again(self, owners: Sequence[str]) -> None:
        """The same past every bound, for what came before: it adds nothing, and leaves as soon as the store says so."""
        for owner in owners:
            self._count(owner, 1)

    def leave(self, owners: Sequence[str]) -> None:
        """They were not stored after all."""
        for owner in owners:
            self._count(owner, -1)

    def is_flooding(self, owner: str, coming: int = 1) -> bool:
        """Whether so many more messages of this owner would be too many."""
        line = self._lines.get(owner)
        return (line.queued if line else 0) + coming > self._bounds().max_queued_per_owner

    def look(self, thread: str, owner: str, *, is_desk: bool = False, collect: float = 0.0) -> None:
        """A thread has something queued; its lane will look, after the collecting window where there is one."""
        lane = self._open(thread, owner, is_desk=is_desk)
        lane.dirty = True
        if collect:
            self._hold(thread, lane, collect)
        elif not lane.busy:
            self._line_up(thread, lane)

    def add(self, ready: Ready) -> None:
        """Messages that were admitted earlier are queued: after a start, or put back to work."""
        if not ready.is_desk:
            self._count(ready.owner, ready.queued)
        self.look(ready.thread, ready.owner, is_desk=ready.is_desk)

    def drop(self, owner: str, count: int) -> None:
        """Queued messages of this owner were cancelled in the store."""
        self._count(owner, -count)

    def refill(self) -> None:
        """The bounds have changed."""
        self._fill()

    def adopt(self, turn: Turn, after: float = 0.0) -> None:
        """After a start: go on with a turn that had begun, in `after` seconds. One that waits needs no slot."""
        lane = self._open(turn.thread, turn.owner, is_desk=turn.is_desk)
        lane.busy = True
        slot = _Slot(self, lane, messages=len(turn.envelopes))
        if turn.is_desk or turn.waiting:
            slot.waive()
        else:
            self._take_slot(lane.owner)
            self._count(lane.owner, len(turn.envelopes))
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
            self._take_slot(owner)
            self._start(thread, self._lanes[thread])

    def _start(self, thread: str, lane: _Lane) -> None:
        lane.busy = True
        self._tasks.create_task(self._one_turn(thread, lane), name=f"lane {thread}")

    async def _one_turn(self, thread: str, lane: _Lane) -> None:
        slot, ended = _Slot(self, lane), None
        try:
            lane.dirty = False  # before looking
            turn = await patiently(
                lambda: self._turns.begin(thread, self._clock.now(), limit=lane.limit), self._telemetry
            )
            if turn is not None:
                slot.messages = len(turn.envelopes)
                ended = await self._answer(turn, slot, after=None)
        finally:
            lane.busy = False
            slot.give_back()
        self._next(thread, lane, ended)

    async def _go_on(self, turn: Turn, lane: _Lane, slot: "_Slot", after: float) -> None:
        ended = None
        try:
            ended = await self._answer(turn, slot, after=after)
        finally:
            lane.busy = False
            slot.give_back()
        self._next(turn.thread, lane, ended)

    async def _answer(self, turn: Turn, slot: "_Slot", *, after: float | None) -> Turn:
        return await (self._desk if turn.is_desk else self._work)(turn, slot.give_back, after=after)

    def _next(self, thread: str, lane: _Lane, ended: Turn | None) -> None:
        if ended is not None and ended.moved:
            moved = self._open(ended.moved, lane.owner)
            moved.dirty = True
            self._line_up(ended.moved, moved)
        if lane.dirty or (ended is not None and ended.more):
            self._line_up(thread, lane)
        elif not lane.busy and lane.hold is None:
            self._lanes.pop(thread, None)

    def _open(self, thread: str, owner: str, *, is_desk: bool = False) -> _Lane:
        lane = self._lanes.get(thread)
        if lane is None:
            lane = self._lanes[thread] = _Lane(owner, is_desk)
        return lane

    # ------------------------------------------------------------------ counts

    def _take_slot(self, owner: str) -> None:
        self.running += 1
        self._lines.setdefault(owner, _Line()).running += 1

    def _free_slot(self, owner: str, messages: int) -> None:
        self.running -= 1
        self._lines.setdefault(owner, _Line()).running -= 1
        self._count(owner, -messages)
        self._freed.set()
        self._fill()

    def _count(self, owner: str, messages: int) -> None:
        """Messages came into the queue, or left it: answered, dropped, or waiting on a remote task."""
        line = self._lines.get(owner)
        if line is None:
            line = self._lines[owner] = _Line()
        self.queued += messages
        line.queued += messages
        if messages <= 0 and line.is_idle:
            del self._lines[owner]


class _Slot:
    """A turn's place among `max_turns`, and its messages' among `max_queued`; given back once."""

    def __init__(self, lanes: Lanes, lane: _Lane, messages: int = 0) -> None:
        self._lanes, self._owner, self.messages = lanes, lane.owner, messages
        self._held = not lane.is_desk

    def waive(self) -> None:
        self._held = False

    def give_back(self) -> None:
        if self._held:
            self._held = False
            self._lanes._free_slot(self._owner, self.messages)
