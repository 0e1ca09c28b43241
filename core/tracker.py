"""The only writer of submissions and remote tasks: streams, answers, polls and cancels of all turns meet here.

Each turn at work is one Pursuit; the tracker gives it what it needs, commits what it observes together with the
deliveries that implies, and finds it again when a person cancels or an operator asks.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from core.agent import Road, Snapshot, StatusUpdate, TaskEvent
from core.clock import Clock, Instant
from core.closing import Closings
from core.crashpoint import crashpoint
from core.delivery import Piece, RenderedPiece
from core.errors import AgentError, Busy, LeaseLost
from core.files import NO_FILES, Files, keep_files
from core.followed import Follower, Report
from core.helm import Delegate
from core.holders import Holders
from core.identity import Address
from core.notices import notice
from core.parts import text_of
from core.patience import Patience
from core.persistence import patiently
from core.plugin import AgentPlugin
from core.preview import Preview, Previews
from core.pursuit import Pursuit
from core.push import PushBook, PushTarget
from core.record import kind_of
from core.steps import failed
from core.store import Turns
from core.telemetry import Telemetry
from core.turn import Observation, OpenTask, SubmissionState, Told, Turn, TurnEnd, TurnState
from core.vigil import Vigils

PUSHES_WAITING = 1000  # beyond it agents are told to come back; a push may hold a whole task of some MB
PUSH_RETRY = 5.0  # seconds


class TaskTracker:
    def __init__(
        self,
        turns: Turns,
        delegates: Mapping[str, Delegate],
        plugins: Mapping[str, AgentPlugin],
        previews: Previews,
        wake_outbox: Callable[[str, str], None],
        tasks: asyncio.TaskGroup,
        clock: Clock,
        telemetry: Telemetry,
        patience: Patience,
        fallbacks: Callable[[str], Mapping[str, str]],
        pushes: PushBook,
        followers: Mapping[str, Follower] | None = None,
        files: Files = NO_FILES,
    ) -> None:
        """`fallbacks`: of an account, by agent, as they are configured now; `followers`: of the accounts that follow
        the work itself."""
        self._fallbacks, self._followers = fallbacks, followers or {}
        self._turns, self._delegates, self._plugins, self._previews = turns, delegates, plugins, previews
        self._wake_outbox, self._tasks = wake_outbox, tasks
        self.clock, self.telemetry, self.patience = clock, telemetry, patience
        self.pushes, self.files = pushes, files
        self._vigils, self._closings = Vigils(self, self._rouse), Closings(self, turns, delegates)
        self.adopt: Callable[[Turn], None] = _nowhere  # how a turn that is at work again gets its lane
        self._pursuits: dict[str, Pursuit] = {}
        self.holders = Holders()
        self.pushes_waiting = 0  # pushes taken in and not yet stored

    # ------------------------------------------------------------------ turns

    async def work(self, turn: Turn, park: Callable[[], None], *, after: float | None) -> Turn:
        """Pursue a turn until it ended (see core.session.Work)."""
        started, preview = self.clock.monotonic(), self._previews.start(turn)
        self.holders.take(turn)
        self._vigils.end(turn.thread)
        pursuit: Pursuit | None = None
        try:
            if (follower := self.follower(turn)) is not None:
                follower.began(turn, is_new=after is None)
            delegate = self.delegate(turn)
            if delegate is None:
                return await self._fail(turn, "no_agent", f"agent {turn.agent} is not configured")
            pursuit = self._pursuits[turn.id] = Pursuit(turn, delegate, self, preview, park)
            ended = await self.guard(lambda: pursuit.turn if pursuit else turn, pursuit.run(after=after))
            self._look_on(pursuit)
            return ended
        finally:
            self._pursuits.pop(turn.id, None)
            self._previews.stop(turn.id)
            turn = pursuit.turn if pursuit else turn
            self.holders.release(turn)
            self._finished(turn, started, preview)

    def _look_on(self, pursuit: Pursuit) -> None:
        """A turn that ended with a question may have to go on without an answer."""
        if pursuit.waits_for_somebody:
            self._vigils.keep(pursuit.turn)
        elif pursuit.has_moved_on:
            self.spawn(partial(self._rouse, pursuit.turn.id), f"moved on {pursuit.turn.id}")

    async def guard(self, present: Callable[[], Turn], work: Awaitable[Turn]) -> Turn:
        """Where a turn's failure ends, an agent's or the desk's: told, stored, and the chat goes on."""
        try:
            return await work
        except LeaseLost:
            raise
        except Exception as failure:
            turn = present()
            self.telemetry.event("turn.failed", level="error", turn=turn.id, agent=turn.agent, error=repr(failure))
            return await self._fail(turn, "internal_error", repr(failure))

    def delegate(self, turn: Turn) -> Delegate | None:
        return self._delegates.get(turn.agent)

    def fallback(self, turn: Turn) -> str:
        """The agent that stands in for the turn's; "" for none."""
        name = self._fallbacks(turn.address.source.account).get(turn.agent, "")
        return name if name in self._delegates else ""

    def cancel(self, turn_ids: Sequence[str]) -> int:
        """Tell the agents of these turns to stop; how many are at work here."""
        found = [pursuit for turn_id in turn_ids if (pursuit := self._pursuits.get(turn_id))]
        for pursuit in found:
            pursuit.cancel()
        return len(found)

    def let_go(self, tasks: Sequence[OpenTask]) -> None:
        """Tell agents that nobody will answer their questions."""
        for task in tasks:
            if task.thread and (follower := self._followers.get(task.account)) is not None:
                follower.cancelled(task.thread, self.clock.now())
            self.wake(task.told)
            self._vigils.end_of_task(task.agent, task.task_id)
            self._closings.tell(task)
            target = self.pushes.of_task(task.agent, task.task_id)
            if target is not None:
                self.spawn(partial(self.pushes.close, target), f"let go {target.id}")

    def cancel_reports(self, address: Address, thread: str, at: Instant) -> Sequence[Report]:
        """As core.followed.CancelReports, for the stores."""
        follower = self._followers.get(address.source.account)
        return follower.cancel_reports(address.topic, thread, at) if follower is not None else ()

    def wake(self, told: Told) -> None:
        """Something was queued there."""
        for conversation, account in told:
            self._wake_outbox(conversation, account)

    def heard(self, thread: str) -> Instant | None:
        """When the turn of this thread last heard of its task; None when none is at work here."""
        return next((it.heard for it in self._pursuits.values() if it.turn.thread == thread), None)

    def heard_in(self, turn_id: str) -> Instant | None:
        """The same of a turn."""
        pursuit = self._pursuits.get(turn_id)
        return pursuit.heard if pursuit is not None else None

    def refresh(self, turn_id: str) -> bool:
        """Ask after a turn's task now; False when it is not at work here."""
        pursuit = self._pursuits.get(turn_id)
        if pursuit is not None:
            self.spawn(pursuit.refresh, f"refresh {turn_id}")
        return pursuit is not None

    def agent_is_back(self, agent: str) -> None:
        """Whoever waited for it asks now: the oldest first, and one after the other."""
        waiting = [pursuit for pursuit in self._pursuits.values() if pursuit.turn.agent == agent]
        for position, pursuit in enumerate(waiting):
            asyncio.get_running_loop().call_later(position * self.patience.stagger, pursuit.wake)

    async def look_again(self, turn_id: str) -> bool:
        """Ask after the task of a turn that ended with a question; False when that is not open. Raises AgentErrors."""
        turn = await patiently(lambda: self._turns.asking(turn_id), self.telemetry)
        if turn is None:
            return False
        if await self._vigils.has_moved(turn):
            await self._rouse(turn_id)
        return True

    def pushed(self, target: PushTarget, event: TaskEvent) -> None:
        """Take what an agent pushed of the target's task; it is stored a little later, as if it had been asked for.

        Raises Busy when too many are waiting. What comes for a task that has ended is told, and has no effect.
        """
        if self.pushes_waiting >= PUSHES_WAITING:
            raise Busy("too many pushes of agents are waiting to be stored", retry_after=PUSH_RETRY)
        self.pushes_waiting += 1
        self.spawn(partial(self._take_pushed, target, event), f"pushed {target.turn}")

    async def _take_pushed(self, target: PushTarget, event: TaskEvent) -> None:
        try:
            pursuit = self._pursuits.get(target.turn)
            if pursuit is not None:
                await pursuit.pushed(event)
            elif isinstance(event, Snapshot | StatusUpdate):
                await self._take_unfollowed(target, event)
        finally:
            self.pushes_waiting -= 1

    async def _take_unfollowed(self, target: PushTarget, event: Snapshot | StatusUpdate) -> None:
        """Of a task that waits for somebody only that it does not any more is of interest."""
        if await patiently(lambda: self._turns.asking(target.turn), self.telemetry) is None:
            told = {"turn": target.turn, "agent": target.agent, "kind": kind_of(event), "road": Road.PUSH.value}
            self.telemetry.event("task.late_event", **told)
        elif event.state.is_terminal:
            await self._rouse(target.turn)
        else:  # it may be older than the question: the task itself says
            with suppress(AgentError):
                await self.look_again(target.turn)

    async def watch(self) -> None:
        """After a start: go on watching tasks that may go on by themselves, and telling of closed questions."""
        await self._closings.tell_the_rest()
        for turn in await patiently(self._turns.watched, self.telemetry):
            self._vigils.keep(turn)

    async def _rouse(self, turn_id: str) -> None:
        turn = await patiently(lambda: self._turns.rouse(turn_id), self.telemetry)
        if turn is not None:
            self._vigils.end(turn.thread)
            self.adopt(turn)

    @property
    def at_work(self) -> int:
        return len(self._pursuits)

    # ------------------------------------------------------------------ what a pursuit is given

    async def sync(self) -> None:
        await patiently(self._turns.sync, self.telemetry)

    async def commit(self, observation: Observation) -> Turn:
        at, step = self.clock.now(), observation.step
        follower = self.follower(observation.turn) if step is not None else None
        if follower is not None and step is not None and (reports := follower.reports(observation.turn, step, at)):
            observation = replace(observation, reports=tuple(reports))
        turn = await patiently(lambda: self._turns.observe(observation, at), self.telemetry)
        if turn is None:
            raise LeaseLost(f"turn {observation.turn.id} was changed by another process")
        if observation.task is not None:
            self.holders.take(turn)
        crashpoint("task.after_observe")
        if follower is not None and step is not None:
            follower.observed(turn, step, at)
        if observation.pieces:
            self._wake_outbox(turn.conversation, turn.address.source.account)
        for report in observation.reports:
            self._wake_outbox(report.conversation, turn.address.source.account)
        return turn

    def follower(self, turn: Turn) -> Follower | None:
        return self._followers.get(turn.address.source.account)

    async def note(self, observation: Observation) -> None:
        await patiently(lambda: self._turns.note(observation, self.clock.now()), self.telemetry)

    def render(self, turn: Turn, pieces: tuple[Piece, ...]) -> tuple[RenderedPiece, ...]:
        plugin = self._plugins.get(turn.address.source.account)
        if plugin is None or plugin.capabilities.follows:
            return ()
        rendered = (RenderedPiece(piece.key, text_of(piece.parts), plugin.render(piece)) for piece in pieces)
        return tuple(piece for piece in rendered if piece.payloads)

    async def keep(self, turn: Turn, pieces: tuple[Piece, ...]) -> None:
        plugin = self._plugins.get(turn.address.source.account)
        if plugin is not None and plugin.capabilities.keeps_files:
            await keep_files(self.files, pieces, self.telemetry)

    def spawn(self, work: Callable[[], Awaitable[None]], name: str) -> None:
        """Begin it beside the turns. Nothing begins where the line is being cut off: timers still run out then."""
        beside = self._beside(work, name)
        try:
            self._tasks.create_task(beside, name=name)
        except RuntimeError:  # the only word that a TaskGroup has for it
            beside.close()

    async def _beside(self, work: Callable[[], Awaitable[None]], name: str) -> None:
        """A turn's work beside its own road (a cancel, a question to a silent task): it fails alone."""
        try:
            await work()
        except LeaseLost:
            raise
        except Exception as failure:
            self.telemetry.event("turn.failed", level="error", work=name, error=repr(failure))

    # ------------------------------------------------------------------ ends

    async def _fail(self, turn: Turn, name: str, reason: str) -> Turn:
        said = (notice(name, turn.language),)
        try:
            pieces = self.render(turn, said)
        except Exception:  # what failed may have been the rendering
            pieces = ()
        submission = SubmissionState.REJECTED if turn.submission is SubmissionState.INTENDED else None
        end = TurnEnd(TurnState.FAILED, reason=reason)
        step = failed(turn, said) if self.follower(turn) is not None else None
        return await self.commit(Observation(turn=turn, submission=submission, pieces=pieces, end=end, step=step))

    def _finished(self, turn: Turn, started: float, preview: Preview) -> None:
        self.telemetry.event(
            "turn.finished",
            turn=turn.id,
            agent=turn.agent,
            account=turn.address.source.account,
            duration=round(self.clock.monotonic() - started, 6),
            messages=len(turn.envelopes),
            previewed=preview.task is not None,
        )


def _nowhere(turn: Turn) -> None:
    raise RuntimeError(f"turn {turn.id} is at work again, and nobody gave the tracker its lanes")
