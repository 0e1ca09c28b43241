"""One run of a local agent on a task, up to its end or a question: steps are taken as they come, and stored at need."""

import asyncio
import logging
from contextlib import aclosing
from dataclasses import replace

from core.agent import TaskState
from core.clock import Clock
from core.parts import Part, Text
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
from gateway.agents.known import KnownTasks
from gateway.agents.live import LiveTask, asking, size_of

WORDS_MOST = 1 << 20  # characters of one answer; past it the task fails
STEPS_AT_ONCE = 32  # of an agent that never waits, before everybody else has a turn

_ENDS: dict[type, TaskState] = {
    Done: TaskState.COMPLETED,
    Reply: TaskState.COMPLETED,
    Failed: TaskState.FAILED,
    Rejected: TaskState.REJECTED,
}
_log = logging.getLogger("frontdesk.agents")


class Run:
    """The work goes on whether anybody reads of it or not."""

    def __init__(self, name: str, agent: Working, live: LiveTask, known: KnownTasks, clock: Clock) -> None:
        self._name, self._agent, self._live, self._known, self._clock = name, agent, live, known, clock

    async def work(self) -> None:
        """Where the failure of a task ends: what foreign code raises fails that task and no other."""
        live, record = self._live, self._live.record
        task = Task(text_lines(record.parts), dict(record.state), record.parts, record.origin, record.forwarded)
        try:
            async with aclosing(self._agent.work(task)) as steps:  # type: ignore[type-var]
                taken = 0
                async for step in steps:
                    await self._take(step)
                    if live.is_done:
                        return
                    taken += 1
                    if not taken % STEPS_AT_ONCE:
                        await asyncio.sleep(0)
            self._known.rest(live, TaskState.COMPLETED)
        except asyncio.CancelledError:
            if not live.is_cancelled:
                raise
            self._known.rest(live, TaskState.CANCELED)
        except Exception as error:
            _log.error("agent %s failed in %s", self._name, record.task_id, exc_info=error)
            self._known.rest(live, TaskState.FAILED)

    async def _take(self, step: Step) -> None:
        live = self._live
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
                self._known.rest(live, _ENDS[type(step)])
            case Checkpoint(state):
                await self._checkpoint(state)
            case Question(text, state):
                async with live.writing:
                    await self._known.write(live, asking(live, text, state, self._clock.now()))
                self._known.rest(live, TaskState.INPUT_REQUIRED, live.record.time)
            case _:
                raise TypeError(f"{type(step).__name__} is none of the steps that gateway/agents/contract.py knows")

    async def _checkpoint(self, state: dict[str, object]) -> None:
        live = self._live
        record = replace(live.record, state=state, words=live.words(), artifacts=live.artifacts())
        if not self._agent.resumable:
            live.record = record  # for the next question; nobody goes on from here
            return
        async with live.writing:
            await self._known.write(live, record)


def text_lines(parts: tuple[Part, ...]) -> str:
    """The words of messages that came as one, a line each."""
    return "\n".join(part.text for part in parts if isinstance(part, Text))
