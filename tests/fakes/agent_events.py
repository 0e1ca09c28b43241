"""What a scripted agent may yield: A2A 1.0 events, and things that go wrong on their way.

An event is written once, as a test means it, and changes the agent's own task and goes to every open stream. The
wrappers separate the two: `only_streamed` lies to the listeners, `only_stored` keeps a truth from them.
"""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any
from uuid import uuid4

TERMINAL = frozenset({"COMPLETED", "FAILED", "CANCELED", "REJECTED"})
INTERRUPTED = frozenset({"INPUT_REQUIRED", "AUTH_REQUIRED"})


class Kind(Enum):
    TASK = "task"
    STATUS = "statusUpdate"
    ARTIFACT = "artifactUpdate"
    MESSAGE = "message"
    BYTES = "bytes"  # written to the streams as they are
    CUT = "cut"  # the streams' connections break
    END = "end"  # the streams end cleanly


@dataclass(frozen=True, slots=True)
class Event:
    kind: Kind
    body: Mapping[str, Any] = field(default_factory=dict)
    raw: bytes = b""
    stored: bool = True
    streamed: bool = True
    task_id: str | None = None  # on the wire in place of the task's own
    context_id: str | None = None  # on the wire in place of the task's own; "" leaves it empty

    @property
    def is_wire_only(self) -> bool:
        """Whether it says nothing about a task."""
        return self.kind in (Kind.BYTES, Kind.CUT, Kind.END)


def now() -> str:
    """RFC 3339, UTC, milliseconds (A2A 1.0, TaskStatus.timestamp)."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def agent_message(text: str) -> dict[str, Any]:
    return {"messageId": f"agent-{uuid4()}", "role": "ROLE_AGENT", "parts": [{"text": text}]}


def task() -> Event:
    """The whole task as it is, which makes the task known to the caller (SUBMITTED at first)."""
    return Event(Kind.TASK)


def status(state: str, text: str | None = None, *, timestamp: str | None = None) -> Event:
    """`state` without the prefix TASK_STATE_; `text` becomes status.message."""
    body: dict[str, Any] = {"state": f"TASK_STATE_{state}", "timestamp": timestamp or now()}
    if text is not None:
        body["message"] = agent_message(text)
    return Event(Kind.STATUS, {"status": body})


def working(text: str | None = None) -> Event:
    return status("WORKING", text)


def completed(text: str | None = None) -> Event:
    return status("COMPLETED", text)


def failed(text: str | None = None) -> Event:
    return status("FAILED", text)


def rejected(text: str | None = None) -> Event:
    return status("REJECTED", text)


def canceled(text: str | None = None) -> Event:
    return status("CANCELED", text)


def input_required(question: str) -> Event:
    return status("INPUT_REQUIRED", question)


def auth_required(text: str) -> Event:
    return status("AUTH_REQUIRED", text)


def artifact(text: str, id: str = "answer", *, append: bool = False, last: bool = False, name: str = "") -> Event:
    """A text artifact or a chunk of one; `append` extends what `id` holds, `last` seals it."""
    return artifact_parts([{"text": text}], id, append=append, last=last, name=name)


def artifact_parts(
    parts: list[dict[str, Any]], id: str = "answer", *, append: bool = False, last: bool = False, name: str = ""
) -> Event:
    """An artifact of any parts."""
    body: dict[str, Any] = {"artifactId": id, "parts": parts, **({"name": name} if name else {})}
    return Event(Kind.ARTIFACT, {"artifact": body, "append": append, "lastChunk": last})


def message(text: str) -> Event:
    """The bare Message that answers without a task; as the first event it makes none."""
    return Event(Kind.MESSAGE, agent_message(text))


def raw_bytes(text: bytes) -> Event:
    """Written into the open streams as it is: a comment, half a frame, a frame that is no JSON."""
    return Event(Kind.BYTES, raw=text)


def cut() -> Event:
    """Break the connections that listen now; the work goes on."""
    return Event(Kind.CUT)


def end_stream() -> Event:
    """End the open streams cleanly, as a load balancer does at its limit; the work goes on."""
    return Event(Kind.END)


def only_streamed(event: Event, *, task_id: str | None = None, context_id: str | None = None) -> Event:
    """Listeners see it, GetTask does not; the ids replace the real ones on the wire."""
    return replace(event, stored=False, task_id=task_id, context_id=context_id)


def only_stored(event: Event) -> Event:
    """GetTask sees it, listeners do not."""
    return replace(event, streamed=False)


def with_ids(event: Event, *, task_id: str | None = None, context_id: str | None = None) -> Event:
    """Stored rightly, but other ids on the wire; `context_id=""` sends an empty one."""
    return replace(event, task_id=task_id, context_id=context_id)
