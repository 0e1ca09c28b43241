"""Reply windows: requests that somebody keeps open and that an answer may ride on, and what becomes of such an answer.

A channel's plugin makes a `ReplyWindow` for a request that may be answered with words, gives it to its intake with the
message, and waits. The outbox offers each delivery it has claimed to the open windows of the conversation before it
asks the plugin to send it. A window takes one answer: by compare-and-set in the store, so that no other road gives it
too, and durably, so that a sender who asks again (the same envelope, a later request, after a restart as well) gets
the very same answer.

What was written to a request is at best presumed: nobody confirms it, and only a sender who comes back contradicts.
A window whose request ended before the answer came is closed; where the sender is known to ask again, it stays open
between its requests. An answer that no request came for was certainly not shown, and goes the ordinary way.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from core.clock import Clock, Instant
from core.crashpoint import crashpoint
from core.delivery import Delivery, Outcome, Sent, Unknown
from core.errors import StoreUnavailable
from core.persistence import patiently
from core.telemetry import Telemetry

if TYPE_CHECKING:
    from core.store import HeldWindow, ReplyWindows

GRACE = 1.0  # seconds past `until` that a request which came in time may still need for its writing

Carry = Callable[[Delivery], str | None]
Join = Callable[[str, str], str | None]


@dataclass(frozen=True, slots=True)
class Gather:
    """For channels that can send nothing afterwards: an answer to an earlier message waits `until` then for the answer
    to the one that brought the request, and both go as one. `join` makes one of two, None where they do not fit.
    `is_wanted`: whether that is so now; it may come out while the request is open.
    """

    until: Instant
    join: Join
    is_wanted: Callable[[], bool] = lambda: True


class ReplyWindow:
    """One pending request. Give it to `Intake.accept`, wait for `answer`, say that it `writes` and that this is
    `written`; `leave` in any case.

    `until`: when the sender stops asking for this message. `carry` puts a delivery into the form in which this
    request can be answered, None for what it cannot carry. `returns`: a request that stays unanswered is made again by
    its sender before `until`, so that the window is open in between as well; that may come out before it is left.
    """

    def __init__(self, until: Instant, carry: Carry, *, returns: bool = False, gather: Gather | None = None) -> None:
        self.until, self.carry, self.returns, self.gather = until, carry, returns, gather
        self._shared: _Shared | None = None  # None: the message was refused, there is nothing to wait for

    async def answer(self, seconds: float) -> str | None:
        """The answer as `carry` made it, as soon as there is one; None when there is none within so many seconds."""
        if self._shared is None:
            return None
        with suppress(TimeoutError):  # an answer may still have come in the instant in which the time was over
            async with asyncio.timeout(max(0.0, seconds)):
                await self._shared.taken.wait()
        return self._shared.answer

    @property
    def is_open(self) -> bool:
        """Whether there is anything to wait for: not where the message was refused, or was asked about long ago."""
        return self._shared is not None

    @property
    def ends(self) -> Instant:
        """When the sender stops asking: counted from the first request for the message."""
        return self.until if self._shared is None else self._shared.held.until

    async def close(self, words: str, seconds: float) -> str:
        """Answer with these words of the channel's own, unless an answer was faster; what is to be written.

        A store that needs longer than so many seconds is not waited for: the words are then for this request alone.
        """
        return words if self._shared is None else await self._shared.close(words, seconds)

    def writes(self) -> None:
        """The answer's first byte is about to leave: from here on nobody can say that it was certainly not seen."""
        if self._shared is not None:
            self._shared.may_be_seen = True

    def written(self) -> None:
        """The answer was handed to the connection."""
        if self._shared is not None:
            self._shared.written = True
            self._shared.changed.set()

    def leave(self, *, unheard: bool = False) -> None:
        """The request is over. `unheard`: its sender got no answer and asks again, if it ever does so."""
        if self._shared is not None:
            self._shared.leave(self, unheard=unheard)


