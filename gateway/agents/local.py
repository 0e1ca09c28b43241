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
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace

from core.agent import Ask, Snapshot, TaskEvent, TaskRef, TaskState
from core.clock import Clock
from core.errors import (
    CancelRefused,
    Declined,
    NotAccepted,
    StoreUnavailable,
    TaskEnded,
    TaskUnknown,
    Unreachable,
)
from core.plugin import PluginState
from gateway.agents.contract import Working
from gateway.agents.known import KnownTasks, task_of
from gateway.agents.live import LiveTask, later
from gateway.agents.records import Records, TaskRecord
from gateway.agents.run import Run

MOMENT = 0.05  # seconds; what is done sooner leaves no trace in the store
RUNNING_MOST = 1000  # tasks at work; past it a message is not accepted, and comes again
BUSY_RETRY = 2.0  # seconds
CANCEL_LIMIT = 5.0  # seconds that a cancelled agent may take for tidying up


class LocalAgent:
    """Does no I/O until it is asked."""

    def __init__(self, name: str, agent: Working, state: PluginState, clock: Clock, tasks: asyncio.TaskGroup) -> None:
        self._name, self._agent, self._clock, self._group = name, agent, clock, tasks
        self._records = Records(name, state)
        self._known = KnownTasks(self._records, clock, are_resumable=agent.resumable)

    @property
    def name(self) -> str:
        return self._name

    @property
    def at_work(self) -> int:
        return self._known.at_work

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
        live = await self._asked_for(task.task_id)
        if live.state.is_terminal:
            raise TaskEnded(f"the task is {live.state.value}")
        self._begin(live)
        async for event in self._follow(live, None):
            yield event

    async def get(self, task: TaskRef) -> Snapshot:
        live = await self._asked_for(task.task_id)
        self._begin(live)
        return live.snapshot()

    async def cancel(self, task: TaskRef) -> Snapshot | None:
        live = await self._asked_for(task.task_id)
        if live.state.is_terminal:
            raise TaskEnded(f"the task is {live.state.value}")
        live.is_cancelled = True
        if live.worker is not None and not live.worker.done():
            live.worker.cancel()
            await asyncio.wait((live.worker,), timeout=CANCEL_LIMIT)
            if not live.worker.done():
                raise CancelRefused(f"agent {self._name} did not stop within {CANCEL_LIMIT:.0f} s")
        is_read = live.worker is not None and not live.state.is_interrupted
        self._known.rest(live, TaskState.CANCELED)  # a worker cancelled unbegun comes to no end by itself
        if not is_read:
            await self._known.forget(live)
        return live.snapshot()

    async def find(self, context_id: str | None, message_id: str) -> Snapshot | None:
        del context_id  # the message alone says which task
        try:
            live = await self._known.taken_by(message_id)
        except StoreUnavailable as error:
            raise Unreachable(str(error)) from error
        return live.snapshot() if live is not None else None

    # ------------------------------------------------------------------ which task

    def binding_of(self, task_id: str) -> str:
        del task_id
        return ""

    async def _taken(self, ask: Ask) -> tuple[LiveTask, bool]:
        """The task that the message starts, continues, or was taken by before; True when it is a new one."""
        if ask.task_id is not None:
            return await self._continued(ask, ask.task_id), False
        task_id = task_of(ask.message_id)
        if (known := await self._known.find(task_id)) is not None:
            return known, False
        if self.at_work >= RUNNING_MOST:
            raise NotAccepted(f"agent {self._name} has {RUNNING_MOST} tasks at work", retry_after=BUSY_RETRY)
        context_id = ask.context_id or f"context-{ask.message_id}"
        record = TaskRecord(
            task_id,
            context_id,
            ask.message_id,
            ask.parts,
            self._clock.now(),
            origin=ask.origin,
            forwarded=ask.forwarded,
        )
        return self._known.begin(LiveTask(record)), True

    async def _continued(self, ask: Ask, task_id: str) -> LiveTask:
        live = await self._known.find(task_id)
        if live is None:
            raise TaskUnknown(f"agent {self._name} knows no task {task_id}")
        async with live.writing:
            if (known := self._known.get(task_id, live)).record.message_id == ask.message_id:
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
            return self._known.begin(LiveTask(record, version))

    def _answered(self, live: LiveTask, ask: Ask) -> TaskRecord:
        return replace(
            live.record,
            message_id=ask.message_id,
            parts=ask.parts,
            origin=ask.origin,
            forwarded=ask.forwarded,
            time=later(live.time, self._clock.now()),
            task_state=TaskState.WORKING,
            run=live.record.run + 1,
            words="",
            question="",
        )

    async def _asked_for(self, task_id: str) -> LiveTask:
        try:
            live = await self._known.find(task_id)
        except StoreUnavailable as error:
            raise Unreachable(str(error)) from error
        if live is None:
            raise TaskUnknown(f"agent {self._name} knows no task {task_id} (any more)")
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
        while len(live.said) > seen:
            update, seen = live.update(seen)
            yield update
        if not live.is_lost:
            yield live.end()
            await self._told(live)

    async def _told(self, live: LiveTask) -> None:
        """The reader asked for more after the last word, so it has that one for good."""
        if live.state.is_terminal:
            await self._known.forget(live)

    # ------------------------------------------------------------------ the work

    def _begin(self, live: LiveTask) -> None:
        if live.worker is None and not live.is_done:
            name = f"agent {self._name} {live.record.task_id}"
            run = Run(self._name, self._agent, live, self._known, self._clock)
            live.worker = self._group.create_task(run.work(), name=name)

    async def _store_beginning(self, live: LiveTask) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(MOMENT):
                await live.until_done()
        async with live.writing:
            if not live.version and not live.is_done:
                await self._known.write(live, live.record)
