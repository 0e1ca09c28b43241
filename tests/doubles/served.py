"""ServedTasks in memory: the double behind which the A2A server side is tested, and run against the official kits.

It keeps what the port promises: tasks go on whatever becomes of their callers, every stream of a task gets the same
events in the same order, what is another owner's is unknown. A test releases what a script holds.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from a2a.server.port import (
    BadRequest,
    Caller,
    Filter,
    Message,
    NoSuchTask,
    NotCancelable,
    PushConfig,
    Role,
    Send,
    ServedEvent,
    ServedTask,
    StatusChange,
    TaskPage,
    Unsupported,
)
from core.agent import Artifact, ArtifactUpdate, TaskState
from core.clock import Clock, SystemClock
from core.ids import new_id
from core.parts import Text
from tests.doubles.served_scripts import Becomes, Makes, Says, Script, Step, Waits, by_first_word

Notify = Callable[[PushConfig, ServedEvent], Awaitable[None]]
QUEUED = 1000  # events that a stream may be behind


@dataclass
class Kept:
    """One task and who follows it."""

    owner: str
    task: ServedTask
    queues: list["asyncio.Queue[ServedEvent | None]"] = field(default_factory=list)
    pushes: dict[str, PushConfig] = field(default_factory=dict)
    settled: asyncio.Event = field(default_factory=asyncio.Event)  # terminal or interrupted
    works: "asyncio.Task[None] | None" = None


class ServedDouble:
    """Use as `async with`; leaving ends what still runs."""

    def __init__(self, script: Script = by_first_word, *, clock: Clock | None = None, notify: Notify | None = None):
        self._script = script
        self._clock = clock or SystemClock()
        self._notify = notify
        self._tasks: dict[str, Kept] = {}
        self._running: set[asyncio.Task[None]] = set()
        self.released = asyncio.Event()
        self.sent: list[tuple[Caller, Send]] = []
        self.error: Exception | None = None  # raised by every call while it is set
        self.most_queued = QUEUED

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for running in tuple(self._running):
            running.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    @property
    def followers(self) -> int:
        return sum(len(kept.queues) for kept in self._tasks.values())

    # ------------------------------------------------------------------ the port

    async def send(self, caller: Caller, request: Send) -> ServedTask | Message:
        begun = self._begin(caller, request)
        if isinstance(begun, Message):
            return begun
        if request.waits:
            await begun.settled.wait()
        return begun.task

    async def stream(self, caller: Caller, request: Send) -> AsyncIterator[Sequence[ServedEvent]]:
        queue: asyncio.Queue[ServedEvent | None] = asyncio.Queue(self.most_queued)
        begun = self._begin(caller, request, queue)
        if isinstance(begun, Message):
            yield (begun,)
            return
        async for event in self._followed(begun, queue, stop_at_question=True):
            yield (event,)

    async def subscribe(self, caller: Caller, task_id: str) -> AsyncIterator[Sequence[ServedEvent]]:
        kept = self._find(caller, task_id)
        if kept.task.state.is_terminal:
            raise Unsupported("the task has ended")
        queue: asyncio.Queue[ServedEvent | None] = asyncio.Queue(self.most_queued)
        queue.put_nowait(kept.task)
        kept.queues.append(queue)
        async for event in self._followed(kept, queue, stop_at_question=False):
            yield (event,)

    async def get(self, caller: Caller, task_id: str) -> ServedTask:
        return self._find(caller, task_id).task

    async def list(self, caller: Caller, wanted: Filter) -> TaskPage:
        self._check()
        prefix, _, at = wanted.after.rpartition("|")
        if wanted.after and (prefix != caller.owner or not at.isdigit()):
            raise BadRequest("pageToken", "is not one of yours")
        found = [kept.task for kept in self._tasks.values() if kept.owner == caller.owner and _fits(kept.task, wanted)]
        found.sort(key=lambda task: -task.time)
        begin = int(at or 0)
        end = begin + wanted.size
        return TaskPage(found[begin:end], f"{caller.owner}|{end}" if end < len(found) else "", len(found))

    async def cancel(self, caller: Caller, task_id: str) -> ServedTask:
        kept = self._find(caller, task_id)
        if kept.task.state.is_terminal:
            raise NotCancelable("the task has ended already")
        if kept.works is not None:
            kept.works.cancel()
        self._become(kept, Becomes(TaskState.CANCELED))
        return kept.task

    async def set_push(self, caller: Caller, config: PushConfig) -> PushConfig:
        kept = self._find(caller, config.task_id)
        made = replace(config, id=config.id or new_id())
        kept.pushes[made.id] = made
        return made

    async def push(self, caller: Caller, task_id: str, config_id: str) -> PushConfig:
        config = self._find(caller, task_id).pushes.get(config_id)
        if config is None:
            raise NoSuchTask("no such push notification config")
        return config

    async def pushes(self, caller: Caller, task_id: str) -> Sequence[PushConfig]:
        return list(self._find(caller, task_id).pushes.values())

    async def drop_push(self, caller: Caller, task_id: str, config_id: str) -> None:
        self._find(caller, task_id).pushes.pop(config_id, None)

    # ------------------------------------------------------------------ behind it

    def _check(self) -> None:
        if self.error is not None:
            raise self.error

    def _find(self, caller: Caller, task_id: str) -> Kept:
        self._check()
        kept = self._tasks.get(task_id)
        if kept is None or kept.owner != caller.owner:
            raise NoSuchTask("task not found")
        return kept

    def _begin(
        self, caller: Caller, request: Send, queue: "asyncio.Queue[ServedEvent | None] | None" = None
    ) -> Kept | Message:
        self._check()
        self.sent.append((caller, request))
        message = request.message
        known = self._find(caller, message.task_id) if message.task_id else None
        if known is not None and message.context_id not in ("", known.task.context_id):
            raise BadRequest("message.contextId", "is not the task's")
        if known is not None and known.task.state.is_terminal:
            raise Unsupported("the task has ended; start another one")
        context_id = known.task.context_id if known else message.context_id or new_id()
        steps = list(self._script(message, known.task if known else None))
        if isinstance(steps[0], Says):
            return Message(new_id(), Role.AGENT, steps[0].parts, context_id)
        kept = known or self._start(caller, context_id)
        self._hear(kept, replace(message, task_id=kept.task.id, context_id=context_id))
        if request.push is not None:
            config = replace(request.push, id=request.push.id or new_id(), task_id=kept.task.id)
            kept.pushes[config.id] = config
        kept.settled.clear()
        if queue is not None:
            queue.put_nowait(kept.task)
            kept.queues.append(queue)
        kept.works = asyncio.create_task(self._work(kept, steps), name=f"served-{kept.task.id}")
        self._running.add(kept.works)
        kept.works.add_done_callback(self._running.discard)
        return kept

    def _start(self, caller: Caller, context_id: str) -> Kept:
        task = ServedTask(new_id(), context_id, TaskState.SUBMITTED, self._clock.now())
        kept = self._tasks[task.id] = Kept(caller.owner, task)
        return kept

    def _hear(self, kept: Kept, message: Message) -> None:
        task = kept.task
        said = (task.message,) if task.message is not None else ()
        state = TaskState.SUBMITTED if not task.history else TaskState.WORKING
        kept.task = replace(task, state=state, message=None, history=(*task.history, *said, message))

    async def _work(self, kept: Kept, steps: Sequence[Step]) -> None:
        for step in steps:
            await asyncio.sleep(0)
            match step:
                case Becomes():
                    self._become(kept, step)
                case Makes():
                    self._make(kept, step)
                case Waits(None):
                    await self.released.wait()
                case Waits(float(seconds)):
                    await asyncio.sleep(seconds)
            await self._tell_pushes(kept)

    def _become(self, kept: Kept, step: Becomes) -> None:
        task = kept.task
        words = Message(new_id(), Role.AGENT, (Text(step.words),), task.context_id, task.id) if step.words else None
        history = (*task.history, task.message) if task.message is not None else task.history
        kept.task = replace(task, state=step.state, time=self._clock.now(), message=words, history=history)
        self._publish(kept, StatusChange(task.id, task.context_id, step.state, kept.task.time, words))
        if step.state.is_terminal or step.state.is_interrupted:
            kept.settled.set()
        if step.state.is_terminal:
            self._publish(kept, None)

    def _make(self, kept: Kept, step: Makes) -> None:
        task = kept.task
        others = tuple(each for each in task.artifacts if each.id != step.artifact.id)
        before = next((each.parts for each in task.artifacts if each.id == step.artifact.id and step.append), ())
        whole = Artifact(step.artifact.id, before + step.artifact.parts, step.artifact.name)
        kept.task = replace(task, artifacts=(*others, whole))
        update = ArtifactUpdate(task.id, task.context_id, step.artifact, append=step.append, last=step.last)
        self._publish(kept, update)

    def _publish(self, kept: Kept, event: ServedEvent | None) -> None:
        for queue in tuple(kept.queues):
            try:
                queue.put_nowait(event)
            except asyncio.QueueFull:
                kept.queues.remove(queue)
                queue.get_nowait()
                queue.put_nowait(None)

    async def _followed(
        self, kept: Kept, queue: "asyncio.Queue[ServedEvent | None]", *, stop_at_question: bool
    ) -> AsyncIterator[ServedEvent]:
        try:
            while (event := await queue.get()) is not None:
                yield event
                if stop_at_question and isinstance(event, StatusChange) and event.state.is_interrupted:
                    return
        finally:
            with suppress(ValueError):
                kept.queues.remove(queue)

    async def _tell_pushes(self, kept: Kept) -> None:
        if self._notify is not None:
            for config in tuple(kept.pushes.values()):
                await self._notify(config, kept.task)


def _fits(task: ServedTask, wanted: Filter) -> bool:
    return (
        wanted.context_id in ("", task.context_id)
        and wanted.state in (None, task.state)
        and (wanted.since is None or task.time >= wanted.since)
    )