class _Shared:
    """What all requests for one envelope share."""

    def __init__(self, windows: "Windows", envelope: str, held: "HeldWindow", window: ReplyWindow | None) -> None:
        self._windows, self.envelope, self.held = windows, envelope, held
        self.carry: Carry = window.carry if window is not None else (lambda _: None)
        self.requests: list[ReplyWindow] = []
        self.answer: str | None = None
        self.taken, self.changed, self.news = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.written = False
        self.returns = window is None or window.returns
        self.may_be_seen = False  # a request began to be answered
        if held.answer is not None:
            self.give(held.answer)

    def enter(self, window: ReplyWindow) -> None:
        window._shared, self.carry = self, window.carry
        self.requests.append(window)
        self.changed.set()

    def leave(self, window: ReplyWindow, *, unheard: bool) -> None:
        if window not in self.requests:
            return
        self.requests.remove(window)
        self.returns = (self.returns or window.returns or self.answer is not None) if unheard else False
        self.changed.set()
        if self.is_over:
            self._windows.forget(self)

    def give(self, answer: str) -> None:
        self.answer = answer
        self.taken.set()

    def is_open(self, now: Instant) -> bool:
        return self.answer is None and (bool(self.requests) or (self.returns and now < self.held.until))

    def is_asked_again(self, now: Instant, within: float | None) -> bool:
        """Whether a sender who hears nothing now comes once more, so that its silence says that it got its answer."""
        return within is not None and now + within <= self.held.until

    @property
    def gather(self) -> Gather | None:
        """Of the request that is there now."""
        gather = self.requests[-1].gather if self.requests else None
        return gather if gather is not None and gather.is_wanted() else None

    @property
    def is_over(self) -> bool:
        """Nobody is there for the answer, and nobody will come."""
        return not self.requests and not self.returns

    async def close(self, words: str, seconds: float) -> str:
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds)):
                if self.answer is None and not await self._windows.take(self, "", words):
                    await self.taken.wait()  # whoever was faster has stored it and gives it now
        return self.answer or words


@dataclass(slots=True)
class Ride:
    """What became of an offer, kept by whoever makes it, so that nothing claimed on the way is forgotten."""

    outcome: Outcome | None = None  # None: no window took it, and it is to be sent
    beside: list[Delivery] = field(default_factory=list)  # claimed too; they share the outcome
    left: list[Delivery] = field(default_factory=list)  # claimed too, and found no room


