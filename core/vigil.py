"""Keeping watch over tasks that wait for a sign-in: once credentials have come out of band they go on by themselves.

(A2A 1.0, section 7.6.) The turn ended with the question, so that the person may also answer it; meanwhile the task is
asked after with the patience of polls, over restarts. When it moved on, its turn is put back to work and brings the
result to where the question was asked. The watch ends when the question is answered or closed.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable

from core.agent import TaskRef, TaskState
from core.errors import AgentError, TaskUnknown
from core.helm import Helm
from core.turn import Turn


class Vigils:
    """`rouse` puts a turn back to work, unless its question is not open any more."""

    def __init__(self, helm: Helm, rouse: Callable[[str], Awaitable[None]]) -> None:
        self._helm, self._rouse = helm, rouse
        self._kept: dict[str, asyncio.Event] = {}  # by thread: set when the watch is to end
        self._tasks: dict[tuple[str, str], tuple[str, asyncio.Event]] = {}  # by agent and task: thread, and its watch

    def keep(self, turn: Turn) -> None:
        """Of a turn that ended; those that wait for no sign-in are left alone."""
        task = turn.task
        if task is None or task.state is not TaskState.AUTH_REQUIRED:
            return
        self.end(turn.thread)
        ended = self._kept[turn.thread] = asyncio.Event()
        self._tasks[turn.agent, task.task_id] = turn.thread, ended
        self._helm.spawn(lambda: self._watch(turn, ended), f"vigil {turn.id}")

    def end(self, thread: str) -> None:
        """Somebody answered."""
        ended = self._kept.pop(thread, None)
        if ended is not None:
            ended.set()

    def end_of_task(self, agent: str, task_id: str) -> None:
        """Nobody will answer."""
        thread, _ = self._tasks.pop((agent, task_id), ("", None))
        self.end(thread)

    async def _watch(self, turn: Turn, ended: asyncio.Event) -> None:
        while not ended.is_set():
            try:
                if await self.has_moved(turn):
                    break
            except AgentError as error:
                self._helm.telemetry.event("task.unreachable", turn=turn.id, agent=turn.agent, error=str(error))
            await self._pause(turn, ended)
        if not ended.is_set():
            self._kept.pop(turn.thread, None)
            await self._rouse(turn.id)
        key = (turn.agent, turn.task.task_id if turn.task is not None else "")
        if self._tasks.get(key) == (turn.thread, ended):  # not that of a later question of the same task
            del self._tasks[key]

    async def has_moved(self, turn: Turn) -> bool:
        """Whether its task is not where it asked any more; one that is forgotten is not. Raises other AgentErrors."""
        task, delegate = turn.task, self._helm.delegate(turn)
        if task is None or delegate is None:
            return False
        try:
            found = await delegate.agent.get(TaskRef(task.task_id, task.context_id, task.binding))
        except TaskUnknown:
            return True
        return found.state is not task.state or _is_newer(found.time, task.state_time)

    async def _pause(self, turn: Turn, ended: asyncio.Event) -> None:
        heard = turn.task.heard if turn.task is not None else 0.0
        silence = max(0.0, self._helm.clock.now() - heard)
        try:
            async with asyncio.timeout(self._helm.patience.poll(silence, random.random())):
                await ended.wait()
        except TimeoutError:
            return


def _is_newer(found: float | None, known: float | None) -> bool:
    """Another demand of the same kind: it is shown again."""
    return found is not None and known is not None and found > known
