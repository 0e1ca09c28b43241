"""One turn's way from the question to its answer, whatever happens to the roads in between.

Ask: the submission is stored as intended before it is sent; a message that was certainly not taken is sent again, one
whose answer was lost is looked for first. Follow: read the stream; when it is cut, closes early or stays silent,
subscribe, then get, then poll with back-off, until the task rests. Take: every event, by whichever road, goes through
one Assembly under one lock and is committed with everything it implies. A bare terminal event is confirmed by GetTask
before its artifacts count. A cancel that comes before the task's id is known is remembered.
"""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

from core.agent import Agent, ArtifactUpdate, Ask, Reply, Road, Snapshot, StatusUpdate, TaskEvent, TaskRef
from core.answer import Answer, answer_of, artifact_pieces
from core.assembly import Assembly, Change
from core.clock import Clock
from core.crashpoint import crashpoint
from core.delivery import Piece, RenderedPiece
from core.errors import (
    AgentError,
    CancelRefused,
    Declined,
    NotAccepted,
    NotAuthorised,
    OutcomeUnknown,
    TaskEnded,
    TaskUnknown,
    Unreachable,
)
from core.notices import notice
from core.parts import text_of
from core.patience import Patience
from core.preview import Preview
from core.store import (
    Disposition,
    InboxRecord,
    Observation,
    RemoteTask,
    SubmissionState,
    Turn,
    TurnEnd,
    TurnState,
)
from core.telemetry import Telemetry

RECORD_CAP = 4096  # characters of one inbox record


@dataclass(frozen=True, slots=True)
class Delegate:
    """An agent and what the configuration says of asking it."""

    agent: Agent
    resubmits: bool = False  # a lost submission may be sent again: the agent is known to deduplicate by messageId
    is_local: bool = False


class Helm(Protocol):
    """What a pursuit is given by the tracker."""

    clock: Clock
    telemetry: Telemetry
    patience: Patience

    async def commit(self, observation: Observation) -> Turn: ...

    def render(self, turn: Turn, pieces: tuple[Piece, ...]) -> tuple[RenderedPiece, ...]: ...

    def spawn(self, work: Awaitable[None], name: str) -> None: ...


