"""From the port's values to the JSON of A2A 1.0 (section 4): plain dicts, in which what is not set does not appear."""

from base64 import b64encode
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Protocol

from a2a import translate
from a2a.server.port import Message, PushConfig, Role, ServedEvent, ServedTask, StatusChange, TaskPage
from a2a.server.reading import View
from core.agent import Artifact, ArtifactUpdate, TaskState
from core.clock import Instant
from core.parts import Attached, Data, File, Part, Text

Json = dict[str, Any]

STATES = {state: name for name, state in translate.STATES.items()}
ROLES = {Role.USER: "ROLE_USER", Role.AGENT: "ROLE_AGENT"}


class Writer(Protocol):
    """One spelling of the protocol, on the way out."""

    def sent(self, answer: ServedTask | Message, view: View) -> Json:
        """The result of a send that is no stream."""
        ...

    def task(self, task: ServedTask, view: View) -> Json: ...

    def event(self, event: ServedEvent, view: View) -> Json: ...

    def page(self, page: TaskPage, view: View, size: int) -> Json: ...

    def push(self, config: PushConfig) -> Json: ...

    def pushes(self, configs: Iterable[PushConfig]) -> Any: ...


class Writer10:
    """1.0, the same in both bindings."""

    def sent(self, answer: ServedTask | Message, view: View) -> Json:
        return self.event(answer, view)

    def event(self, event: ServedEvent, view: View) -> Json:
        match event:
            case ServedTask():
                return {"task": self.task(event, view)}
            case Message():
                return {"message": message(event)}
            case StatusChange():
                return {"statusUpdate": _status_update(event)}
            case ArtifactUpdate():
                return {"artifactUpdate": _artifact_update(event)}

    def task(self, task: ServedTask, view: View) -> Json:
        said: Json = {
            "id": task.id,
            "contextId": task.context_id,
            "status": status(task.state, task.time, task.message),
        }
        if task.artifacts and view.artifacts:
            said["artifacts"] = [artifact(each) for each in task.artifacts]
        if history := newest(task.history, view):
            said["history"] = [message(each) for each in history]
        if task.metadata:
            said["metadata"] = task.metadata
        return said

    def page(self, page: TaskPage, view: View, size: int) -> Json:
        """All four are always there (section 3.1.4)."""
        tasks = [self.task(each, view) for each in page.tasks]
        return {"tasks": tasks, "nextPageToken": page.next, "pageSize": size, "totalSize": page.total}

    def push(self, config: PushConfig) -> Json:
        said: Json = {"id": config.id, "taskId": config.task_id, "url": config.url}
        if config.token:
            said["token"] = config.token
        if config.scheme:
            said["authentication"] = {"scheme": config.scheme}
            if config.credentials:
                said["authentication"]["credentials"] = config.credentials
        return said

    def pushes(self, configs: Iterable[PushConfig]) -> Json:
        return {"configs": [self.push(each) for each in configs]}


def newest(history: tuple[Message, ...], view: View) -> tuple[Message, ...]:
    """At most so many of the newest messages, oldest first (section 3.2.4)."""
    if view.history is None:
        return history
    return history[-view.history :] if view.history else ()


def message(said: Message) -> Json:
    spelled: Json = {"messageId": said.id, "role": ROLES[said.role], "parts": [part(each) for each in said.parts]}
    if said.context_id:
        spelled["contextId"] = said.context_id
    if said.task_id:
        spelled["taskId"] = said.task_id
    if said.metadata:
        spelled["metadata"] = said.metadata
    if said.extensions:
        spelled["extensions"] = said.extensions
    if said.references:
        spelled["referenceTaskIds"] = said.references
    return spelled


def status(state: TaskState, time: Instant, said: Message | None) -> Json:
    spelled: Json = {"state": STATES[state], "timestamp": timestamp(time)}
    if said is not None:
        spelled["message"] = message(said)
    return spelled


def artifact(made: Artifact) -> Json:
    """With at least one part, which the protocol demands (section 4.1.7)."""
    parts = [part(each) for each in made.parts] or [{"text": ""}]
    spelled: Json = {"artifactId": made.id, "parts": parts}
    return spelled | beside(made) if made.name or made.attached is not None else spelled


def beside(made: Artifact) -> Json:
    """What an artifact has besides its parts, the same in both versions (section 4.1.7)."""
    attached = made.attached or Attached()
    told = {"name": made.name, "metadata": attached.metadata, "extensions": attached.extensions}
    return {name: value for name, value in told.items() if value}


def _status_update(change: StatusChange) -> Json:
    spelled: Json = {
        "taskId": change.task_id,
        "contextId": change.context_id,
        "status": status(change.state, change.time, change.message),
    }
    if change.metadata:
        spelled["metadata"] = change.metadata
    return spelled


def _artifact_update(update: ArtifactUpdate) -> Json:
    spelled: Json = {
        "taskId": update.task_id,
        "contextId": update.context_id,
        "artifact": artifact(update.artifact),
    }
    if update.append:
        spelled["append"] = True
    if update.last:
        spelled["lastChunk"] = True
    if update.metadata:
        spelled["metadata"] = update.metadata
    return spelled


def part(said: Part) -> Json:
    match said:
        case Text(text):
            return {"text": text}
        case Data(value):
            return {"data": value}
        case File() if said.url or said.content is not None:
            return _file(said)
        case File(name, media_type):
            return {"text": missing_file(name, media_type)}


def _file(file: File) -> Json:
    content: Json = {"url": file.url} if file.content is None else {"raw": b64encode(file.content).decode()}
    if file.name:
        content["filename"] = file.name
    if file.media_type:
        content["mediaType"] = file.media_type
    return content


def missing_file(name: str, media_type: str) -> str:
    """Of a file that neither has bytes nor a URL nothing can be handed over; the caller still knows there was one."""
    return f"[file without content: {name or 'unnamed'}, {media_type}]"


def timestamp(time: Instant) -> str:
    """RFC 3339 in UTC, to the millisecond (section 5.6.1)."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
