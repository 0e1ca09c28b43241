"""An agent in memory that does what a test scripts, and remembers who asked it what."""

import asyncio
from collections.abc import AsyncIterator, Callable

from core.agent import Artifact, Ask, Snapshot, StatusUpdate, TaskEvent, TaskRef, TaskState
from core.errors import AgentError, Declined, TaskUnknown
from core.parts import Text, text_of
from core.push import Push, PushWay

Script = Callable[[Ask], AsyncIterator[TaskEvent]]


def task(ask: Ask, state: TaskState, *texts: str, message: str = "", time: float | None = None) -> Snapshot:
    """The whole task that this ask made, with an artifact for each text."""
    artifacts = tuple(Artifact(f"a{n}", (Text(text),)) for n, text in enumerate(texts, 1))
    said = (Text(message),) if message else ()
    return Snapshot(task_id(ask), context(ask), state, time, said, artifacts)


def status(ask: Ask, state: TaskState, message: str = "", time: float | None = None) -> StatusUpdate:
    return StatusUpdate(task_id(ask), context(ask), state, time, (Text(message),) if message else ())


def task_id(ask: Ask) -> str:
    return ask.task_id or f"task-{ask.message_id}"


def context(ask: Ask) -> str:
    return ask.context_id or f"context-{ask.message_id}"


async def echo(ask: Ask) -> AsyncIterator[TaskEvent]:
    yield task(ask, TaskState.COMPLETED, text_of(ask.parts).upper())


class FakeAgent:
    """`script` answers a send; `tasks` is what get and find see; scripted errors come first."""

    def __init__(self, script: Script = echo, name: str = "agent") -> None:
        self.name, self.script = name, script
        self.asks: list[Ask] = []
        self.cancels: list[str] = []
        self.gets: list[str] = []
        self.tasks: dict[str, Snapshot | AgentError] = {}
        self.way: PushWay = ""  # how it is told where to push
        self.pushes: list[tuple[str, Push]] = []  # task id ("" with the send) and what it was given
        self.unregistered: list[str] = []
        self.push_error: AgentError | None = None
        self.binding = ""  # over which tasks are created
        self.refs: list[TaskRef] = []  # of the gets
        self.errors: list[AgentError] = []  # raised by the next sends
        self.cancel_error: AgentError | None = None
        self.find_error: AgentError | None = Declined("no listing here")
        self.follows: Callable[[TaskRef], AsyncIterator[TaskEvent]] | None = None
        self.called = asyncio.Event()

    async def push_way(self) -> PushWay:
        return self.way

    async def register_push(self, task: TaskRef, push: Push) -> None:
        self.pushes.append((task.task_id, push))
        self.called.set()
        if self.push_error:
            raise self.push_error

    async def unregister_push(self, task: TaskRef, id: str) -> None:
        del task
        self.unregistered.append(id)

    async def send(self, ask: Ask) -> AsyncIterator[TaskEvent]:
        self.asks.append(ask)
        if ask.push:
            self.pushes.append(("", ask.push))
        self.called.set()
        if self.errors:
            raise self.errors.pop(0)
        async for event in self.script(ask):
            if isinstance(event, Snapshot):
                self.tasks[event.task_id] = event
            yield event

    async def subscribe(self, task: TaskRef) -> AsyncIterator[TaskEvent]:
        if self.follows is None:
            raise Declined("no streaming here")
        async for event in self.follows(task):
            yield event

    async def get(self, task: TaskRef) -> Snapshot:
        self.gets.append(task.task_id)
        self.refs.append(task)
        self.called.set()
        return self._known(task.task_id)

    async def cancel(self, task: TaskRef) -> Snapshot | None:
        self.cancels.append(task.task_id)
        self.called.set()
        if self.cancel_error:
            raise self.cancel_error
        known = self._known(task.task_id)
        self.tasks[task.task_id] = Snapshot(known.task_id, known.context_id, TaskState.CANCELED)
        return self._known(task.task_id)

    async def find(self, context_id: str | None, message_id: str) -> Snapshot | None:
        del context_id
        if self.find_error:
            raise self.find_error
        known = self.tasks.get(f"task-{message_id}")
        return known if isinstance(known, Snapshot) else None

    def binding_of(self, task_id: str) -> str:
        del task_id
        return self.binding

    def _known(self, task_id: str) -> Snapshot:
        known = self.tasks.get(task_id)
        if isinstance(known, AgentError):
            raise known
        if known is None:
            raise TaskUnknown(f"no task {task_id}")
        return known


class Parked:
    """A script that waits for the test before it answers."""

    def __init__(self) -> None:
        self.released = asyncio.Event()

    async def __call__(self, ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        await self.released.wait()
        yield task(ask, TaskState.COMPLETED, text_of(ask.parts).upper())