class Pursuit:
    def __init__(self, turn: Turn, delegate: Delegate, helm: Helm, preview: Preview, park: Callable[[], None]) -> None:
        self.turn, self._delegate, self._helm, self._preview, self._park = turn, delegate, helm, preview, park
        self._agent = delegate.agent
        known = turn.task
        self._assembly = Assembly(answered=known.state_time if known and turn.task_id else None)
        if known is not None:
            self._assembly.task_id, self._assembly.context_id = known.task_id, known.context_id
        self._disposition = known.disposition if known and not turn.task_id else Disposition.TRACKED
        self._heard = helm.clock.monotonic()
        self._lock = asyncio.Lock()
        self._leave = asyncio.timeout(None)
        self._wake = asyncio.Event()
        self._quiet: asyncio.TimerHandle | None = None
        self._cancel_wanted = turn.cancel_wanted
        self._cancel_sent = False
        self._submitted = turn.submission is SubmissionState.SUBMITTED
        self._ended = False
        self._asked_back = False
        self._waiting = turn.waiting
        self._can_subscribe = True

    # ------------------------------------------------------------------ the way

    async def run(self, *, resumed: bool) -> bool:
        """Until the task rests and the turn has ended; True when it ended by asking the person."""
        since = max(0.0, self._helm.clock.now() - self.turn.begun)
        foreground = max(0.0, self._helm.patience.foreground - since)
        timer = asyncio.get_running_loop().call_later(
            foreground, lambda: self._helm.spawn(self._go_waiting(), f"waiting {self.turn.id}")
        )
        try:
            if self._submitted and self._assembly.task_id:
                self._remember_cancel()
            elif resumed and self.turn.asked:
                if await self._look(OutcomeUnknown("the gateway stopped before the agent answered")):
                    await self._ask()
            else:
                await self._ask()
            await self._follow()
        finally:
            timer.cancel()
            if self._quiet:
                self._quiet.cancel()
        return self._asked_back

    def cancel(self) -> None:
        """The person no longer wants it. Remembered when there is no task yet to cancel."""
        self._cancel_wanted = True
        self._remember_cancel()
        self._wake.set()

    async def refresh(self) -> None:
        """Ask after the task now, on an operator's word."""
        if self._assembly.task_id and not self._is_settled():
            await self._ask_after()
            if self._ended:
                self._part(0.0)
        self._wake.set()

    # ------------------------------------------------------------------ ask

    async def _ask(self) -> None:
        turn = self.turn
        parts = tuple(part for envelope in turn.envelopes for part in envelope.parts)
        ask = Ask(turn.message_id, parts, turn.context_id, turn.task_id)
        attempt, first, told = 0, self._helm.clock.monotonic(), False
        while not self._ended:
            if self._cancel_wanted and not self.turn.asked:
                return await self._end_cancelled("cancelled")
            try:
                await self._read(self._agent.send(ask), from_the_start=True)
                if self._assembly.task_id or self._assembly.reply:
                    return None
                raise OutcomeUnknown("the agent ended its answer before saying anything")
            except NotAccepted as error:
                attempt += 1
                waited = self._helm.clock.monotonic() - first
                if waited > self._helm.patience.give_up:
                    return await self._fail(error, "agent_given_up")
                told = await self._not_taken(error, tell=waited > self._helm.patience.tell_unreachable and not told)
                await self._pause(self._helm.patience.retry(attempt, random.random(), error.retry_after))
                self.turn = await self._commit(asked=True)
            except (TaskEnded, TaskUnknown) as error:
                if ask.task_id is None:
                    return await self._fail(error, "declined", reason=str(error))
                ask = replace(ask, task_id=None)  # a finished task is never continued: a new one, in the same context
            except NotAuthorised as error:
                return await self._fail(error, "not_authorised")
            except Declined as error:
                return await self._fail(error, "declined", reason=str(error))
            except (OutcomeUnknown, Unreachable) as error:
                if self._assembly.task_id:
                    return None  # taken, and cut: follow
                if not await self._look(error):
                    return None
        return None

    async def _not_taken(self, error: NotAccepted, *, tell: bool) -> bool:
        pieces = (notice("agent_unreachable", self.turn.language),) if tell else ()
        await self._commit(asked=False, records=(_error(error),), pieces=pieces)
        self._helm.telemetry.event(
            "submission.not_accepted", turn=self.turn.id, agent=self.turn.agent, error=str(error)
        )
        return tell

    async def _look(self, error: AgentError) -> bool:
        """Look for a message whose answer was lost. True: ask again. Else it was found, or the turn has ended."""
        started, attempt = self._helm.clock.monotonic(), 0
        while True:
            try:
                found = await self._agent.find(self.turn.context_id, self.turn.message_id)
                break
            except Declined:
                found = None
                break
            except AgentError:
                attempt += 1
                if self._helm.clock.monotonic() - started > self._helm.patience.look:
                    found = None
                    break
                await self._pause(self._helm.patience.retry(attempt, random.random()))
        if found is not None:
            await self._take(found, Road.ANSWER)
            return False
        if self._delegate.resubmits:
            return True
        await self._commit(
            submission=SubmissionState.UNKNOWN,
            records=(_error(error),),
            pieces=(notice("submission_unknown", self.turn.language),),
            end=TurnEnd(TurnState.INTERRUPTED, reason=f"submission unknown: {error}"),
        )
        self._helm.telemetry.event("submission.unknown", turn=self.turn.id, agent=self.turn.agent, error=str(error))
        return False

    # ------------------------------------------------------------------ follow

    async def _follow(self) -> None:
        """Until the turn has ended and the task rests, or nothing more can be learned of it."""
        while not self._is_settled():
            if self._assembly.is_over:
                await self._confirm()
                continue
            news = self._heard
            if self._can_subscribe:
                await self._subscribe()
            if not self._assembly.rests:
                await self._ask_after()
            if not self._is_settled() and not self._assembly.is_over and self._heard == news:
                await self._pause(self._helm.patience.poll(self._silence(), random.random()))

    def _is_settled(self) -> bool:
        if not self._ended:
            return False
        if self._disposition is Disposition.DETACHED and not self._assembly.is_over:
            return self._silence() > self._helm.patience.detached
        return True

    async def _subscribe(self) -> None:
        try:
            await self._read(self._agent.subscribe(self._ref()), from_the_start=False)
        except (TaskEnded, Unreachable):
            return
        except TaskUnknown:
            return  # the get that follows says so, and decides
        except Declined:
            self._can_subscribe = False

    async def _ask_after(self) -> None:
        """GetTask: the task's own word, which replaces whatever was assembled."""
        try:
            await self._take(await self._agent.get(self._ref()), Road.ANSWER)
        except TaskUnknown as error:
            await self._lost(error)
        except AgentError as error:
            self._helm.telemetry.event("task.unreachable", turn=self.turn.id, agent=self.turn.agent, error=str(error))

    async def _confirm(self) -> None:
        """A bare terminal event: get the whole task; when that cannot be had, deliver what was assembled, marked."""
        started, attempt = self._helm.clock.monotonic(), 0
        while not self._ended and self._helm.clock.monotonic() - started < self._helm.patience.confirm:
            try:
                await self._take(await self._agent.get(self._ref()), Road.ANSWER)
            except TaskUnknown:
                break
            except AgentError as error:
                self._helm.telemetry.event("task.unreachable", turn=self.turn.id, error=str(error))
            if self._assembly.is_confirmed:
                continue
            attempt += 1
            await self._pause(self._helm.patience.retry(attempt, random.random()))
        async with self._lock:
            if not self._ended:
                await self._commit_answer((), unconfirmed=True)

    async def _read(self, stream: AsyncIterator[TaskEvent], *, from_the_start: bool) -> None:
        """Take everything a stream says, until it ends, is cut, or the task rests by another road."""
        self._assembly.begin_stream(from_the_start=from_the_start)
        self._leave = asyncio.timeout(None)
        self._watch()
        try:
            async with self._leave, aclosing(stream) as events:  # type: ignore[type-var]
                async for event in events:
                    await self._take(event, Road.STREAM)
                    if self._assembly.rests:
                        self._part(self._helm.patience.stream_end)
        except TimeoutError:
            return
        finally:
            self._assembly.cut()

    def _watch(self) -> None:
        """Ask after a task whose open stream is silent: some never say that they need an answer, or that they ended."""
        if self._quiet:
            self._quiet.cancel()
        self._quiet = asyncio.get_running_loop().call_later(self._helm.patience.quiet, self._on_quiet)

    def _on_quiet(self) -> None:
        if self._silence() + 0.01 < self._helm.patience.quiet:
            self._watch()
        elif self._assembly.task_id and not self._assembly.rests:
            self._helm.spawn(self._ask_silent(), f"silent {self.turn.id}")

    async def _ask_silent(self) -> None:
        await self._ask_after()
        if self._assembly.rests or self._ended:
            self._part(0.0)
        else:
            pause = self._helm.patience.poll(self._silence(), random.random())
            self._quiet = asyncio.get_running_loop().call_later(max(pause, self._helm.patience.quiet), self._on_quiet)

    def _part(self, after: float) -> None:
        """Leave the stream being read, at the latest in so many seconds."""
        if self._leave.when() is None:
            try:
                self._leave.reschedule(asyncio.get_running_loop().time() + after)
            except RuntimeError:  # it is not being read any more
                return

    # ------------------------------------------------------------------ take

    async def _take(self, event: TaskEvent, road: Road) -> None:
        async with self._lock:
            is_first = not self._submitted
            if is_first:
                crashpoint("a2a.after_send")
            change = self._assembly.apply(event)
            if change is Change.APPLIED:
                self._heard = self._helm.clock.monotonic()
            await self._commit_change(event, road, change, is_first=is_first)
        self._remember_cancel()

    async def _commit_change(self, event: TaskEvent, road: Road, change: Change, *, is_first: bool) -> None:
        records = (InboxRecord(road, _kind(event), _body(event, change)),)
        if change is Change.FOREIGN:
            self._alarm(event)
            await self._commit(records=records)
        elif change is Change.LATE:
            await self._commit(records=records)
        elif change is Change.STALE or (change is Change.UNCHANGED and not is_first):
            return
        elif not self._ended and self._assembly.rests and (self._assembly.is_confirmed or self._cancel_wanted):
            await self._commit_answer(records)
        elif isinstance(event, ArtifactUpdate) and not is_first:
            await self._progress(event, records)
        else:
            self._preview.update(self._assembly.words())
            await self._commit(records=records, task=self._task())

    async def _progress(self, event: ArtifactUpdate, records: tuple[InboxRecord, ...]) -> None:
        """A chunk is a preview; a sealed artifact is a record; in a waiting thread a named one is delivered at once."""
        self._preview.update(self._assembly.words())
        if event.last:
            pieces = self._early_pieces() if self._waiting else ()
            await self._commit(records=records, task=self._task(), pieces=pieces)

    def _early_pieces(self) -> tuple[Piece, ...]:
        if self._cancel_wanted:
            return ()
        sealed = (a for a in self._assembly.artifacts.values() if a.name and a.id in self._assembly.sealed)
        return tuple(artifact_pieces(tuple(sealed)))

    async def _commit_answer(self, records: tuple[InboxRecord, ...], *, unconfirmed: bool = False) -> None:
        turn, assembly = self.turn, self._assembly
        if self._cancel_wanted and assembly.is_over:
            name = "cancelled" if assembly.state.value == "canceled" else "cancelled_late"
            answer = Answer((notice(name, turn.language),), TurnEnd(TurnState.CANCELLED, reason="cancelled"))
        else:
            answer = answer_of(assembly, turn.id, turn.language, unconfirmed=unconfirmed)
        task = self._task(unconfirmed=unconfirmed) if assembly.task_id else None
        self._asked_back = answer.end.waits_for_input
        await self._commit(records=records, task=task, pieces=answer.pieces, end=answer.end)

    async def _go_waiting(self) -> None:
        """The foreground's patience is over: the next message starts a thread of its own."""
        async with self._lock:
            if not self._ended and not self._waiting:
                self._waiting = True
                await self._commit(end=TurnEnd(TurnState.WAITING), pieces=self._early_pieces())
        self._park()

    # ------------------------------------------------------------------ ends

    async def _fail(self, error: AgentError, name: str, **values: object) -> None:
        async with self._lock:
            await self._commit(
                submission=SubmissionState.REJECTED,
                records=(_error(error),),
                pieces=(notice(name, self.turn.language, **values),),
                end=TurnEnd(TurnState.FAILED, reason=str(error)),
            )

    async def _lost(self, error: TaskUnknown) -> None:
        """The agent forgot the task: told once, never sent again by itself."""
        async with self._lock:
            if self._assembly.is_over or self._disposition is Disposition.LOST_AT_REMOTE:
                return
            self._disposition = Disposition.LOST_AT_REMOTE
            name = "interrupted" if self._delegate.is_local else "lost_at_remote"
            self._helm.telemetry.event("task.lost", turn=self.turn.id, agent=self.turn.agent, error=str(error))
            await self._commit(
                records=(_error(error),),
                task=self._task(),
                pieces=() if self._ended else (notice(name, self.turn.language),),
                end=None if self._ended else TurnEnd(TurnState.INTERRUPTED, reason=str(error)),
            )

    async def _end_cancelled(self, name: str) -> None:
        async with self._lock:
            if not self._ended:
                await self._commit(
                    task=self._task() if self._assembly.task_id else None,
                    pieces=(notice(name, self.turn.language),),
                    end=TurnEnd(TurnState.CANCELLED, reason=name),
                )

    # ------------------------------------------------------------------ cancel

    def _remember_cancel(self) -> None:
        if self._cancel_wanted and self._assembly.task_id and not (self._cancel_sent or self._assembly.is_over):
            self._cancel_sent = True
            self._helm.spawn(self._send_cancel(), f"cancel {self.turn.id}")

    async def _send_cancel(self) -> None:
        if self._disposition is Disposition.TRACKED:
            self._disposition = Disposition.CANCEL_ASKED
        answer, refused = None, ""
        for attempt in range(4):
            try:
                answer = await self._agent.cancel(self._ref())
                break
            except CancelRefused:
                refused = "cancel_refused"
                break
            except (TaskEnded, TaskUnknown):
                await self._ask_after()
                break
            except AgentError:
                await self._pause(self._helm.patience.retry(attempt, random.random()))
        if answer is not None:
            await self._take(answer, Road.ANSWER)
        if not self._ended:
            self._disposition = Disposition.DETACHED
            await self._end_cancelled(refused or "cancel_unconfirmed")
            self._park()
        self._part(0.0)

    # ------------------------------------------------------------------ tools

    async def _commit(
        self,
        *,
        submission: SubmissionState | None = None,
        asked: bool | None = None,
        records: tuple[InboxRecord, ...] = (),
        task: RemoteTask | None = None,
        pieces: tuple[Piece, ...] = (),
        end: TurnEnd | None = None,
    ) -> Turn:
        heard_of_it = task is not None or self._assembly.reply is not None
        if heard_of_it and not self._submitted:
            submission = SubmissionState.SUBMITTED
            self._submitted = True
        over = end is not None and end.state is not TurnState.WAITING
        if over:
            self._ended = True
            self._wake.set()
        context = self._assembly.context_id or None
        observation = Observation(
            turn=self.turn,
            submission=submission,
            asked=asked,
            task=task,
            records=records,
            context_id=context if context != self.turn.context_id else None,
            pieces=self._helm.render(self.turn, pieces),
            end=end,
        )
        self.turn = await self._helm.commit(observation)
        return self.turn

    def _task(self, *, unconfirmed: bool = False) -> RemoteTask:
        silent = self._silence()
        return RemoteTask(
            task_id=self._assembly.task_id,
            context_id=self._assembly.context_id,
            state=self._assembly.state,
            state_time=self._assembly.state_time,
            heard=self._helm.clock.now() - silent,
            disposition=self._disposition,
            unconfirmed=unconfirmed,
        )

    def _ref(self) -> TaskRef:
        return TaskRef(self._assembly.task_id, self._assembly.context_id)

    def _silence(self) -> float:
        return self._helm.clock.monotonic() - self._heard

    async def _pause(self, seconds: float) -> None:
        """Sleep, unless something happens that makes looking again worth while."""
        self._wake.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return

    def _alarm(self, event: TaskEvent) -> None:
        self._helm.telemetry.event(
            "task.foreign_event", level="error", turn=self.turn.id, agent=self.turn.agent, kind=_kind(event)
        )


