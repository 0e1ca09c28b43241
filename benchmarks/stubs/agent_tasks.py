"""What the stub agent remembers, and how it says it: tasks in the shapes of A2A 1.0, JSON binding.

The oldest tasks are forgotten beyond a bound, so that a long run measures the gateway and not this program's memory.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

KEPT_TASKS = 100_000
PAGE = 100  # tasks that ListTasks returns at most
ECHO = "echo: "

Json = dict[str, Any]


@dataclass(slots=True)
class Task:
    """One message and what becomes of it; `state` without the protocol's prefix."""

    id: str
    context: str
    message: Json
    state: str = "SUBMITTED"

    @property
    def text(self) -> str:
        return ECHO + "".join(part.get("text", "") for part in self.message["parts"])

    @property
    def is_terminal(self) -> bool:
        return self.state in ("COMPLETED", "CANCELED")

    @property
    def status(self) -> Json:
        return {"state": f"TASK_STATE_{self.state}"}

    def whole(self, *, history: bool = False, artifacts: bool = True) -> Json:
        task: Json = {"id": self.id, "contextId": self.context, "status": self.status}
        if artifacts and self.state == "COMPLETED":
            task["artifacts"] = [{"artifactId": "answer", "parts": [{"text": self.text}]}]
        if history:
            task["history"] = [self.message]
        return task

    def status_update(self) -> Json:
        return {"statusUpdate": {"taskId": self.id, "contextId": self.context, "status": self.status}}

    def chunks(self, count: int) -> list[Json]:
        """The answer as `count` appended pieces of one artifact."""
        text, size = self.text, max(1, -(-len(self.text) // count))
        return [
            {
                "artifactUpdate": {
                    "taskId": self.id,
                    "contextId": self.context,
                    "append": number > 0,
                    "lastChunk": number == count - 1,
                    "artifact": {
                        "artifactId": "answer",
                        "parts": [{"text": text[number * size : (number + 1) * size]}],
                    },
                }
            }
            for number in range(count)
        ]


class Tasks:
    """Every task by id and by context, newest last."""

    def __init__(self) -> None:
        self._all: OrderedDict[str, Task] = OrderedDict()
        self._contexts: dict[str, list[str]] = {}

    def begin(self, message: Json, nth: int) -> Task:
        """`nth`: how often this messageId has been sent; a repetition makes a task of its own."""
        name = message["messageId"] if nth == 1 else f"{message['messageId']}-{nth}"
        task = Task(f"task-{name}", message.get("contextId") or f"context-{name}", message)
        self._all[task.id] = task
        self._contexts.setdefault(task.context, []).append(task.id)
        if len(self._all) > KEPT_TASKS:
            self._forget_oldest()
        return task

    def get(self, name: str | None) -> Task | None:
        return self._all.get(name or "")

    def of(self, context: str | None) -> list[Task]:
        """The newest of one context, or of all, newest first."""
        names = self._contexts.get(context, []) if context else list(self._all)
        return [self._all[name] for name in reversed(names[-PAGE:])]

    def _forget_oldest(self) -> None:
        name, task = self._all.popitem(last=False)
        names = self._contexts[task.context]
        names.remove(name)
        if not names:
            del self._contexts[task.context]
