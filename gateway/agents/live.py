"""A task in memory: what its agent said so far, and who is to be woken when there is more."""

import asyncio
from dataclasses import replace

from core.agent import Artifact, ArtifactUpdate, Snapshot, TaskState
from core.clock import Instant
from core.parts import Text
from gateway.agents.records import TaskRecord

TICK = 0.001  # seconds; each status of a task is later than the one before, whatever the wall clock does


class LiveTask:
    """`record` is what is stored, or would be; `version` is 0 while nothing is."""

    def __init__(self, record: TaskRecord, version: int = 0) -> None:
        self.record, self.version = record, version
        self.state = record.task_state
        self.time = record.time
        self.chunks: list[str] = [record.words] if record.words else []
        self.size = len(record.words)
        self.worker: asyncio.Task[None] | None = None
        self.is_cancelled = False
        self.is_lost = False  # another process goes on with it
        self.writing = asyncio.Lock()
        self.news = asyncio.Event()

    @property
    def rests(self) -> bool:
        return self.state.is_terminal or self.state.is_interrupted

    @property
    def is_done(self) -> bool:
        """Nothing more will be said here."""
        return self.rests or self.is_lost

    def say(self, text: str) -> None:
        self.chunks.append(text)
        self.size += len(text)
        self._wake()

    def rest(self, state: TaskState, now: Instant) -> None:
        if not (self.state.is_terminal or self.is_lost):
            self.state, self.time = state, later(self.time, now)
            self._wake()

    def lose(self) -> None:
        self.is_lost = True
        self._wake()

    async def until_done(self) -> None:
        while not self.is_done:
            await self.news.wait()

    def words(self) -> str:
        return "".join(self.chunks)

    def snapshot(self) -> Snapshot:
        record, words = self.record, self.words()
        return Snapshot(
            record.task_id,
            record.context_id,
            self.state,
            self.time,
            (Text(record.question),) if self.state is TaskState.INPUT_REQUIRED else (),
            (Artifact(self._artifact, (Text(words),)),) if words else (),
        )

    def chunk(self, seen: int) -> ArtifactUpdate:
        """Everything said after the first `seen` chunks, as one."""
        record = self.record
        artifact = Artifact(self._artifact, (Text("".join(self.chunks[seen:])),))
        return ArtifactUpdate(record.task_id, record.context_id, artifact, append=seen > 0)

    @property
    def _artifact(self) -> str:
        return f"answer-{self.record.run}"

    def _wake(self) -> None:
        waiting, self.news = self.news, asyncio.Event()
        waiting.set()


def later(before: Instant, now: Instant) -> Instant:
    return max(now, before + TICK)


def asking(live: LiveTask, text: str, state: dict[str, object], now: Instant) -> TaskRecord:
    """The record of a task that asks its person."""
    return replace(
        live.record,
        task_state=TaskState.INPUT_REQUIRED,
        question=text,
        state=state,
        words=live.words(),
        time=later(live.time, now),
    )
