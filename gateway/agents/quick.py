"""A local agent that answers at once (see contract.py), as the core's Agent: a bare message, nothing stored."""

import asyncio
from collections.abc import AsyncIterator

from core.agent import Ask, Reply, Snapshot, TaskEvent, TaskRef
from core.errors import Declined, TaskUnknown
from core.parts import Text
from gateway.agents.contract import Answering, Task
from gateway.agents.run import text_lines

ANSWER_LIMIT = 30.0  # seconds; who needs longer is to work on a task, which can be followed and cancelled


class QuickAgent:
    """Asking again is always safe, so its delegate resubmits, and there is nothing to find."""

    def __init__(self, name: str, agent: Answering) -> None:
        self._name, self._agent = name, agent

    @property
    def name(self) -> str:
        return self._name

    async def send(self, ask: Ask) -> AsyncIterator[TaskEvent]:
        try:
            async with asyncio.timeout(ANSWER_LIMIT):
                text = await self._agent.answer(Task(text_lines(ask.parts), {}, ask.parts, ask.origin, ask.forwarded))
        except TimeoutError as error:
            raise Declined(f"agent {self._name} gave no answer within {ANSWER_LIMIT:.0f} s") from error
        yield Reply(f"reply-{ask.message_id}", ask.context_id or "", (Text(text),))

    async def subscribe(self, task: TaskRef) -> AsyncIterator[TaskEvent]:
        yield await self.get(task)

    async def get(self, task: TaskRef) -> Snapshot:
        raise self._unknown(task)

    async def cancel(self, task: TaskRef) -> Snapshot | None:
        raise self._unknown(task)

    async def find(self, context_id: str | None, message_id: str) -> Snapshot | None:
        del context_id, message_id
        return None

    def binding_of(self, task_id: str) -> str:
        del task_id
        return ""

    def _unknown(self, task: TaskRef) -> TaskUnknown:
        return TaskUnknown(f"agent {self._name} makes no tasks, and knows none called {task.task_id}")
