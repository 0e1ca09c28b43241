"""A local agent's world in memory: a plugin state that outlives it, and lives that end as a killed process does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from core.agent import ArtifactUpdate, Ask, Snapshot, TaskEvent, TaskRef, TaskState
from core.clock import SystemClock
from core.errors import StoreUnavailable
from core.parts import Text, text_of
from gateway.agents import Working
from gateway.agents.local import LocalAgent
from tests.waiting import within

SOON = 5.0  # seconds; far above what anything here takes


class Memory:
    """Plugin state by compare-and-set, with its writes counted."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], tuple[str, int]] = {}
        self.writes = 0
        self.failures = 0  # so many next calls find the store unavailable

    async def read(self, account: str, name: str) -> tuple[str, int] | None:
        self._fail()
        return self.values.get((account, name))

    async def write(self, account: str, name: str, value: str, *, version: int) -> bool:
        self._fail()
        self.writes += 1
        present = self.values.get((account, name), ("", 0))[1]
        if present == version:
            self.values[account, name] = (value, version + 1)
        return present == version

    async def forget(self, account: str, name: str, *, version: int) -> bool:
        self._fail()
        if self.values.get((account, name), ("", 0))[1] != version:
            return False
        return self.values.pop((account, name), None) is not None

    @property
    def kept(self) -> list[str]:
        """What is stored, by its names."""
        return [name for _, name in self.values]

    def _fail(self) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("the disk is full", retry_after=0.0)


class StillClock(SystemClock):
    """The wall clock stands, as a coarse one does."""

    def now(self) -> float:
        return 1_000_000.0


@asynccontextmanager
async def life(agent: Working, memory: Memory) -> AsyncIterator[LocalAgent]:
    """One process: what still runs at its end is cut off."""
    async with asyncio.TaskGroup() as tasks:
        local = LocalAgent("local", agent, memory, StillClock(), tasks)
        try:
            async with within(SOON):
                yield local
        finally:
            for task in asyncio.all_tasks():
                if task.get_name().startswith("agent local "):
                    task.cancel()


def ask(text: str, message_id: str = "m1", task: TaskRef | None = None) -> Ask:
    if task is None:
        return Ask(message_id, (Text(text),))
    return Ask(message_id, (Text(text),), task.context_id, task.task_id)


def ref(event: TaskEvent) -> TaskRef:
    assert isinstance(event, Snapshot)
    return TaskRef(event.task_id, event.context_id)


async def all_of(stream: AsyncIterator[TaskEvent]) -> list[TaskEvent]:
    return [event async for event in stream]


async def last_of(stream: AsyncIterator[TaskEvent]) -> Snapshot:
    last = (await all_of(stream))[-1]
    assert isinstance(last, Snapshot)
    return last


async def until_said(stream: AsyncIterator[TaskEvent], text: str) -> TaskRef:
    """Read until these words were heard, then leave; the task they belong to."""
    heard, task = "", None
    async with aclosing(stream) as events:  # type: ignore[type-var]
        async for event in events:
            if isinstance(event, Snapshot):
                heard, task = words(event), ref(event)
                assert not event.state.is_terminal, heard
            elif isinstance(event, ArtifactUpdate):
                heard += text_of(event.artifact.parts)
            if text in heard and task:
                return task
    raise AssertionError(f"the stream ended with {heard!r}")


def words(snapshot: Snapshot) -> str:
    return "".join(text_of(artifact.parts) for artifact in snapshot.artifacts)


def outcome(snapshot: Snapshot) -> tuple[TaskState, str]:
    return snapshot.state, words(snapshot)
