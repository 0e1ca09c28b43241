"""One turn's way from the question to its answer, whatever happens to the roads in between.

Ask: the submission is stored as intended before it is sent; a message that was certainly not taken is sent again, one
whose answer was lost is looked for first. Follow: read the stream; when it is cut, closes early or stays silent,
subscribe, then get, then poll with back-off, until the task rests. Take: every event, by whichever road, goes through
one Assembly under one lock and is committed with everything it implies. A bare terminal event is confirmed by GetTask
before its artifacts count. A cancel that comes before the task's id is known is remembered; a task that does not
confirm it is let go of, and what it still says is recorded and not shown. What the person saw of the answer before the
cancel stays.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

from core.agent import Agent, ArtifactUpdate, Ask, Road, TaskEvent, TaskRef, TaskState
from core.answer import Answer, answer_of, artifact_pieces, end_of
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
from core.followed import Follower, Progress
from core.notices import notice
from core.parts import Text
from core.patience import Patience
from core.preview import Preview
from core.reading import Reading
from core.record import kind_of, record_of, record_of_error
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

    def delegate(self, turn: Turn) -> Delegate | None:
        """The turn's agent as it is configured now; None when it is not any more."""
        ...

    def fallback(self, turn: Turn) -> str:
        """The agent that is asked instead while the turn's is down; "" for none."""
        ...

    async def commit(self, observation: Observation) -> Turn: ...

    async def note(self, observation: Observation) -> None:
        """Record what an agent says of a turn that has ended."""
        ...

    def render(self, turn: Turn, pieces: tuple[Piece, ...]) -> tuple[RenderedPiece, ...]: ...

    def follower(self, turn: Turn) -> Follower | None:
        """Of a turn whose channel follows the work itself."""
        ...

    def spawn(self, work: Callable[[], Awaitable[None]], name: str) -> None: ...


@dataclass(slots=True)
class _Tries:
    """Tries in a row of which an agent certainly took nothing."""

    since: float  # monotonic
    count: int = 0
    is_told: bool = False