def _kind(event: TaskEvent) -> str:
    match event:
        case Snapshot():
            return "task"
        case StatusUpdate():
            return "status"
        case ArtifactUpdate():
            return "artifact"
        case Reply():
            return "message"


def _body(event: TaskEvent, change: Change) -> str:
    """What the inbox keeps of an event: enough to see what was said, capped."""
    facts: dict[str, object] = {"change": change.value}
    match event:
        case Snapshot() | StatusUpdate():
            facts |= {"task": event.task_id, "state": event.state.value, "time": event.time}
            facts["text"] = text_of(event.message)
            if isinstance(event, Snapshot):
                facts["artifacts"] = [artifact.id for artifact in event.artifacts]
        case ArtifactUpdate():
            facts |= {"task": event.task_id, "artifact": event.artifact.id, "append": event.append, "last": event.last}
            facts["text"] = text_of(event.artifact.parts)
        case Reply():
            facts |= {"message": event.message_id, "text": text_of(event.parts)}
    text = str(facts.get("text", ""))
    if len(text) > RECORD_CAP:
        facts["text"] = text[:RECORD_CAP] + "…"
    return json.dumps(facts, ensure_ascii=False)


def _error(error: AgentError) -> InboxRecord:
    body = {"error": type(error).__name__, "message": str(error), "sample": error.sample[:RECORD_CAP]}
    return InboxRecord(Road.ANSWER, "error", json.dumps(body, ensure_ascii=False))
