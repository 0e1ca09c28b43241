"""The tasks that a local agent knows: those at work, the ones that rested last, and behind them what is stored."""

from collections import OrderedDict
from contextlib import suppress

from core.agent import TaskState
from core.clock import Clock, Instant
from core.errors import StoreUnavailable
from gateway.agents.live import LiveTask
from gateway.agents.records import Records, TaskRecord

RESTED_KEPT = 32  # ended or asking tasks still in memory, for a reader that comes late


class KnownTasks:
    """Of one agent. A task that is not resumable is forgotten by a restart, unless it waits for an answer."""

    def __init__(self, records: Records, clock: Clock, *, are_resumable: bool) -> None:
        self._records, self._clock, self._are_resumable = records, clock, are_resumable
        self._tasks: dict[str, LiveTask] = {}
        self._rested: OrderedDict[str, None] = OrderedDict()

    @property
    def at_work(self) -> int:
        return len(self._tasks) - len(self._rested)

    def get(self, task_id: str, default: LiveTask) -> LiveTask:
        """As it is in memory."""
        return self._tasks.get(task_id, default)

    def begin(self, live: LiveTask) -> LiveTask:
        """It is at work from now on, in place of one of this id that rested."""
        task_id = live.record.task_id
        self._rested.pop(task_id, None)
        self._tasks[task_id] = live
        return live

    async def find(self, task_id: str) -> LiveTask | None:
        """Also one from before a restart, or one that rested long ago; None where nothing goes on.

        Raises StoreUnavailable.
        """
        if (known := self._tasks.get(task_id)) is not None:
            return known
        found = await self._records.read(task_id)
        if (meanwhile := self._tasks.get(task_id)) is not None or found is None:
            return meanwhile
        live = LiveTask(*found)
        if not live.rests and not self._are_resumable:
            await self.forget(live)
            return None
        self._tasks[task_id] = live
        if live.rests:
            self._keep_rested(live)
        return live

    async def taken_by(self, message_id: str) -> LiveTask | None:
        """The task that this message started, or continued last. Raises StoreUnavailable."""
        for live in self._tasks.values():
            if live.record.message_id == message_id:
                return live
        task_id = await self._records.task_continued_by(message_id) or task_of(message_id)
        found = await self._records.read(task_id)
        return LiveTask(*found) if found and found[0].message_id == message_id else None

    def rest(self, live: LiveTask, state: TaskState, time: Instant | None = None) -> None:
        """Unless it came to another end before; `time` None: now."""
        live.rest(state, self._clock.now() if time is None else time)
        if self._tasks.get(live.record.task_id) is live:
            self._keep_rested(live)

    async def write(self, live: LiveTask, record: TaskRecord) -> None:
        """Where another process wrote meanwhile, that one goes on with the task. The task's `writing` is held."""
        if version := await self._records.write(record, live.version):
            live.record, live.version = record, version
        else:
            live.lose()
            self._tasks.pop(record.task_id, None)

    async def forget(self, live: LiveTask) -> None:
        """Nobody will ask for its record any more."""
        if live.version:
            version, live.version = live.version, 0
            with suppress(StoreUnavailable):
                await self._records.forget(live.record, version)

    def _keep_rested(self, live: LiveTask) -> None:
        self._rested[live.record.task_id] = None
        while len(self._rested) > RESTED_KEPT:
            self._tasks.pop(self._rested.popitem(last=False)[0], None)


def task_of(message_id: str) -> str:
    return f"task-{message_id}"
