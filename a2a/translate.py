"""From the words of A2A 1.0 to ours and back: the only place that knows both.

Pure functions. What an agent says is taken leniently where that is safe (a missing contextId is the one we know, an
unreadable timestamp is none, an unknown kind of part is left out) and refused where a guess could do harm: a state
nobody knows, an event without its content. File bytes are passed on as far as SENT_MOST and BYTES_MOST go, and data as
deep as `nesting.DEEPEST`; of what is more, only that it was there. A URL is passed on as text and never fetched.
"""

import binascii
from base64 import b64decode, b64encode
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from msgspec import UNSET

from a2a import wire
from a2a.nesting import nests_too_deep
from a2a.wire import OffProtocol
from core.agent import Artifact, ArtifactUpdate, Ask, Metadata, Reply, Snapshot, StatusUpdate, TaskEvent, TaskState
from core.clock import Instant
from core.parts import Attached, Data, File, Part, Text
from core.push import Push

OUTPUT_MODES = ("text/plain", "text/markdown", "application/json")  # what a chat can show; a wish, not a filter
OCTETS = "application/octet-stream"
HOPS = "frontdesk/hops"  # in a message's metadata: how many gateways it has passed through
FORWARDED = "frontdesk/forwarded"  # there too: which of the parts, from 0, their sender passed on and did not write
TOO_DEEP = "[data left out: nested too deep]"
SENT_MOST = 10 << 20  # bytes of files inside one message to an agent, all together: as much as one file may have
BYTES_MOST = 1 << 20  # bytes of files inside one message or artifact, all together: what is kept in a database's rows

STATES = {
    "TASK_STATE_SUBMITTED": TaskState.SUBMITTED,
    "TASK_STATE_WORKING": TaskState.WORKING,
    "TASK_STATE_INPUT_REQUIRED": TaskState.INPUT_REQUIRED,
    "TASK_STATE_AUTH_REQUIRED": TaskState.AUTH_REQUIRED,
    "TASK_STATE_COMPLETED": TaskState.COMPLETED,
    "TASK_STATE_FAILED": TaskState.FAILED,
    "TASK_STATE_CANCELED": TaskState.CANCELED,
    "TASK_STATE_REJECTED": TaskState.REJECTED,
}


def send_params(ask: Ask, *, streaming: bool) -> dict[str, Any]:
    """SendMessageRequest (section 3.2.1). A call that is not a stream asks not to wait for the work (3.2.2)."""
    message: dict[str, Any] = {"messageId": ask.message_id, "role": "ROLE_USER", "parts": parts_out(ask.parts)}
    if ask.context_id is not None:
        message["contextId"] = ask.context_id
    if ask.task_id is not None:
        message["taskId"] = ask.task_id
    if metadata := _metadata(ask):
        message["metadata"] = metadata
    if ask.extensions:
        message["extensions"] = list(ask.extensions)
    configuration: dict[str, Any] = {"acceptedOutputModes": OUTPUT_MODES}
    if not streaming:
        configuration["returnImmediately"] = True
    if ask.push is not None:
        configuration["taskPushNotificationConfig"] = push_config(ask.push)
    request: dict[str, Any] = {"message": message, "configuration": configuration}
    if ask.request_metadata:
        request["metadata"] = ask.request_metadata
    return request


def _metadata(ask: Ask) -> dict[str, Any]:
    """What its sender attached, and what the gateway says of it."""
    metadata = dict(ask.metadata)
    if ask.hops:
        metadata[HOPS] = ask.hops
    if ask.forwarded:
        metadata[FORWARDED] = list(ask.forwarded)
    return metadata


def push_config(push: Push) -> dict[str, Any]:
    """TaskPushNotificationConfig (section 4.3.1), without its task. The secret goes by both ways agents know of."""
    shown = {"scheme": "Bearer", "credentials": push.secret}
    return {"id": push.id, "url": push.url, "token": push.secret, "authentication": shown}


def parts_out(parts: tuple[Part, ...]) -> list[dict[str, Any]]:
    """At least one part, since a message without any is refused (section 4.1.4)."""
    spelled, left = [], SENT_MOST
    for part in parts:
        left -= len(part.content) if isinstance(part, File) and part.content is not None else 0
        spelled.append(_part_out(part, fits=left >= 0))
    return spelled or [{"text": ""}]


def _part_out(part: Part, *, fits: bool) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"text": text}
        case Data(value):
            return {"data": value}
        case File(name, media_type, url) if url:
            return {"url": url, "filename": name, "mediaType": media_type}
        case File(name, media_type, content=bytes(content)) if fits:
            return {"raw": b64encode(content).decode(), "filename": name, "mediaType": media_type}
        case File(name, media_type):
            # Without a URL there is nothing to hand over; the agent should still know that a file was sent.
            return {"text": f"[file without content: {name or 'unnamed'}, {media_type}]"}


Passes = frozenset[str]  # keys of metadata, and URIs of extensions, that are handed on
NOTHING: Passes = frozenset()
OfTask = Snapshot | StatusUpdate | ArtifactUpdate