class Pursuit:
    def __init__(self, turn: Turn, delegate: Delegate, helm: Helm, preview: Preview, park: Callable[[], None]) -> None:
        self.turn, self._known, self._helm, self._preview, self._park = turn, delegate, helm, preview, park
        self._follower, self._made_known = helm.follower(turn), Progress()
        task = turn.task
        self._assembly = Assembly(answered=task.state_time if task and turn.task_id else None)
        self._disposition = Disposition.TRACKED
        self._heard = helm.clock.monotonic()
        if task is not None:
            self._assembly.task_id, self._assembly.context_id = task.task_id, task.context_id
            if turn.submission is SubmissionState.SUBMITTED:
                self._disposition = task.disposition
                self._assembly.state, self._assembly.state_time = task.state, task.state_time
                self._heard -= max(0.0, helm.clock.now() - task.heard)
        self._lock = asyncio.Lock()
        self._reading = Reading()
        self._wake = asyncio.Event()
        self._quiet: asyncio.TimerHandle | None = None
        self._cancel_wanted = turn.cancel_wanted
        self._cancel_sent = False
        self._submitted = turn.submission is SubmissionState.SUBMITTED
        self._ended = False
        self._can_subscribe = True
        self._has_fallen_back = False
        self._is_clear = False  # certainly no try has left anything at an agent so far

    @property
    def _agent(self) -> Agent:
        """As configured now: credentials may have changed while the task was waiting."""
        self._known = self._helm.delegate(self.turn) or self._known
        return self._known.agent

    # ------------------------------------------------------------------ the way

    async def run(self, *, after: float | None) -> Turn:
        """Until the turn has ended; the turn then. `after`: taken up after a start, in so many seconds; None: new."""
        since = max(0.0, self._helm.clock.now() - self.turn.begun)
        foreground = max(0.0, self._helm.patience.foreground - since)
        timer = asyncio.get_running_loop().call_later(
            foreground, lambda: self._helm.spawn(self._go_waiting, f"waiting {self.turn.id}")
        )
        try:
            self._is_clear = self.turn.revision == 0 if after is None else not self.turn.asked
            if after:
                await self._pause(after)
            if self._submitted and self._assembly.task_id:
                self._remember_cancel()
            elif after is None or not self.turn.asked:
                await self._ask(maybe_there=False)
            elif await self._look(OutcomeUnknown("the gateway stopped before the agent answered")):
                await self._ask(maybe_there=True)
            await self._follow(lambda: self._ended)
        finally:
            timer.cancel()
            if self._quiet:
                self._quiet.cancel()
        if self._disposition is Disposition.DETACHED and not self._assembly.is_over:
            self._helm.spawn(self._record_the_rest, f"detached {self.turn.id}")
        return self.turn

    def cancel(self) -> None:
        """The person no longer wants it. Remembered when there is no task yet to cancel."""
        self._cancel_wanted = True
        self._remember_cancel()
        self._wake.set()

    async def refresh(self) -> None:
        """Ask after the task now, on an operator's word."""
        if self._submitted and self._assembly.task_id and not self._ended:
            await self._ask_silent()
        self._wake.set()

    # ------------------------------------------------------------------ ask

    async def _ask(self, *, maybe_there: bool) -> None:
        """`maybe_there`: an earlier try may have reached the agent."""
        ask = self._first_ask()
        tries = _Tries(self._helm.clock.monotonic())
        while not self._ended:
            if self._cancel_wanted and not maybe_there:
                return await self._end_cancelled("cancelled")
            try:
                if not self.turn.asked:
                    await self._commit(asked=True)
                maybe_there = True
                await self._read(self._agent.send(ask), from_the_start=True)
                if self._submitted:
                    return None
                raise OutcomeUnknown("the agent ended its answer before saying anything")
            except NotAccepted as error:
                maybe_there, tries = False, await self._bear(error, tries)
                ask = replace(ask, context_id=self.turn.context_id)
            except (TaskEnded, TaskUnknown) as error:
                if ask.task_id is None:
                    return await self._fail(error, "declined")
                # A finished task is never continued: a new one, in the same context.
                ask, maybe_there, self._assembly = replace(ask, task_id=None), False, Assembly()
            except NotAuthorised as error:
                if not await self._fell_back(error):
                    return await self._fail(error, "not_authorised")
                maybe_there, tries = False, _Tries(self._helm.clock.monotonic())
                ask = replace(ask, context_id=self.turn.context_id)
            except Declined as error:
                return await self._fail(error, "declined")
            except (OutcomeUnknown, Unreachable) as error:
                self._is_clear = False
                if self._submitted or not await self._look(error):
                    return None  # taken, and cut: follow; or nobody can tell, and the turn has ended
        return None

    def _first_ask(self) -> Ask:
        turn = self.turn
        parts = tuple(part for envelope in turn.envelopes for part in envelope.parts)
        last = turn.envelopes[-1] if turn.envelopes else None
        ask = Ask(turn.message_id, parts, turn.context_id, turn.task_id, origin=last.message_id if last else "")
        if last is None or last.attached is None:
            return ask
        beside = last.attached
        return replace(ask, metadata=beside.passed_metadata, extensions=beside.passed_extensions)

    async def _bear(self, error: NotAccepted, tries: _Tries) -> _Tries:
        """After a try of which nothing was taken: give up, ask another agent, or pause; what the next one counts on."""
        tries.count += 1
        waited = self._helm.clock.monotonic() - tries.since
        if waited > self._helm.patience.give_up:
            await self._fail(error, "agent_given_up")
            return tries
        pause = self._helm.patience.retry(tries.count, random.random(), error.retry_after)
        if waited + pause > self._helm.patience.fallback and await self._fell_back(error):
            return _Tries(self._helm.clock.monotonic())
        tell = waited > self._helm.patience.tell_unreachable and not tries.is_told
        await self._not_taken(error, tell=tell)
        tries.is_told = tries.is_told or tell
        await self._pause(pause)
        return tries

    async def _not_taken(self, error: NotAccepted, *, tell: bool) -> None:
        pieces = (notice("agent_unreachable", self.turn.language),) if tell else ()
        await self._commit(asked=not self._is_clear, records=(record_of_error(error),), pieces=pieces)
        self._helm.telemetry.event(
            "submission.not_accepted", turn=self.turn.id, agent=self.turn.agent, error=str(error)
        )

    async def _fell_back(self, error: AgentError) -> bool:
        """Whether another agent is asked from here on, since this one is down.

        Only what certainly left nothing at an agent may go to another one, and an answer to a question belongs to
        whoever asked it.
        """
        turn, other = self.turn, self._helm.fallback(self.turn)
        is_free = self._is_clear and turn.task_id is None and not self._cancel_wanted
        if not other or not is_free or self._has_fallen_back:
            return False
        self._has_fallen_back = True
        await self._commit(
            agent=other,
            asked=False,
            records=(record_of_error(error),),
            pieces=(notice("fell_back", turn.language, agent=turn.agent, other=other),),
        )
        self._can_subscribe = True
        self._helm.telemetry.event("turn.fell_back", turn=turn.id, agent=turn.agent, fallback=other, error=str(error))
        return True

    async def _look(self, error: AgentError) -> bool:
        """Look for a message whose answer was lost. True: ask again. Else it was found, or the turn has ended."""
        found = await self._found()
        if found is not None:
            await self._take(found, Road.ANSWER)
            return False
        if self._known.resubmits and not self._cancel_wanted:
            return True
        await self._commit(
            submission=SubmissionState.UNKNOWN,
            records=(record_of_error(error),),
            pieces=(notice("submission_unknown", self.turn.language, again=self.turn.revision),),
            end=TurnEnd(TurnState.INTERRUPTED, reason=f"submission unknown: {error}"),
        )
        self._helm.telemetry.event("submission.unknown", turn=self.turn.id, agent=self.turn.agent, error=str(error))
        return False

    async def _found(self) -> TaskEvent | None:
        started, attempt = self._helm.clock.monotonic(), 0
        while True:
            try:
                return await self._agent.find(self.turn.context_id, self.turn.message_id)
            except Declined:
                return None
            except AgentError:
                attempt += 1
                if self._helm.clock.monotonic() - started > self._helm.patience.look:
                    return None
                await self._pause(self._helm.patience.retry(attempt, random.random()))

    # ------------------------------------------------------------------ follow

    async def _follow(self, is_settled: Callable[[], bool]) -> None:
        """Subscribe, then get, then pause, until nothing more is to be learned of the task."""
        while not is_settled():
            if self._assembly.is_over:
                await self._confirm()
                continue
            started = self._helm.clock.monotonic()
            if self._can_subscribe:
                await self._subscribe()
            if not self._assembly.rests:
                await self._ask_after()
            if not is_settled() and not self._assembly.is_over:
                lasted = self._helm.clock.monotonic() - started
                await self._pause(self._helm.patience.poll(self._silence(), random.random()) - lasted)

    async def _record_the_rest(self) -> None:
        """Of a task that was let go of: what becomes of it is recorded, for a while."""
        until = self._helm.clock.monotonic() + self._helm.patience.detached
        await self._follow(lambda: self._assembly.is_over or self._helm.clock.monotonic() > until)

    async def _subscribe(self) -> None:
        try:
            await self._read(self._agent.subscribe(self._ref()), from_the_start=False)
        except (TaskEnded, TaskUnknown, Unreachable):
            return  # the get that follows says which, and decides
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
            if not self._assembly.is_confirmed:
                attempt += 1
                await self._pause(self._helm.patience.retry(attempt, random.random()))
        async with self._lock:
            if not self._ended:
                await self._store_answer((), unconfirmed=True)

    async def _read(self, stream: AsyncIterator[TaskEvent], *, from_the_start: bool) -> None:
        """Take everything a stream says, until it ends, is cut, or the turn ended by another road."""
        self._assembly.begin_stream(from_the_start=from_the_start)
        self._reading = reading = Reading()
        self._watch()
        try:
            async with aclosing(reading.events(stream)) as events:  # type: ignore[type-var]
                async for event in events:
                    await self._take(event, Road.STREAM)
                    if self._assembly.rests:
                        reading.leave(self._helm.patience.stream_end)
        finally:
            self._assembly.cut()

    def _watch(self) -> None:
        """Ask after a task whose open stream is silent: some never say that they need an answer, or that they ended."""
        if self._quiet:
            self._quiet.cancel()
        pause = self._helm.patience.quiet
        if self._silence() > pause:
            pause = max(pause, self._helm.patience.poll(self._silence(), random.random()))
        self._quiet = asyncio.get_running_loop().call_later(pause, self._on_quiet)

    def _on_quiet(self) -> None:
        if self._ended:
            return
        if self._submitted and self._assembly.task_id and self._silence() + 0.01 >= self._helm.patience.quiet:
            self._helm.spawn(self._ask_silent, f"silent {self.turn.id}")
        else:
            self._watch()

    async def _ask_silent(self) -> None:
        await self._ask_after()
        if self._assembly.rests or self._ended:
            self._reading.leave()
        else:
            self._watch()

    # ------------------------------------------------------------------ take

    async def _take(self, event: TaskEvent, road: Road) -> None:
        async with self._lock:
            is_first = not self._submitted
            if is_first:
                crashpoint("a2a.after_send")
            change = self._assembly.apply(event)
            if change is Change.APPLIED:
                self._heard = self._helm.clock.monotonic()
            await self._store_change(event, road, change, is_first=is_first)
        self._remember_cancel()

    async def _store_change(self, event: TaskEvent, road: Road, change: Change, *, is_first: bool) -> None:
        records = (record_of(event, road, change),)
        if change is Change.FOREIGN:
            self._alarm(event)
            await self._store(records=records)
        elif change is Change.LATE:
            await self._store(records=records)
        elif change is Change.APPLIED and self._is_answer():
            await self._store_answer(records)
        elif change is Change.APPLIED and isinstance(event, ArtifactUpdate) and not is_first:
            await self._progress(event, records)
        elif change is Change.APPLIED or is_first:
            self._show_words()
            task = self._task() if change is Change.APPLIED else None
            update = event if isinstance(event, ArtifactUpdate) and change is Change.APPLIED else None
            await self._store(submission=SubmissionState.SUBMITTED, records=records, task=task, update=update)
            self._pass_on(update)

    def _is_answer(self) -> bool:
        confirmed = self._assembly.is_confirmed or self._cancel_wanted
        return not self._ended and self._assembly.rests and confirmed

    async def _progress(self, event: ArtifactUpdate, records: tuple[InboxRecord, ...]) -> None:
        """A chunk is a preview; a sealed artifact is a record; in a waiting thread a named one is delivered at once."""
        self._show_words()
        if event.last:
            pieces = self._early_pieces() if self.turn.waiting else ()
            await self._store(records=records, task=self._task(), pieces=pieces, update=event)
        else:
            self._pass_on(event)

    def _pass_on(self, update: ArtifactUpdate | None) -> None:
        """Who follows the work hears of a chunk at once; of a sealed artifact only with its record."""
        if update is not None and not update.last and self._follower is not None and not self._ended:
            self._follower.chunk(self.turn, update, self._assembly.artifacts[update.artifact.id])

    def _show_words(self) -> None:
        if not self._cancel_wanted:
            self._preview.update(self._assembly.words())

    def _early_pieces(self) -> tuple[Piece, ...]:
        if self._cancel_wanted:
            return ()
        sealed = (a for a in self._assembly.artifacts.values() if a.name and a.id in self._assembly.sealed)
        return tuple(artifact_pieces(tuple(sealed)))

    async def _store_answer(self, records: tuple[InboxRecord, ...], *, unconfirmed: bool = False) -> None:
        turn, assembly = self.turn, self._assembly
        if self._follower is not None:
            answer = Answer((), end_of(assembly))
        elif self._cancel_wanted and assembly.is_over:
            name = "cancelled" if assembly.state is TaskState.CANCELED else "cancelled_late"
            answer = Answer(self._cancelled(name), TurnEnd(TurnState.CANCELLED, reason="cancelled"))
        else:
            answer = answer_of(assembly, turn.id, turn.language, unconfirmed=unconfirmed)
        task = self._task(unconfirmed=unconfirmed) if assembly.task_id else None
        submitted = SubmissionState.SUBMITTED
        await self._store(submission=submitted, records=records, task=task, pieces=answer.pieces, end=answer.end)

    async def _go_waiting(self) -> None:
        """The foreground's patience is over: the next message starts a thread of its own."""
        async with self._lock:
            if not self._ended and not self.turn.waiting:
                await self._store(end=TurnEnd(TurnState.WAITING), pieces=self._early_pieces())
        self._park()

    # ------------------------------------------------------------------ ends

    async def _fail(self, error: AgentError, name: str) -> None:
        self._helm.telemetry.event(
            "submission.refused",
            level="warning",
            turn=self.turn.id,
            agent=self.turn.agent,
            outcome=name,
            error=str(error),
        )
        await self._commit(
            submission=SubmissionState.REJECTED,
            records=(record_of_error(error),),
            pieces=(notice(name, self.turn.language),),
            end=TurnEnd(TurnState.FAILED, reason=str(error)),
        )

    async def _lost(self, error: TaskUnknown) -> None:
        """The agent forgot the task: told once, never sent again by itself."""
        async with self._lock:
            if self._assembly.is_over or self._disposition is Disposition.LOST_AT_REMOTE:
                return
            self._disposition, name = Disposition.LOST_AT_REMOTE, self._lost_notice()
            self._helm.telemetry.event("task.lost", turn=self.turn.id, agent=self.turn.agent, error=str(error))
            await self._store(
                records=(record_of_error(error),),
                task=self._task(),
                pieces=self._cancelled(name) if self._cancel_wanted else (notice(name, self.turn.language),),
                end=TurnEnd(TurnState.INTERRUPTED, reason=str(error)),
            )

    def _lost_notice(self) -> str:
        if self._cancel_wanted:
            return "cancelled"
        return "interrupted" if self._known.is_local else "lost_at_remote"

    async def _end_cancelled(self, name: str) -> None:
        async with self._lock:
            await self._store(
                task=self._task() if self._submitted and self._assembly.task_id else None,
                pieces=self._cancelled(name),
                end=TurnEnd(TurnState.CANCELLED, reason=name),
            )

    # ------------------------------------------------------------------ cancel

    def _cancelled(self, name: str) -> tuple[Piece, ...]:
        """What was seen before the cancel, so that it does not go with its preview, and the notice that ends it."""
        words = self._preview.words
        seen = (Piece(f"message:seen:{self.turn.id}", (Text(words),)),) if words else ()
        return (*seen, notice(name, self.turn.language))

    def _remember_cancel(self) -> None:
        is_there = self._submitted and self._assembly.task_id and not self._assembly.is_over
        if self._cancel_wanted and is_there and not self._cancel_sent:
            self._cancel_sent = True
            self._helm.spawn(self._send_cancel, f"cancel {self.turn.id}")

    async def _send_cancel(self) -> None:
        if self._disposition is Disposition.TRACKED:
            self._disposition = Disposition.CANCEL_ASKED
        refused = ""
        for attempt in range(4):
            try:
                answer = await self._agent.cancel(self._ref())
                if answer is not None:
                    await self._take(answer, Road.ANSWER)
                break
            except CancelRefused:
                refused = "cancel_refused"
                break
            except (TaskEnded, TaskUnknown):
                await self._ask_after()
                break
            except AgentError:
                await self._pause(self._helm.patience.retry(attempt, random.random()))
        if self._follower is not None:  # a program is told what is so, and the work goes on if it does
            if not self._ended:
                self._cancel_wanted = self._cancel_sent = False
                self._follower.not_cancelled(self.turn, is_refused=bool(refused))
            return
        if not self._ended:
            self._disposition = Disposition.DETACHED
            await self._end_cancelled(refused or "cancel_unconfirmed")
        self._reading.leave()

    # ------------------------------------------------------------------ tools

    async def _commit(
        self,
        *,
        submission: SubmissionState | None = None,
        asked: bool | None = None,
        agent: str = "",
        records: tuple[InboxRecord, ...] = (),
        pieces: tuple[Piece, ...] = (),
        end: TurnEnd | None = None,
    ) -> None:
        async with self._lock:
            await self._store(submission=submission, asked=asked, agent=agent, records=records, pieces=pieces, end=end)

    async def _store(
        self,
        *,
        submission: SubmissionState | None = None,
        asked: bool | None = None,
        agent: str = "",
        records: tuple[InboxRecord, ...] = (),
        task: RemoteTask | None = None,
        pieces: tuple[Piece, ...] = (),
        end: TurnEnd | None = None,
        update: ArtifactUpdate | None = None,
    ) -> None:
        """One step, committed; the lock is held. Of a turn that has ended only what was said is recorded."""
        turn = self.turn
        if self._ended:
            await self._helm.note(Observation(turn, task=task, records=records))
            self.turn = replace(turn, revision=turn.revision + 1)
            return
        context = self._assembly.context_id or None
        step = self._made_known.step(turn, self._assembly, pieces, end, update) if self._follower is not None else None
        self.turn = await self._helm.commit(
            Observation(
                turn=turn,
                submission=submission if submission is not turn.submission else None,
                asked=asked,
                agent=agent,
                task=task,
                records=records,
                context_id=context if context != turn.context_id else None,
                pieces=self._helm.render(turn, pieces),
                end=end,
                step=step,
            )
        )
        self._submitted = self._submitted or submission is SubmissionState.SUBMITTED
        if end is not None and end.state is not TurnState.WAITING:
            self._ended = True
            self._wake.set()

    def _task(self, *, unconfirmed: bool = False) -> RemoteTask:
        return RemoteTask(
            task_id=self._assembly.task_id,
            context_id=self._assembly.context_id,
            state=self._assembly.state,
            state_time=self._assembly.state_time,
            heard=self._helm.clock.now() - self._silence(),
            disposition=self._disposition,
            unconfirmed=unconfirmed,
        )

    def _ref(self) -> TaskRef:
        return TaskRef(self._assembly.task_id, self._assembly.context_id)

    def _silence(self) -> float:
        return self._helm.clock.monotonic() - self._heard

    async def _pause(self, seconds: float) -> None:
        """Sleep, unless something happened (since the last pause) that makes looking again worth while."""
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self._wake.wait()
        except TimeoutError:
            return
        self._wake.clear()

    def _alarm(self, event: TaskEvent) -> None:
        self._helm.telemetry.event(
            "task.foreign_event", level="error", turn=self.turn.id, agent=self.turn.agent, kind=kind_of(event)
        )
