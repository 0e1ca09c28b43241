"""Deliver what the tracker queued: at least once up to the channel, and account for every attempt.

One lane per address. The claim of a delivery and the row of its attempt are one commit before the first byte, so that
what a kill leaves behind is either certainly unsent or shown as unknown. A lane sends part k+1 only after part k was
answered; a throttled or unreachable address waits by its stored due time and delays nobody else. This is the only
place that repeats anything.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from core.clock import Clock
from core.crashpoint import crashpoint
from core.delivery import Delivery, DeliveryState, Op, Outcome, Refusal, Rejected, RenderedPiece, Unknown
from core.errors import StoreUnavailable
from core.notices import notice
from core.pacing import Limits, Pacer
from core.parts import text_of
from core.persistence import patiently
from core.plugin import AgentPlugin
from core.settling import BACKOFF_FIRST, settle
from core.store import Deliveries, NotBefore, ReplyWindows, Settlement
from core.telemetry import Telemetry
from core.window import Ride, Windows

SEND_LIMIT = 120.0  # seconds for one attempt in all; the plugin's own phases are shorter
NO_ROOM = Rejected(Refusal.UNAVAILABLE, "the reply that was under way could not carry it")
NOT_YET = Rejected(
    Refusal.WINDOW_CLOSED, "it cannot be sent now, and a request is open that may carry it", retry_after=BACKOFF_FIRST
)
PUT_OFF = frozenset({Refusal.WINDOW_CLOSED, Refusal.THROTTLED, Refusal.UNAVAILABLE, Refusal.UNAUTHORISED})
CONCURRENT = 64  # attempts of one account at once


@dataclass(frozen=True, slots=True)
class Channel:
    """One account as the outbox needs it."""

    plugin: AgentPlugin
    limits: Callable[[], Limits]
    on_unknown: Callable[[], str]


@dataclass(slots=True)
class _Lane:
    account: str
    dirty: bool = False
    busy: bool = False
    is_group: bool = False
    timer: asyncio.TimerHandle | None = None
    throttled_until: float = 0.0  # monotonic


class Outbox:
    def __init__(
        self,
        deliveries: Deliveries,
        channels: Mapping[str, Channel],
        tasks: asyncio.TaskGroup,
        clock: Clock,
        telemetry: Telemetry,
        begins: Callable[[str], Awaitable[str]],
        windows: ReplyWindows,
    ) -> None:
        """`begins` ends the preview of the turn that is about to be answered; the channel's id of it, "" for none."""
        self._deliveries, self._channels, self._tasks = deliveries, channels, tasks
        self.windows = Windows(windows, clock, telemetry)
        self._clock, self._telemetry, self._begins = clock, telemetry, begins
        self._lanes: dict[str, _Lane] = {}
        self._pacers = {account: Pacer(channel.limits) for account, channel in channels.items()}
        self._slots = {account: asyncio.Semaphore(CONCURRENT) for account in channels}
        self._stopped = False
        self._freed = asyncio.Event()  # a lane went idle

    def wake(self, conversation: str, account: str) -> None:
        """Something is queued for this conversation; its lane will look."""
        lane = self._lanes.get(conversation)
        if lane is None:
            lane = self._lanes[conversation] = _Lane(account)
        lane.dirty = True
        self.windows.queued(conversation)
        if not lane.busy and account in self._channels and not self._stopped:
            lane.busy = True
            if lane.timer:
                lane.timer.cancel()
                lane.timer = None
            self._tasks.create_task(self._drain(conversation, lane), name=f"outbox {conversation}")

    def is_throttled(self, conversation: str) -> bool:
        lane = self._lanes.get(conversation)
        return lane is not None and lane.throttled_until > self._clock.monotonic()

    async def recover(self) -> int:
        """After a start: attempts that had begun are unknown; everything else queued goes on. How many were unknown.

        What a reply window had taken holds its lane until nobody can come for it any more.
        """
        begun = await patiently(self._deliveries.begun, self._telemetry)
        for delivery in begun:
            if waiting := await self.windows.expect(delivery, self._asks_again(delivery)):
                self._tasks.create_task(self._resume(delivery, waiting), name=f"window {delivery.window}")
            else:
                await self._settle(delivery, Unknown("the gateway stopped during the attempt"))
        for conversation, source in await patiently(self._deliveries.lanes, self._telemetry):
            self.wake(conversation, source.account)
        return sum(not delivery.window for delivery in begun)

    def _asks_again(self, delivery: Delivery) -> float | None:
        channel = self._channels.get(delivery.address.source.account)
        return channel.plugin.capabilities.asks_again if channel else None

    async def _resume(self, delivery: Delivery, waiting: Callable[[], Awaitable[Outcome]]) -> None:
        await self._settle(delivery, await waiting())
        self.wake(delivery.conversation, delivery.address.source.account)

    def stop(self) -> None:
        """Begin no further attempt; what is queued stays in the store."""
        self._stopped = True
        for lane in self._lanes.values():
            if lane.timer:
                lane.timer.cancel()

    async def quiet(self) -> None:
        """Until no attempt is under way and nothing is due."""
        while self.at_work:
            self._freed.clear()
            await self._freed.wait()

    @property
    def at_work(self) -> int:
        return sum(lane.busy for lane in self._lanes.values())

    # ------------------------------------------------------------------ one lane

    async def _drain(self, conversation: str, lane: _Lane) -> None:
        due: float | None = 0.0
        try:
            while not self._stopped and due is not None and due <= self._clock.now():
                lane.dirty = False  # before looking
                due = await self._next(conversation, lane)
        finally:
            lane.busy = False
            self._freed.set()
        if self._stopped:
            return
        if lane.dirty:
            self.wake(conversation, lane.account)
        elif due is not None:
            pause = max(0.0, due - self._clock.now())
            lane.timer = asyncio.get_running_loop().call_later(pause, self.wake, conversation, lane.account)
        elif lane.throttled_until <= self._clock.monotonic():
            self._lanes.pop(conversation, None)

    async def _next(self, conversation: str, lane: _Lane) -> float | None:
        """Make one attempt; when to look again, None when there is nothing left."""
        wait = self._pacers[lane.account].delay(conversation, is_group=lane.is_group, now=self._clock.monotonic())
        if wait:
            return self._clock.now() + wait
        async with self._slots[lane.account]:
            crashpoint("deliver.before_send")
            claimed = await self._claim(conversation)
            if claimed is None:
                return None
            if isinstance(claimed, NotBefore):
                return claimed.due
            crashpoint("deliver.after_claim")
            lane.is_group = not claimed.is_direct
            outcome, seconds = await self._attempt(claimed, lane.account)
            crashpoint("deliver.after_send")
            settlement, more = await self._settle(claimed, outcome, seconds)
            crashpoint("deliver.after_settle")
        if settlement.due:
            lane.throttled_until = self._clock.monotonic() + settlement.due - self._clock.now()
        return self._clock.now() if more else None

    async def _claim(self, conversation: str) -> Delivery | NotBefore | None:
        try:
            return await self._deliveries.claim(conversation, self._clock.now())
        except StoreUnavailable as error:
            return NotBefore(self._clock.now() + error.retry_after)

    async def _attempt(self, delivery: Delivery, account: str) -> tuple[Outcome, float]:
        """Where a delivery's failure ends: an exception is a bug of the plugin, and its bytes may have left."""
        preview = await self._begins(delivery.turn) or delivery.preview
        started = self._clock.monotonic()
        plugin = self._channels[account].plugin
        if preview and delivery.op is Op.SHOW and plugin.capabilities.replaces:
            delivery = replace(delivery, op=Op.REPLACE, replaces=(preview,))
        outcome: Outcome
        ride = Ride()
        try:
            async with asyncio.timeout(SEND_LIMIT):
                outcome = await self._shown(delivery, plugin, ride)
        except TimeoutError:
            outcome = Unknown(f"no answer within {SEND_LIMIT:.0f} s")
        except Exception as failure:
            outcome = Unknown(f"{type(failure).__name__} in the plugin")
            self._telemetry.event("delivery.plugin_failed", level="error", delivery=delivery.id, error=repr(failure))
        for other in ride.beside:
            await self._settle(other, ride.outcome or NO_ROOM)
        for other in ride.left:
            await self._settle(other, NO_ROOM)
        return outcome, self._clock.monotonic() - started

    async def _shown(self, delivery: Delivery, plugin: AgentPlugin, ride: Ride) -> Outcome:
        """Carried by a request that is open, or sent.

        What cannot be sent now, or before the person writes, is not left to wait for that while a request is open that
        could carry it: they may have written meanwhile, or the account may not send, as it turns out. It is claimed
        anew, and not offered here once more, since by then it may be the answer to an earlier question.
        """
        await self.windows.offer(delivery, ride, plugin.capabilities.asks_again)
        outcome = ride.outcome or await plugin.send(delivery)
        is_put_off = isinstance(outcome, Rejected) and outcome.kind in PUT_OFF
        return NOT_YET if is_put_off and self.windows.is_wanted(delivery) else outcome

    async def _settle(self, delivery: Delivery, outcome: Outcome, seconds: float = 0.0) -> tuple[Settlement, bool]:
        account = delivery.address.source.account
        channel = self._channels.get(account)
        on_unknown = channel.on_unknown() if channel else "skip"
        now = self._clock.now()
        settlement = settle(delivery, outcome, now, on_unknown=on_unknown, jitter=random.random())
        tell = channel is not None and on_unknown == "ask" and settlement.state is DeliveryState.UNKNOWN
        rendered = self._offer(channel.plugin, delivery) if channel and tell else None
        more = await patiently(lambda: self._deliveries.settle(settlement, now, rendered), self._telemetry)
        self._telemetry.event(
            "delivery.attempted",
            delivery=delivery.id,
            account=account,
            attempt=delivery.attempt,
            outcome=settlement.state.value,
            reason=settlement.reason,
            waited=round(now - delivery.queued, 6),
            duration=round(seconds, 6),
        )
        return settlement, more

    @staticmethod
    def _offer(plugin: AgentPlugin, delivery: Delivery) -> RenderedPiece | None:
        """The short notice that offers to show the uncertain part again; one for each turn."""
        piece = notice("delivery_unknown", delivery.language)
        try:
            return RenderedPiece(piece.key, text_of(piece.parts), plugin.render(piece))
        except Exception:  # the same plugin's bug; what it failed at is recorded as unknown already
            return None
