"""How far one turn has got: what is known of its task, and everything that is stored of it, step by step.

Every event, by whichever road it came, goes through one Assembly under one lock, and is committed with everything it
implies: the submission's state, the task's, the inbox record, the pieces to show, and the turn's end. Of a turn that
has ended only what was said is recorded.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from core.agent import Agent, ArtifactUpdate, Reply, Road, Snapshot, TaskEvent, TaskRef, TaskState
from core.answer import Answer, answer_of, artifact_pieces, end_of
from core.assembly import Assembly, Change
from core.clock import Instant
from core.crashpoint import crashpoint
from core.delivery import Piece
from core.errors import ForeignTask
from core.helm import Delegate, Helm
from core.notices import notice
from core.parts import Text
from core.preview import Preview
from core.push import PushTarget
from core.record import kind_of, record_of
from core.steps import MadeKnown
from core.telemetry import Telemetry
from core.turn import Disposition, InboxRecord, Observation, RemoteTask, SubmissionState, Turn, TurnEnd, TurnState


class Progress:
    """`on_taken` is called after each event that was taken.

    Nothing in here holds whoever holds it: what a turn leaves behind is freed at once, and not looked for.
    """

    def __init__(self, turn: Turn, delegate: Delegate, helm: Helm, preview: Preview) -> None:
        self.turn, self.helm = turn, helm
        self.telemetry = _OfTurn(helm.telemetry, turn)
        self._known, self._preview = delegate, preview
        self.follower, self._made_known = helm.follower(turn), MadeKnown()
        self.on_taken: Callable[[], Callable[[], None] | None] = _nobody  # a weak reference
        self.target: PushTarget | None = None  # where its agent may push
        task = turn.task
        self.assembly = Assembly(answered=task.state_time if task and turn.task_id else None)
        self.disposition = Disposition.TRACKED
        self._heard = helm.clock.monotonic()
        if task is not None:
            self.assembly.task_id, self.assembly.context_id = task.task_id, task.context_id
            if turn.submission is SubmissionState.SUBMITTED:
                self.disposition = task.disposition
                self.assembly.state, self.assembly.state_time = task.state, task.state_time
                self.assembly.is_reopened = task.state.is_interrupted  # a turn at work has no open question
                self._heard -= max(0.0, helm.clock.now() - task.heard)
        self.lock = asyncio.Lock()
        self._wake = asyncio.Event()
        self.cancel_wanted = turn.cancel_wanted
        self.is_submitted = turn.submission is SubmissionState.SUBMITTED
        self.has_ended = False
        self.has_asked = False  # it ended with a question
        self.is_misled = False  # what was heard last is of another conversation's task

    @property
    def delegate(self) -> Delegate:
        """As configured now: credentials may have changed while the task was waiting."""
        self._known = self.helm.delegate(self.turn) or self._known
        return self._known

    @property
    def agent(self) -> Agent:
        return self.delegate.agent

    @property
    def has_task(self) -> bool:
        """Whether the agent has said which task this turn is about."""
        return self.is_submitted and bool(self.assembly.task_id)

    @property
    def ref(self) -> TaskRef:
        return TaskRef(self.assembly.task_id, self.assembly.context_id, self._binding())

    @property
    def is_pushed(self) -> bool:
        """Whether the agent was heard by push: asking after the task may be sparse."""
        return self.target is not None and self.target.is_alive

    @property
    def silence(self) -> float:
        """Seconds since the agent last said anything new."""
        return self.helm.clock.monotonic() - self._heard

    @property
    def heard(self) -> Instant:
        """When that was; a chunk counts at once, and is in no store."""
        return self.helm.clock.now() - self.silence

    # ------------------------------------------------------------------ waiting

    def wake(self) -> None:
        """Something happened that makes looking again worth while."""
        self._wake.set()

    async def pause(self, seconds: float) -> None:
        """Sleep, unless it is woken (or was, since the last pause)."""
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self._wake.wait()
        except TimeoutError:
            return
        self._wake.clear()

    # ------------------------------------------------------------------ take

    async def take(self, event: TaskEvent, road: Road) -> None:
        async with self.lock:
            is_first = not self.is_submitted
            if is_first:
                crashpoint("a2a.after_send")
            self.is_misled = is_first and self._is_anothers(event)
            change = Change.FOREIGN if self.is_misled else self.assembly.apply(event)
            if change is Change.APPLIED:
                self._heard = self.helm.clock.monotonic()
            if self.disposition is Disposition.OUT_OF_REACH:
                self.disposition = Disposition.TRACKED
                await self.store(task=self.task())
            try:
                await self._store_change(event, road, change, is_first=is_first)
            except ForeignTask:
                if not is_first:
                    raise
                await self._mislead(event, road)
        if (on_taken := self.on_taken()) is not None:
            on_taken()

    def _is_anothers(self, event: TaskEvent) -> bool:
        """Whether the agent answers a new message with a task that another conversation has at work."""
        if isinstance(event, Reply) or self.turn.task_id is not None:
            return False
        return self.helm.holders.is_anothers(self.turn, event.task_id)

    async def _mislead(self, event: TaskEvent, road: Road) -> None:
        """The store knows the task as another conversation's, though it is not at work: nothing of it was taken."""
        self.is_misled, self.assembly = True, Assembly()
        await self._store_change(event, road, Change.FOREIGN, is_first=True)

    async def take_pushed(self, event: TaskEvent) -> None:
        """Pushes come in any order and beside a stream, so an artifact counts only whole, and a task only at rest.

        What else they say is a sign of life: the stream, or the next GetTask, has it.
        """
        match event:
            case Snapshot(state=state) if not (state.is_terminal or state.is_interrupted):
                event = event.as_status()
            case ArtifactUpdate(append=append, last=last) if append or not last or not self.is_submitted:
                self._heard = self.helm.clock.monotonic()
                return
            case Reply():
                return
        await self.take(event, Road.PUSH)

    async def _store_change(self, event: TaskEvent, road: Road, change: Change, *, is_first: bool) -> None:
        is_news, is_answer = change is Change.APPLIED, self._is_answer()
        if is_news and isinstance(event, ArtifactUpdate) and not (event.last or is_first or is_answer):
            self._show_words()  # a chunk is a preview, and no record
            self._pass_on(event)
            return
        records = (record_of(event, road, change),)
        if change is Change.FOREIGN:
            self._alarm(event)
            await self.store(records=records)
        elif change is Change.LATE:
            self.telemetry.event("task.late_event", kind=kind_of(event), road=road.value)
            await self.store(records=records)
        elif is_news and is_answer:
            await self._store_answer(records)
        elif is_news and isinstance(event, ArtifactUpdate) and not is_first:
            await self._store_sealed(event, records)
        elif is_news or is_first:
            task = self.task() if is_news else None
            update = event if isinstance(event, ArtifactUpdate) and is_news else None
            await self.store(submission=SubmissionState.SUBMITTED, records=records, task=task, update=update)
            self._show_words()  # of the first event only now: the task may have been another conversation's
            self._pass_on(update)

    def _is_answer(self) -> bool:
        confirmed = self.assembly.is_confirmed or self.cancel_wanted
        return not self.has_ended and self.assembly.rests and confirmed

    async def _store_sealed(self, event: ArtifactUpdate, records: tuple[InboxRecord, ...]) -> None:
        """A sealed artifact is a record; in a waiting thread a named one is delivered at once."""
        self._show_words()
        pieces = self._early_pieces() if self.turn.waiting else ()
        await self.store(records=records, task=self.task(), pieces=pieces, update=event)

    def _pass_on(self, update: ArtifactUpdate | None) -> None:
        """Who follows the work hears of a chunk at once; of a sealed artifact only with its record."""
        if update is not None and not update.last and self.follower is not None and not self.has_ended:
            self.follower.chunk(self.turn, update, self.assembly.artifacts[update.artifact.id])

    def _show_words(self) -> None:
        if not self.cancel_wanted and self.follower is None:
            self._preview.update(self.assembly.words())

    def cancelled(self, name: str) -> tuple[Piece, ...]:
        """What was seen before the cancel, so that it does not go with its preview, and the notice that ends it."""
        words = self._preview.words
        seen = (Piece(f"message:seen:{self.turn.id}", (Text(words),)),) if words else ()
        return (*seen, notice(name, self.turn.language))

    def _early_pieces(self) -> tuple[Piece, ...]:
        if self.cancel_wanted:
            return ()
        sealed = (a for a in self.assembly.artifacts.values() if a.name and a.id in self.assembly.sealed)
        return tuple(artifact_pieces(tuple(sealed)))

    async def _store_answer(self, records: tuple[InboxRecord, ...], *, unconfirmed: bool = False) -> None:
        turn, assembly = self.turn, self.assembly
        if self.follower is not None:
            answer = Answer((), end_of(assembly))
        elif self.cancel_wanted and assembly.is_over:
            name = "cancelled" if assembly.state is TaskState.CANCELED else "cancelled_late"
            answer = Answer(self.cancelled(name), TurnEnd(TurnState.CANCELLED, reason="cancelled"))
        else:
            answer = answer_of(assembly, turn.id, turn.language, unconfirmed=unconfirmed)
        task = self.task(unconfirmed=unconfirmed) if assembly.task_id else None
        submitted = SubmissionState.SUBMITTED
        await self.store(submission=submitted, records=records, task=task, pieces=answer.pieces, end=answer.end)

    async def store_unconfirmed(self) -> None:
        """What was assembled is all there will be: the task cannot be had whole."""
        async with self.lock:
            if not self.has_ended:
                await self._store_answer((), unconfirmed=True)

    async def store_waiting(self) -> None:
        """The foreground's patience is over: the next message starts a thread of its own."""
        async with self.lock:
            if not self.has_ended and not self.turn.waiting:
                await self.store(end=TurnEnd(TurnState.WAITING), pieces=self._early_pieces())

    # ------------------------------------------------------------------ store

    async def commit(
        self,
        *,
        submission: SubmissionState | None = None,
        asked: bool | None = None,
        agent: str = "",
        records: tuple[InboxRecord, ...] = (),
        pieces: tuple[Piece, ...] = (),
        end: TurnEnd | None = None,
    ) -> None:
        async with self.lock:
            await self.store(submission=submission, asked=asked, agent=agent, records=records, pieces=pieces, end=end)

    async def store(
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
        """One step, committed; the lock is held."""
        turn = self.turn
        if self.has_ended:
            await self.helm.note(Observation(turn, task=task, records=records))
            self.turn = replace(turn, revision=turn.revision + 1)
            return
        if pieces:
            await self.helm.keep(turn, pieces)
        context = self.assembly.context_id or None
        step = self._made_known.step(turn, self.assembly, pieces, end, update) if self.follower is not None else None
        self.turn = await self.helm.commit(
            Observation(
                turn=turn,
                submission=submission if submission is not turn.submission else None,
                asked=asked,
                agent=agent,
                task=task,
                records=records,
                context_id=context if context != turn.context_id else None,
                pieces=self.helm.render(turn, pieces),
                end=end,
                step=step,
            )
        )
        self.telemetry.agent = self.turn.agent
        self.is_submitted = self.is_submitted or submission is SubmissionState.SUBMITTED
        if end is not None and end.state is not TurnState.WAITING:
            self.has_ended, self.has_asked = True, end.waits_for_input
            self.wake()

    def task(self, *, unconfirmed: bool = False) -> RemoteTask:
        return RemoteTask(
            task_id=self.assembly.task_id,
            context_id=self.assembly.context_id,
            state=self.assembly.state,
            state_time=self.assembly.state_time,
            heard=self.heard,
            disposition=self.disposition,
            unconfirmed=unconfirmed,
            binding=self._binding(),
        )

    def _binding(self) -> str:
        """The first word counts, over restarts: a task never moves."""
        known, task_id = self.turn.task, self.assembly.task_id
        if known is not None and known.task_id == task_id and known.binding:
            return known.binding
        return self.agent.binding_of(task_id)

    def _alarm(self, event: TaskEvent) -> None:
        self.telemetry.event("task.foreign_event", level="error", kind=kind_of(event))


def _nobody() -> None:
    return None


class _OfTurn:
    """Telemetry that says which turn and which agent an event is of."""

    def __init__(self, telemetry: Telemetry, turn: Turn) -> None:
        self._telemetry, self._turn, self.agent = telemetry, turn.id, turn.agent

    def event(self, name: str, /, **fields: object) -> None:
        self._telemetry.event(name, turn=self._turn, agent=self.agent, **fields)
