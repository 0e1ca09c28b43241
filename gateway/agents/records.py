"""What is stored of a local agent's tasks: one record for each that reached a checkpoint or a question.

A record holds words and state as of the checkpoint, never what came after, so that going on from it repeats nothing.
It goes once the caller has the task's final word; then the task is unknown.
"""

import asyncio
import json
from dataclasses import field
from typing import Any

from core.agent import Artifact, TaskState
from core.clock import Instant
from core.errors import StoreUnavailable
from core.parts import Part, part_from_json, part_to_json
from core.plugin import PluginState
from core.values import value


@value(frozen=True, slots=True)
class TaskRecord:
    task_id: str
    context_id: str
    message_id: str  # of the message that started or last continued it
    parts: tuple[Part, ...]  # of that message
    time: Instant
    task_state: TaskState = TaskState.WORKING
    run: int = 1  # grows with each answered question
    state: dict[str, Any] = field(default_factory=dict)  # the author's
    words: str = ""
    question: str = ""
    artifacts: tuple[Artifact, ...] = ()  # beside the words
    origin: str = ""  # what the channel calls the message
    forwarded: tuple[int, ...] = ()  # which of the parts their sender passed on and did not write

    def to_json(self) -> str:
        value = {
            "task": self.task_id,
            "context": self.context_id,
            "message": self.message_id,
            "parts": [part_to_json(part) for part in self.parts],
            "time": self.time,
            "task_state": self.task_state.value,
            "run": self.run,
            "state": self.state,
            "words": self.words,
            "question": self.question,
            "origin": self.origin,
            "forwarded": self.forwarded,
            "artifacts": [
                {"id": one.id, "name": one.name, "parts": [part_to_json(part) for part in one.parts]}
                for one in self.artifacts
            ],
        }
        return json.dumps(value, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "TaskRecord":
        value = json.loads(text)
        return cls(
            task_id=value["task"],
            context_id=value["context"],
            message_id=value["message"],
            parts=tuple(part_from_json(part) for part in value["parts"]),
            time=value["time"],
            task_state=TaskState(value["task_state"]),
            run=value["run"],
            state=value["state"],
            words=value["words"],
            question=value["question"],
            origin=value.get("origin", ""),
            forwarded=tuple(value.get("forwarded", ())),
            artifacts=tuple(
                Artifact(one["id"], tuple(map(part_from_json, one["parts"])), one["name"])
                for one in value.get("artifacts", ())
            ),
        )


class Records:
    """One agent's records in the plugin state, beside which no plugin account can be: its name holds a slash."""

    def __init__(self, agent: str, state: PluginState) -> None:
        self._account, self._state = f"agents/{agent}", state

    async def read(self, task_id: str) -> tuple[TaskRecord, int] | None:
        """The record and its version. Raises StoreUnavailable."""
        found = await self._state.read(self._account, f"task/{task_id}")
        return (TaskRecord.from_json(found[0]), found[1]) if found else None

    async def write(self, record: TaskRecord, version: int) -> int:
        """The record's next version, 0 when somebody else wrote since `version` (0: there is no record).

        Waits for the store, however long that takes.
        """
        return version + 1 if await self._write(f"task/{record.task_id}", record.to_json(), version) else 0

    async def forget(self, record: TaskRecord, version: int) -> None:
        """The task has ended. Raises StoreUnavailable; a record that stays is one that nobody asks for."""
        await self._state.forget(self._account, f"task/{record.task_id}", version=version)
        await self.discontinued(record)

    async def task_continued_by(self, message_id: str) -> str:
        """The task that this message was an answer to, "" when it is not known to be one. Raises StoreUnavailable."""
        found = await self._state.read(self._account, f"answer/{message_id}")
        return found[0] if found else ""

    async def continued(self, message_id: str, task_id: str) -> None:
        await self._write(f"answer/{message_id}", task_id, 0)

    async def discontinued(self, record: TaskRecord) -> None:
        """The record goes on without the answer that continued it last. Raises StoreUnavailable."""
        if record.run > 1:
            await self._state.forget(self._account, f"answer/{record.message_id}", version=1)

    async def _write(self, name: str, value: str, version: int) -> bool:
        while True:
            try:
                return await self._state.write(self._account, name, value, version=version)
            except StoreUnavailable as error:
                await asyncio.sleep(error.retry_after)
