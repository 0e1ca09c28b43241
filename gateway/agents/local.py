"""A local agent that works (see contract.py), as the core's Agent: with tasks that can be left, found and gone on with.

A message becomes a task whose id follows from the message's, so that the same message never makes two. The work runs on
its own, whether anybody reads its stream or not. What is stored, and when:

- nothing for a resumable task that is done within a moment: after a crash it is simply asked again;
- else a resumable task's beginning, so that it can be begun again, and each of its checkpoints;
- for any task its questions and the answers to them.

A task that is not resumable begins only when the caller asks for the second event, since by then it has noted that the
task exists: what may have begun is never begun twice. `send` is idempotent by message id, so the delegate of a local
agent resubmits.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import replace

from core.agent import Ask, Snapshot, TaskEvent, TaskRef, TaskState
from core.clock import Clock, Instant
from core.errors import (
    CancelRefused,
    Declined,
    NotAccepted,
    StoreUnavailable,
    TaskEnded,
    TaskUnknown,
    Unreachable,
)
from core.parts import Part, Text
from core.plugin import PluginState
from gateway.agents.contract import (
    Checkpoint,
    Done,
    Failed,
    Parts,
    Question,
    Rejected,
    Reply,
    Step,
    Task,
    Words,
    Working,
)
from gateway.agents.live import LiveTask, asking, later, size_of
from gateway.agents.records import Records, TaskRecord

MOMENT = 0.05  # seconds; what is done sooner leaves no trace in the store
WORDS_MOST = 1 << 20  # characters of one answer; past it the task fails
RUNNING_MOST = 1000  # tasks at work; past it a message is not accepted, and comes again
RESTED_KEPT = 32  # ended or asking tasks still in memory, for a reader that comes late
BUSY_RETRY = 2.0  # seconds
CANCEL_LIMIT = 5.0  # seconds that a cancelled agent may take for tidying up

_ENDS: dict[type, TaskState] = {
    Done: TaskState.COMPLETED,
    Reply: TaskState.COMPLETED,
    Failed: TaskState.FAILED,
    Rejected: TaskState.REJECTED,
}
_log = logging.getLogger("frontdesk.agents")


class LocalAgent:
    """Does no I/O until it is asked."""

    def __init__(self, name: str, agent: Working, state: PluginState, clock: Clock, tasks: asyncio.TaskGroup) -> None:
        self._name, self._agent, self._clock, self._group = name, agent, clock, tasks
        self._records = Records(name, state)
        self._tasks: dict[str, LiveTask] = {}
        self._rested: OrderedDict[str, None] = OrderedDict()

    @property
    def name(self) -> str:
        return self._name

    @property
    def at_work(self) -> int:
        return len(self._tasks) - len(self._rested)

    # ------------------------------------------------------------------ the port

    async def send(self, ask: Ask) -> AsyncIterator[TaskEvent]:
        try:
            live, is_new = await self._taken(ask)
        except StoreUnavailable as error:
            raise NotAccepted(str(error), retry_after=error.retry_after) from error
        seen = None
        if is_new and not self._agent.resumable:
            seen = 0
            yield live.snapshot()
        self._begin(live)
        if is_new and self._agent.resumable:
            await self._store_beginning(live)
        async for event in self._follow(live, seen):
            yield event

    async def subscribe(self, task: TaskRef) -> AsyncIterator[TaskEvent]:
        live = await self._known(task.task_id)
        if live.state.is_terminal:
            raise TaskEnded(f"the task is {live.state.value}")
        self._begin(live)
        async for event in self._follow(live, None):
            yield event

    async def get(self, task: TaskRef) -> Snapshot:
        live = await self._known(task.task_id)
        self._begin(live)
        return live.snapshot()

    async def cancel(self, task: TaskRef) -> Snapshot | None:
        live = await self._known(task.task_id)
        if live.state.is_terminal:
            raise TaskEnded(f"the task is {live.state.value}")
        live.is_cancelled = True
        if live.worker is not None and not live.worker.done():
            live.worker.cancel()
            await asyncio.wait((live.worker,), timeout=CANCEL_LIMIT)
            if not live.worker.done():
                raise CancelRefused(f"agent {self._name} did not stop within {CANCEL_LIMIT:.0f} s")
        is_read = live.worker is not None and not live.state.is_interrupted
        self._rest(live, TaskState.CANCELED)  # unless it came to another end; a worker cancelled unbegun comes to none
        if not is_read:
            await self._forget(live)
        return live.snapshot()

    async def find(self, context_id: str | None, message_id: str) -> Snapshot | None:
        del context_id  # the message alone says which task
        for live in self._tasks.values():
            if live.record.message_id == message_id:
                return live.snapshot()
        try:
            task_id = await self._records.task_continued_by(message_id) or task_of(message_id)
            found = await self._records.read(task_id)
        except StoreUnavailable as error:
            raise Unreachable(str(error)) from error
        return LiveTask(*found).snapshot() if found and found[0].message_id == message_id else None

    # ------------------------------------------------------------------ which task

    def binding_of(self, task_id: str) -> str:
        del task_id
        return ""

    async def _taken(self, ask: Ask) -> tuple[LiveTask, bool]:
        """The task that the message starts, continues, or was taken by before; True when it is a new one."""
        if ask.task_id is not None:
            return await self._continued(ask, ask.task_id), False
        task_id = task_of(ask.message_id)
        if known := self._tasks.get(task_id) or await self._revived(task_id):
            return known, False
        if self.at_work >= RUNNING_MOST:
            raise NotAccepted(f"agent {self._name} has {RUNNING_MOST} tasks at work", retry_after=BUSY_RETRY)
        context_id = ask.context_id or f"context-{ask.message_id}"
        record = TaskRecord(task_id, context_id, ask.message_id, ask.parts, self._clock.now(), origin=ask.origin)
        live = self._tasks[task_id] = LiveTask(record)
        return live, True

    async def _continued(self, ask: Ask, task_id: str) -> LiveTask:
        live = self._tasks.get(task_id) or await self._revived(task_id)
        if live is None:
            raise TaskUnknown(f"agent {self._name} knows no task {task_id}")
        async with live.writing:
            if (known := self._tasks.get(task_id, live)).record.message_id == ask.message_id:
                return known
            if known.state.is_terminal:
                raise TaskEnded(f"the task is {known.state.value}")
            if known is not live or not live.state.is_interrupted:
                raise Declined("the task is at work and waits for no answer")
            record = self._answered(live, ask)
            version = await self._records.write(record, live.version)
            if not version:
                raise Declined("another message was taken as the answer")
            await self._records.continued(ask.message_id, task_id)
            with suppress(StoreUnavailable):  # then it stays, and leads to a record that says otherwise
                await self._records.discontinued(live.record)
            self._rested.pop(task_id, None)
            self._tasks[task_id] = LiveTask(record, version)
            return self._tasks[task_id]

    def _answered(self, live: LiveTask, ask: Ask) -> TaskRecord:
        return replace(
            live.record,
            message_id=ask.message_id,
            parts=ask.parts,
            origin=ask.origin,
            time=later(live.time, self._clock.now()),
            task_state=TaskState.WORKING,
            run=live.record.run + 1,
            words="",
            question="",
        )

    async def _known(self, task_id: str) -> LiveTask:
        try:
            live = self._tasks.get(task_id) or await self._revived(task_id)
        except StoreUnavailable as error:
            raise Unreachable(str(error)) from error
        if live is None:
            raise TaskUnknown(f"agent {self._name} knows no task {task_id} (any more)")
        return live

    async def _revived(self, task_id: str) -> LiveTask | None:
        """A task from before a restart, or one that rested long ago; None where nothing goes on."""
        found = await self._records.read(task_id)
        if (meanwhile := self._tasks.get(task_id)) is not None or found is None:
            return meanwhile
        live = LiveTask(*found)
        if not live.rests and not self._agent.resumable:
            await self._forget(live)
            return None
        self._tasks[task_id] = live
        if live.rests:
            self._keep_rested(live)
        return live

    # ------------------------------------------------------------------ the stream

    async def _follow(self, live: LiveTask, seen: int | None) -> AsyncIterator[TaskEvent]:
        """A Snapshot (unless the reader saw that many chunks already), each news as it comes, and how it rests."""
        if seen is None:
            seen, is_last = len(live.said), live.is_done
            yield live.end() if is_last else live.snapshot()
            if is_last:
                await self._told(live)
                return
        while not live.is_done:
            news = live.news
            if len(live.said) > seen:
                update, seen = live.update(seen)
                yield update
            else:
                await news.wait()
        while len(live.said) > seen and isinstance(live.said[seen], Parts):
            update, seen = live.update(seen)
            yield update
        if not live.is_lost:
            yield live.end()
            await self._told(live)

    async def _told(self, live: LiveTask) -> None:
        """The reader asked for more after the last word, so it has that one for good."""
        if live.state.is_terminal:
            await self._forget(live)

    async def _forget(self, live: LiveTask) -> None:
        if live.version:
            version, live.version = live.version, 0
            with suppress(StoreUnavailable):
                await self._records.forget(live.record, version)

    # ------------------------------------------------------------------ the work

    def _begin(self, live: LiveTask) -> None:
        if live.worker is None and not live.is_done:
            name = f"agent {self._name} {live.record.task_id}"
            live.worker = self._group.create_task(self._work(live), name=name)

    async def _store_beginning(self, live: LiveTask) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(MOMENT):
                await live.until_done()
        async with live.writing:
            if not live.version and not live.is_done:
                await self._write(live, live.record)

    async def _work(self, live: LiveTask) -> None:
        """Where the failure of a task ends: what foreign code raises fails that task and no other."""
        record = live.record
        task = Task(text_lines(record.parts), dict(record.state), record.parts, record.origin)
        try:
            async with aclosing(self._agent.work(task)) as steps:  # type: ignore[type-var]
                async for step in steps:
                    await self._take(live, step)
                    if live.is_done:
                        return
                    await asyncio.sleep(0)  # an agent that never waits must not hold up everybody else
            self._rest(live, TaskState.COMPLETED)
        except asyncio.CancelledError:
            if not live.is_cancelled:
                raise
            self._rest(live, TaskState.CANCELED)
        except Exception as error:
            _log.error("agent %s failed in %s", self._name, record.task_id, exc_info=error)
            self._rest(live, TaskState.FAILED)

    async def _take(self, live: LiveTask, step: Step) -> None:
        match step:
            case Words(text):
                if live.size + len(text) > WORDS_MOST:
                    raise ValueError(f"the answer is longer than {WORDS_MOST} characters")
                if text:
                    live.say(text)
            case Parts():
                if live.size + size_of(step) > WORDS_MOST:
                    raise ValueError(f"the answer is longer than {WORDS_MOST} characters and bytes")
                live.show(step)
            case Done(text) | Failed(text) | Rejected(text) | Reply(text):
                live.last_word = text
                live.is_reply = isinstance(step, Reply) and not live.said
                self._rest(live, _ENDS[type(step)])
            case Checkpoint(state):
                await self._checkpoint(live, state)
            case Question(text, state):
                async with live.writing:
                    await self._write(live, asking(live, text, state, self._clock.now()))
                self._rest(live, TaskState.INPUT_REQUIRED, live.record.time)
            case _:
                raise TypeError(f"{type(step).__name__} is none of the steps that gateway/agents/contract.py knows")

    async def _checkpoint(self, live: LiveTask, state: dict[str, object]) -> None:
        record = replace(live.record, state=state, words=live.words(), artifacts=live.artifacts())
        if not self._agent.resumable:
            live.record = record  # for the next question; nobody goes on from here
            return
        async with live.writing:
            await self._write(live, record)

    async def _write(self, live: LiveTask, record: TaskRecord) -> None:
        if version := await self._records.write(record, live.version):
            live.record, live.version = record, version
        else:
            live.lose()
            self._tasks.pop(record.task_id, None)

    def _rest(self, live: LiveTask, state: TaskState, time: Instant | None = None) -> None:
        live.rest(state, self._clock.now() if time is None else time)
        if self._tasks.get(live.record.task_id) is live:
            self._keep_rested(live)

    def _keep_rested(self, live: LiveTask) -> None:
        self._rested[live.record.task_id] = None
        while len(self._rested) > RESTED_KEPT:
            self._tasks.pop(self._rested.popitem(last=False)[0], None)


def task_of(message_id: str) -> str:
    return f"task-{message_id}"


def text_lines(parts: tuple[Part, ...]) -> str:
    """The words of messages that came as one, a line each."""
    return "\n".join(part.text for part in parts if isinstance(part, Text))
