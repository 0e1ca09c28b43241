"""A task in memory: what its agent said so far, and who is to be woken when there is more."""

import asyncio
from dataclasses import replace
from itertools import takewhile

from core.agent import Artifact, ArtifactUpdate, Reply, Snapshot, TaskEvent, TaskState
from core.clock import Instant
from core.parts import File, Text, joined
from gateway.agents.contract import Parts
from gateway.agents.records import TaskRecord

TICK = 0.001  # seconds; each status of a task is later than the one before, whatever the wall clock does


class LiveTask:
    """`record` is what is stored, or would be; `version` is 0 while nothing is."""

    def __init__(self, record: TaskRecord, version: int = 0) -> None:
        self.record, self.version = record, version
        self.state = record.task_state
        self.rests = self.state.is_terminal or self.state.is_interrupted
        self.time = record.time
        self.said: list[str | Parts] = [record.words] if record.words else []
        self.size = len(record.words)
        self.last_word = ""  # about the task, when it ended
        self.is_reply = False  # the last word is the whole answer
        self.worker: asyncio.Task[None] | None = None
        self.is_cancelled = False
        self.is_lost = False  # another process goes on with it
        self.writing = asyncio.Lock()
        self.news = asyncio.Event()
        self._artifacts = {one.id: one for one in record.artifacts}

    @property
    def is_done(self) -> bool:
        """Nothing more will be said here."""
        return self.rests or self.is_lost

    def say(self, text: str) -> None:
        self.said.append(text)
        self.size += len(text)
        self._wake()

    def show(self, made: Parts) -> None:
        made = made if made.id else replace(made, id=f"{self._words_id}-{len(self._artifacts) + 1}")
        known = self._artifacts.get(made.id)
        parts = joined(known.parts if known is not None else (), made.parts)
        self._artifacts[made.id] = Artifact(made.id, parts, made.name or (known.name if known is not None else ""))
        self.said.append(made)
        self.size += size_of(made)
        self._wake()

    def rest(self, state: TaskState, now: Instant) -> None:
        if not (self.state.is_terminal or self.is_lost):
            self.state, self.time, self.rests = state, later(self.time, now), True
            self._wake()

    def lose(self) -> None:
        self.is_lost = True
        self._wake()

    async def until_done(self) -> None:
        while not self.is_done:
            await self.news.wait()

    def words(self) -> str:
        return "".join([said for said in self.said if isinstance(said, str)])

    def artifacts(self) -> tuple[Artifact, ...]:
        """Beside the words."""
        return tuple(self._artifacts.values())

    def snapshot(self) -> Snapshot:
        record, words = self.record, self.words()
        message = record.question if self.state is TaskState.INPUT_REQUIRED else self.last_word
        own = (Artifact(self._words_id, (Text(words),)),) if words else ()
        return Snapshot(
            record.task_id,
            record.context_id,
            self.state,
            self.time,
            (Text(message),) if message else (),
            (*own, *self._artifacts.values()),
        )

    def end(self) -> TaskEvent:
        """The last thing that a stream of it says."""
        if self.is_reply and self.state is TaskState.COMPLETED:
            return Reply(f"reply-{self.record.message_id}", self.record.context_id, (Text(self.last_word),))
        return self.snapshot()

    def update(self, seen: int) -> tuple[ArtifactUpdate, int]:
        """The next thing said after the first `seen`, and how many have been seen with it: words come together."""
        record, next_said = self.record, self.said[seen]
        if isinstance(next_said, Parts):
            known = any(isinstance(said, Parts) and said.id == next_said.id for said in self.said[:seen])
            artifact = Artifact(next_said.id, next_said.parts, next_said.name)
            return (
                ArtifactUpdate(record.task_id, record.context_id, artifact, append=known, last=not next_said.more),
                seen + 1,
            )
        words = list(takewhile(lambda said: isinstance(said, str), self.said[seen:]))
        artifact = Artifact(self._words_id, (Text("".join(map(str, words))),))
        append = any(isinstance(said, str) for said in self.said[:seen])
        return ArtifactUpdate(record.task_id, record.context_id, artifact, append=append), seen + len(words)

    @property
    def _words_id(self) -> str:
        return f"answer-{self.record.run}"

    def _wake(self) -> None:
        waiting, self.news = self.news, asyncio.Event()
        waiting.set()


def size_of(made: Parts) -> int:
    """Characters of text and bytes of files."""
    return sum(
        len(part.text) if isinstance(part, Text) else len(part.content or b"") if isinstance(part, File) else 0
        for part in made.parts
    )


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
        artifacts=live.artifacts(),
        time=later(live.time, now),
    )
