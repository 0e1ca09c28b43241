"""One served task in memory, and everybody who reads or waits for it.

A task is in memory while it is at work or somebody looks at it. All that changes it comes through here in one order,
so every reader hears the same. A reader has a bounded line of events; one that falls behind loses its place and ends.

A task that was not seen from its beginning is read from its record. What happens meanwhile is kept, and counts as far
as the record does not have it already: a position (a turn and its revision) says what a record has.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from a2a.server.port import Message, ServedEvent, ServedTask, StatusChange
from a2a.server.served_words import said_of, task_of
from core.agent import Artifact, ArtifactUpdate, Metadata, TaskState
from core.clock import Instant
from core.followed import Followed, Step, state_now
from core.steps import is_same

READER_BOUND = 1000  # events that a reader may be behind: seconds of a fast stream
Position = tuple[int, int]
OVER: Position = (1 << 62, 0)  # behind every turn


class Reader:
    """One stream's place in a task's events."""

    def __init__(self, first: ServedEvent) -> None:
        self.first = first
        self._events: list[ServedEvent] = [first]
        self._news: asyncio.Future[None] | None = None
        self.is_cut = False

    def put(self, event: ServedEvent) -> None:
        if len(self._events) >= READER_BOUND:
            self.is_cut = True
            self._events = []
        if not self.is_cut:
            self._events.append(event)
        self._wake()

    async def next(self) -> Sequence[ServedEvent]:
        """The next events, all that are there; none once the reader was cut off."""
        while not self._events and not self.is_cut:
            await self.news()
        events, self._events = self._events, []
        return events

    async def news(self) -> None:
        """Until something more happens than what is in the line already."""
        self._news = asyncio.get_running_loop().create_future()
        await self._news

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)


class Live:
    def __init__(self, id: str, owner: str, agent: str) -> None:
        self.id, self.owner, self.agent = id, owner, agent
        self.context_id, self.state, self.time = "", TaskState.SUBMITTED, 0.0
        self.said: Message | None = None
        self.metadata: dict[str, Any] = {}
        self.position: Position = (0, 0)
        self.is_answered = False  # what it asked, it asks no more
        self.has_spoken = False  # the agent has said something of it
        self.is_told = False  # somebody has its id
        self.is_at_work = False
        self.bare: Message | None = None  # the whole of the answer, where that was a bare message and nobody had the id
        self.refusals = 0  # cancels that the agent refused
        self.asked = 0  # cancels it did not act on
        self.holders = 0
        self.loading: asyncio.Future[bool] | None = None
        self._artifacts: dict[str, Artifact] = {}
        self._growing: set[str] = set()  # artifacts whose every chunk was seen here
        self._history: list[Message] = []
        self._readers: list[Reader] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._resting: list[asyncio.Future[None]] = []
        self._missed: list[tuple[Position, bool, Callable[[], None]]] | None = []

    @property
    def task(self) -> ServedTask:
        return ServedTask(
            id=self.id,
            context_id=self.context_id,
            state=self.state,
            time=self.time,
            message=self.said,
            artifacts=tuple(self._artifacts.values()),
            history=tuple(self._history),
            metadata=dict(self.metadata),
        )

    @property
    def rests(self) -> bool:
        return self.state.is_terminal or (self.state.is_interrupted and not self.is_answered)

    @property
    def is_idle(self) -> bool:
        return not self.holders and (self.rests or not self.is_at_work)

    # ------------------------------------------------------------------ where it comes from

    def begin(self, context_id: str, message: Message, now: Instant) -> None:
        """It was admitted just now."""
        self.context_id, self.time, self._missed = context_id, now, None
        self._history.append(message)
        self.is_at_work = True

    def load(self, work: Followed) -> None:
        task = task_of(work)
        self.context_id, self.state, self.time, self.said = task.context_id, task.state, task.time, task.message
        self.position, self.is_answered, self.is_told = work.position, work.is_answered, True
        self._artifacts = {artifact.id: artifact for artifact in task.artifacts}
        self._history, self.metadata = list(task.history), dict(task.metadata)
        self.bare = said_of(work.said, "", work.topic) if work.is_bare else None
        missed, self._missed = self._missed or [], None
        for position, is_chunk, change in missed:
            if position > self.position or (is_chunk and position == self.position):
                change()

    def _take(self, position: Position, change: Callable[[], None], *, is_chunk: bool = False) -> None:
        if self._missed is None:
            change()
        else:
            self._missed.append((position, is_chunk, change))

    # ------------------------------------------------------------------ what happens

    def answered(self, message: Message) -> None:
        """A message was admitted for it; what the agent said before stands before it."""
        self._supersede()
        self._history.append(message)
        self.is_answered = self.is_at_work = True

    def began(self, position: Position, at: Instant) -> None:
        self._take(position, lambda: self._began(position, at))

    def chunk(self, position: Position, update: ArtifactUpdate, whole: Artifact) -> None:
        self._take(position, lambda: self._chunk(update, whole), is_chunk=True)

    def observed(self, position: Position, step: Step, at: Instant, *, more: bool) -> None:
        self._take(position, lambda: self._observed(position, step, at, more=more))

    def end(self, state: TaskState, at: Instant) -> None:
        """It is over without a turn that would say so."""
        self._take(OVER, lambda: self._end(state, at))

    def not_cancelled(self, *, is_refused: bool) -> None:
        self.asked += 1
        self.refusals += is_refused
        self._wake()

    def _end(self, state: TaskState, at: Instant) -> None:
        if not self.state.is_terminal:
            self._become(state, None, at)

    def _began(self, position: Position, at: Instant) -> None:
        self.position, self.is_answered, self.is_at_work = position, False, True
        if self.state is not TaskState.WORKING or self.said is not None:
            self._become(TaskState.WORKING, None, at)

    def _chunk(self, update: ArtifactUpdate, whole: Artifact) -> None:
        self.has_spoken = True
        self._artifact(whole, update)

    def _observed(self, position: Position, step: Step, at: Instant, *, more: bool) -> None:
        self.position, self.has_spoken = position, True
        state = state_now(step, more=more)
        for id in step.gone:
            self._artifacts.pop(id, None)
        for made in step.artifacts:
            artifact, known = made.artifact, self._artifacts.get(made.artifact.id)
            sealed = step.update is not None and step.update.artifact.id == artifact.id
            if sealed or known is None or not is_same(known, artifact):
                self._artifact(artifact, step.update if sealed else None, is_last=step.state.is_terminal)
            self._artifacts[artifact.id] = artifact
        if step.is_bare and not self.is_told and state is TaskState.COMPLETED and len(self._history) == 1:
            self.bare = said_of(step.said, "", self.context_id)
        if step.is_news:
            self._become(state, said_of(step.said, self.id, self.context_id), at, step.metadata)

    def _artifact(self, whole: Artifact, update: ArtifactUpdate | None, *, is_last: bool = False) -> None:
        """Tell of it as it came, where its readers have all that it adds to; else of the whole of it."""
        is_whole = update is None or (update.append and whole.id not in self._growing)
        self._artifacts[whole.id] = whole
        self._growing.add(whole.id)
        if is_whole or update is None:
            last, beside = (is_last, None) if update is None else (update.last, update.metadata)
            self._tell(ArtifactUpdate(self.id, self.context_id, whole, last=last, metadata=beside))
        else:
            came, append, last = update.artifact, update.append, update.last
            self._tell(ArtifactUpdate(self.id, self.context_id, came, append, last, update.metadata))

    def _become(self, state: TaskState, said: Message | None, at: Instant, beside: Metadata = None) -> None:
        self._supersede()
        self.state, self.said, self.time = state, said, max(self.time, at)
        if beside is not None:
            self.metadata.update(beside)
        self._tell(StatusChange(self.id, self.context_id, state, self.time, said, beside))
        if self.rests:
            self.is_at_work = False
        self._wake()

    def _supersede(self) -> None:
        if self.said is not None:
            self._history.append(self.said)
            self.said = None

    def _tell(self, event: ServedEvent) -> None:
        for reader in self._readers:
            reader.put(event)

    # ------------------------------------------------------------------ who reads

    def join(self) -> Reader:
        """The whole task, and then all that happens."""
        reader = Reader(self.task)
        self._readers.append(reader)
        return reader

    def leave(self, reader: Reader) -> None:
        with suppress(ValueError):
            self._readers.remove(reader)

    async def change(self) -> None:
        """Until its status changes, or a cancel comes to nothing."""
        await _told(self._waiting)

    async def rest(self) -> None:
        """Until it ended, or asks something."""
        while not self.rests:
            await _told(self._resting)

    def _wake(self) -> None:
        _tell_all(self._waiting)
        if self._resting and self.rests:
            _tell_all(self._resting)


async def _told(waiting: list[asyncio.Future[None]]) -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    waiting.append(future)
    try:
        await future
    finally:
        with suppress(ValueError):
            waiting.remove(future)


def _tell_all(waiting: list[asyncio.Future[None]]) -> None:
    for future in waiting:
        if not future.done():
            future.set_result(None)
    waiting.clear()