class Windows:
    """The open windows of one process, by conversation."""

    def __init__(self, store: "ReplyWindows", clock: Clock, telemetry: Telemetry) -> None:
        self._store, self._clock, self._telemetry = store, clock, telemetry
        self._open: dict[str, dict[str, _Shared]] = {}  # by conversation and envelope, oldest first
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def enter(self, window: ReplyWindow, envelope: str, held: "HeldWindow") -> None:
        """A request waits for what is answered to this envelope. `held` is what the store has of its window."""
        now = self._clock.now()
        shared = self._open.get(held.conversation, {}).get(envelope)
        if shared is None:
            if held.until + GRACE <= now:
                return  # long after: whoever waited then is gone, and the answer was seen or is known to be lost
            shared = self._keep(_Shared(self, envelope, held, window))
        shared.enter(window)

    def queued(self, conversation: str) -> None:
        """Something is queued there: it may be what an earlier answer waits for."""
        for shared in self._open.get(conversation, {}).values():
            shared.news.set()

    def is_wanted(self, delivery: Delivery) -> bool:
        """Whether a window is open that could carry it."""
        open_here, now = self._open.get(delivery.conversation, {}).values(), self._clock.now()
        return any(shared.is_open(now) and shared.carry(delivery) is not None for shared in open_here)

    async def offer(self, delivery: Delivery, ride: Ride, again: float | None = None) -> None:
        """Let an open window of the conversation carry it, where one can. `again`: `Capabilities.asks_again`."""
        open_here = list(self._open.get(delivery.conversation, {}).values())
        for shared in sorted(open_here, key=lambda each: not each.requests):  # first where somebody waits right now
            if not shared.is_open(self._clock.now()) or (answer := shared.carry(delivery)) is None:
                continue
            if delivery.quote and (gather := shared.gather) is not None:
                answer = await self._gathered(shared, gather, delivery, answer, ride)
            if shared.is_open(self._clock.now()) and await self.take(shared, delivery.id, answer, again):
                ride.outcome = await self._carried(shared, delivery, self._clock.now())
            if ride.outcome is not None or ride.beside or ride.left:
                return

    async def _gathered(self, shared: _Shared, gather: Gather, delivery: Delivery, answer: str, ride: Ride) -> str:
        """The answer with what is queued behind it as soon as something is, or alone when it may wait no longer."""
        ends = self._clock.monotonic() + gather.until - self._clock.now()
        while (left := ends - self._clock.monotonic()) > 0:
            shared.news.clear()
            other = await self._behind(delivery)
            if other is not None:
                ride.left.append(other)
                words = shared.carry(other)
                joined = None if words is None else gather.join(answer, words)
                if joined is not None:
                    ride.beside.append(ride.left.pop())
                return joined or answer
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await shared.news.wait()
        return answer

    async def _behind(self, delivery: Delivery) -> Delivery | None:
        try:
            return await self._store.claim_behind(delivery, self._clock.now())
        except StoreUnavailable:
            return None

    async def expect(self, delivery: Delivery, again: float | None) -> Callable[[], Awaitable[Outcome]] | None:
        """After a start: an answer was taken, and its sender may ask again: what to wait for; None when none was."""
        held = None
        if delivery.window:
            held = await patiently(lambda: self._store.held(delivery.window), self._telemetry)
        if held is None:
            return None
        shared = self._keep(_Shared(self, delivery.window, held, None))
        is_heard = held.was_asked and shared.is_asked_again(self._clock.now(), again)
        return partial(self._fetched, shared, is_heard)

    async def _fetched(self, shared: _Shared, is_heard: bool) -> Outcome:
        """`is_heard`: whoever got no answer comes again, and finds somebody here."""
        await self._until_written(shared)
        self.forget(shared)
        if shared.written or is_heard:
            return Sent((), presumed=True)
        return Unknown("the gateway stopped, and whether the answer was fetched before cannot be known")

    async def take(self, shared: _Shared, delivery: str, answer: str, again: float | None = None) -> bool:
        """Store the answer as the window's only one; False when it has another, or the store cannot say."""
        was_asked = bool(shared.requests) and shared.is_asked_again(self._clock.now(), again)
        try:
            is_taken = await self._store.ride(shared.envelope, delivery, answer, was_asked=was_asked)
        except StoreUnavailable:
            return False
        if is_taken:
            crashpoint("window.after_take")
            shared.give(answer)
        return is_taken

    async def _carried(self, shared: _Shared, delivery: Delivery, begun: Instant) -> Outcome | None:
        await self._until_written(shared)
        if shared.written:
            outcome: Outcome | None = Sent((), presumed=True)
        elif shared.may_be_seen:
            outcome = Unknown("the request that took the answer ended before it was written")
        else:
            await patiently(lambda: self._store.unride(shared.envelope, delivery.id), self._telemetry)
            outcome = None
        seconds = round(self._clock.now() - begun, 6)
        name = "written" if shared.written else "lost" if shared.may_be_seen else "not_fetched"
        self._telemetry.event(
            "window.carried", delivery=delivery.id, envelope=shared.envelope, outcome=name, duration=seconds
        )
        return outcome

    async def _until_written(self, shared: _Shared) -> None:
        """Until a request took the answer away, or none will come for it any more."""
        left = max(0.0, shared.held.until - self._clock.now()) + GRACE
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                while not (shared.written or shared.is_over):
                    shared.changed.clear()
                    await shared.changed.wait()

    def _keep(self, shared: _Shared) -> _Shared:
        self._open.setdefault(shared.held.conversation, {})[shared.envelope] = shared
        left = max(0.0, shared.held.until - self._clock.now()) + GRACE
        loop = asyncio.get_running_loop()
        self._timers[shared.envelope] = loop.call_later(left, self._end, shared)
        return shared

    def _end(self, shared: _Shared) -> None:
        """Nobody comes for it any more, whatever a wall clock says that jumped meanwhile."""
        shared.returns = False
        shared.changed.set()
        self.forget(shared)

    def forget(self, shared: _Shared) -> None:
        timer = self._timers.pop(shared.envelope, None)
        if timer is not None:
            timer.cancel()
        windows = self._open.get(shared.held.conversation, {})
        if windows.get(shared.envelope) is shared:
            del windows[shared.envelope]
            if not windows:
                del self._open[shared.held.conversation]