class EventReader:
    """Reads the events of one send or subscription, and fills in what they leave out of what is known by then.

    A missing contextId is that of the known task, never of another (A2A 1.0 requires it, some agents send it empty);
    before any task is known it is that of the request. A bare message without a messageId is named after the question.
    """

    def __init__(
        self, *, context_id: str = "", task_id: str = "", message_id: str = "", passes: Passes = NOTHING
    ) -> None:
        self._context_id = context_id
        self._task_id = task_id
        self._message_id = message_id
        self._passes = passes

    def __call__(self, response: wire.StreamResponse) -> TaskEvent:
        """Raises OffProtocol."""
        if (task := response.task) is not None:
            return snapshot(task, context_id=self._context(task.id, task.context_id), passes=self._passes)
        if (update := response.artifact_update) is not None:
            context_id = self._context(update.task_id, update.context_id)
            artifact = _artifact(update.artifact, self._passes)
            append, last, beside = bool(update.append), bool(update.last_chunk), passed(update.metadata, self._passes)
            return ArtifactUpdate(update.task_id, context_id, artifact, append=append, last=last, metadata=beside)
        if (status := response.status_update) is not None:
            context_id = self._context(status.task_id, status.context_id)
            said = _status(status.status, self._passes)
            return StatusUpdate(status.task_id, context_id, *said, passed(status.metadata, self._passes))
        if (message := response.message) is not None:
            message_id = message.message_id or f"to-{self._message_id}"
            context_id = message.context_id or self._context_id
            return Reply(message_id, context_id, parts_in(message.parts), attached(message, self._passes))
        raise OffProtocol("an event holds neither task, message, statusUpdate nor artifactUpdate")

    def _context(self, task_id: str, given: str | None) -> str:
        _required(task_id, "taskId")
        if self._task_id not in ("", task_id):
            return given or ""
        self._task_id = task_id
        self._context_id = given or self._context_id
        return self._context_id


@dataclass(frozen=True, slots=True)
class Page:
    """What one page of ListTasks says of a message."""

    found: Snapshot | None
    is_conclusive: bool  # every task showed the whole of its history, so that absence here is absence
    next: str  # page token; "" on the last page


def page(tasks: wire.TaskList, *, message_id: str, context_id: str, history: int, passes: Passes = NOTHING) -> Page:
    """`history` is the length asked for: one that long may have been cut. Raises OffProtocol."""
    listed = tasks.tasks or ()
    holder = next((task for task in listed if any(_is(message, message_id) for message in task.history or ())), None)
    return Page(
        found=snapshot(holder, context_id=context_id, passes=passes) if holder else None,
        is_conclusive=all(0 < len(task.history or ()) < history for task in listed),
        next=tasks.next_page_token or "",
    )


def _is(message: wire.Message, message_id: str) -> bool:
    return message.message_id == message_id


def snapshot(task: wire.Task, *, context_id: str = "", passes: Passes = NOTHING) -> Snapshot:
    """`context_id` is for tasks that leave it out. Raises OffProtocol."""
    state, time, message, beside = _status(task.status, passes)
    return Snapshot(
        task_id=_required(task.id, "id"),
        context_id=task.context_id or context_id,
        state=state,
        time=time,
        message=message,
        artifacts=tuple(_artifact(artifact, passes) for artifact in task.artifacts or ()),
        attached=beside,
        metadata=passed(task.metadata, passes),
    )


def _status(status: wire.Status, passes: Passes) -> tuple[TaskState, Instant | None, tuple[Part, ...], Attached | None]:
    state = STATES.get(status.state)
    if state is None:
        raise OffProtocol(f"the task state {status.state[:40]!r} is unknown")
    if (said := status.message) is None:
        return state, instant(status.timestamp), (), None
    return state, instant(status.timestamp), parts_in(said.parts), attached(said, passes)


def _artifact(artifact: wire.Artifact, passes: Passes) -> Artifact:
    id = _required(artifact.artifact_id, "artifactId")
    return Artifact(id, parts_in(artifact.parts), artifact.name or "", attached(artifact, passes))


def attached(said: wire.Message | wire.Artifact, passes: Passes) -> Attached | None:
    """What stands beside the parts, as far as it is handed on; None for nothing."""
    if not passes:
        return None
    kept, extensions = passed(said.metadata, passes), said.extensions
    known = (
        [uri for uri in extensions if isinstance(uri, str) and uri in passes] if isinstance(extensions, list) else []
    )
    return Attached(kept or {}, tuple(known)) if kept or known else None


def passed(metadata: Any, passes: Passes) -> Metadata:
    """What of it is handed on."""
    if not passes or not isinstance(metadata, dict):
        return None
    return {key: metadata[key] for key in metadata if key in passes and not nests_too_deep(metadata[key])} or None


def _required(value: str, name: str) -> str:
    if not value:
        raise OffProtocol(f"{name} is empty")
    return value


def parts_in(parts: tuple[wire.Part, ...] | None) -> tuple[Part, ...]:
    read, left = [], BYTES_MOST
    for part in parts or ():
        known = _part_in(part, left)
        if isinstance(known, File) and known.content is not None:
            left -= len(known.content)
        if known is not None:
            read.append(known)
    return tuple(read)


def _part_in(part: wire.Part, bytes_left: int) -> Part | None:
    if part.text is not None:
        return Text(part.text)
    if part.url is not None:
        return File(part.filename or "", part.media_type or OCTETS, part.url)
    if part.raw is not None:
        size = _decoded_size(part.raw)
        content = _decoded(part.raw) if size <= bytes_left else None
        return File(part.filename or "", part.media_type or OCTETS, size=size, content=content)
    if part.data is not UNSET:
        return Text(TOO_DEEP) if nests_too_deep(part.data) else Data(part.data)
    return None


def _decoded_size(base64: str) -> int:
    return len(base64.rstrip("=")) * 3 // 4


def _decoded(base64: str) -> bytes | None:
    """None for what is no base64; ProtoJSON takes both alphabets, padded or not."""
    text = base64.rstrip("=").translate(_URL_SAFE)
    try:
        return b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


_URL_SAFE = str.maketrans("-_", "+/")


def instant(timestamp: str | None) -> Instant | None:
    """Seconds since the epoch of an RFC 3339 time, one without an offset taken as UTC; None for what is no time."""
    if not timestamp:
        return None
    try:
        moment = datetime.fromisoformat(timestamp)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
