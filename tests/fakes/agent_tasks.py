"""The scripted agent's tasks: what each holds, how an event changes it, and who listens.

After A2A 1.0 (sections 3.1, 4.1): artifacts are assembled by id, a status message moves into the history when the next
one supersedes it, terminal is final. Listeners get every event from their subscription on, in the same order.
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.agent_events import INTERRUPTED, TERMINAL, Event, Kind, now

PREFIX = "TASK_STATE_"


@dataclass(frozen=True, slots=True)
class Frame:
    """An event as it stood when it happened; a snapshot must not show what came after it."""

    kind: Kind
    body: dict[str, Any] = field(default_factory=dict)  # the StreamResponse
    raw: bytes = b""
    streamed: bool = True

    @property
    def state(self) -> str:
        """The task state it tells of, without the prefix; "" when it tells of none."""
        told = self.body.get("statusUpdate") or self.body.get("task") or {}
        return str(told.get("status", {}).get("state", "")).removeprefix(PREFIX)


@dataclass(eq=False, slots=True)
class Listener:
    """One open stream, or one call that waits for an answer."""

    frames: asyncio.Queue[Frame] = field(default_factory=asyncio.Queue)


@dataclass(eq=False, slots=True)
class AgentTask:
    id: str
    context_id: str
    state: str = "SUBMITTED"  # without the prefix
    status: dict[str, Any] = field(default_factory=lambda: {"state": f"{PREFIX}SUBMITTED", "timestamp": now()})
    artifacts: dict[str, dict[str, Any]] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)  # what its statuses brought, as a2a-sdk 1.3.0 keeps it
    cancel_asked: asyncio.Event = field(default_factory=asyncio.Event)
    terminal_is_final: bool = True

    @property
    def is_terminal(self) -> bool:
        return self.state in TERMINAL

    @property
    def is_interrupted(self) -> bool:
        return self.state in INTERRUPTED

    @property
    def text(self) -> str:
        """The text of all artifacts, in order, joined verbatim."""
        return "".join(part.get("text", "") for held in self.artifacts.values() for part in held["parts"])

    def wire(self, *, history: int | None = None, artifacts: bool = True) -> dict[str, Any]:
        """The Task object; `history` is historyLength: None all, 0 none, n the newest n."""
        body: dict[str, Any] = {"id": self.id, "contextId": self.context_id, "status": dict(self.status)}
        if artifacts and self.artifacts:
            body["artifacts"] = [{**held, "parts": list(held["parts"])} for held in self.artifacts.values()]
        kept = self.history if history is None else self.history[len(self.history) - min(history, len(self.history)) :]
        if kept:
            body["history"] = list(kept)
        if self.metadata:
            body["metadata"] = dict(self.metadata)
        return body

    def take(self, message: Mapping[str, Any]) -> None:
        """The caller's message joins the history, after the question that it answers."""
        self._supersede()
        self.history.append({**message, "taskId": self.id, "contextId": self.context_id})

    def apply(self, event: Event) -> bool:
        """Whether the event counts: nothing changes a terminal task."""
        if self.is_terminal and self.terminal_is_final:
            return False
        if event.kind is Kind.STATUS:
            self._set_status(event.body["status"])
            self.metadata |= event.body.get("metadata", {})
        elif event.kind is Kind.ARTIFACT:
            self._add(event)
        elif event.kind is Kind.MESSAGE:
            self.history.append({**event.body, "taskId": self.id, "contextId": self.context_id})
        return True

    def _set_status(self, status: dict[str, Any]) -> None:
        self._supersede()
        self.status = dict(status)
        if "message" in self.status:
            ids = {"taskId": self.id, "contextId": self.context_id}
            self.status["message"] = {**self.status["message"], **ids}
        self.state = str(status["state"]).removeprefix(PREFIX)

    def _supersede(self) -> None:
        if (superseded := self.status.pop("message", None)) is not None:
            self.history.append(superseded)

    def _add(self, event: Event) -> None:
        new = event.body["artifact"]
        held = self.artifacts.get(new["artifactId"])
        if held is None or not event.body["append"]:
            self.artifacts[new["artifactId"]] = {**new, "parts": list(new["parts"])}
        else:
            held["parts"].extend(new["parts"])

    def frame(self, event: Event) -> Frame:
        """The event as listeners get it, now."""
        body = {} if event.is_wire_only else self._stream_response(event)
        return Frame(event.kind, body, event.raw, event.streamed)

    def _stream_response(self, event: Event) -> dict[str, Any]:
        task_id = self.id if event.task_id is None else event.task_id
        context_id = self.context_id if event.context_id is None else event.context_id
        if event.kind is Kind.TASK:
            return {"task": {**self.wire(), **event.body, "id": task_id, "contextId": context_id}}
        ids = {"taskId": task_id, "contextId": context_id}
        body = dict(event.body)
        if event.kind is Kind.STATUS and "message" in body["status"]:
            body["status"] = {**body["status"], "message": {**body["status"]["message"], **ids}}
        if event.kind is Kind.ARTIFACT:
            body = {name: value for name, value in body.items() if value is not False}
        return {event.kind.value: {**body, **ids}}


class Tasks:
    """All tasks of one agent, oldest first, and their listeners."""

    def __init__(self) -> None:
        self.by_id: dict[str, AgentTask] = {}
        self._listeners: dict[str, list[Listener]] = {}

    def __iter__(self) -> Iterator[AgentTask]:
        return iter(self.by_id.values())

    def listen(self, task_id: str) -> Listener:
        listener = Listener()
        self._listeners.setdefault(task_id, []).append(listener)
        return listener

    def leave(self, task_id: str, listener: Listener) -> None:
        listeners = self._listeners.get(task_id, [])
        if listener in listeners:
            listeners.remove(listener)

    def publish(self, task_id: str, frame: Frame) -> None:
        for listener in tuple(self._listeners.get(task_id, ())):
            listener.frames.put_nowait(frame)

    def forget(self) -> None:
        """Know no task any more, and break the streams of those that were."""
        for task_id in self._listeners:
            self.publish(task_id, Frame(Kind.CUT))
        self.by_id.clear()

    def open_streams(self, task_id: str) -> int:
        return len(self._listeners.get(task_id, ()))
