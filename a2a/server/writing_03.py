"""From the port's values to A2A 0.3: the JSON of JSON-RPC, told apart by `kind`, and the ProtoJSON of HTTP+JSON."""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any

from a2a.server.port import Message, PushConfig, ServedEvent, ServedTask, StatusChange, TaskPage
from a2a.server.reading import View
from a2a.server.writing import ROLES, STATES, Json, beside, missing_file, newest, timestamp
from a2a.wire_03 import WRAPPED
from core.agent import Artifact, ArtifactUpdate, TaskState
from core.clock import Instant
from core.parts import Data, File, Part, Text

_PROTO_STATES = {**STATES, TaskState.CANCELED: "TASK_STATE_CANCELLED"}


def is_last(event: ServedEvent) -> bool:
    """Whether a stream of 0.3 ends with it: a change to what asks something of the caller does too (section 7.2)."""
    return isinstance(event, StatusChange) and (event.state.is_terminal or event.state.is_interrupted)


class Writer03:
    """JSON-RPC's spelling (0.3, section 6)."""

    def sent(self, answer: ServedTask | Message, view: View) -> Json:
        """Bare: `kind` says what it is."""
        return self.event(answer, view)

    def event(self, event: ServedEvent, view: View) -> Json:
        match event:
            case ServedTask():
                return self.task(event, view)
            case Message():
                return self._message(event)
            case StatusChange():
                return self._kind("status-update", self._status_update(event))
            case ArtifactUpdate():
                return self._kind("artifact-update", self._artifact_update(event))

    def task(self, task: ServedTask, view: View) -> Json:
        said: Json = {
            "id": task.id,
            "contextId": task.context_id,
            "status": self._status(task.state, task.time, task.message),
        }
        if task.artifacts and view.artifacts:
            said["artifacts"] = [self._artifact(each) for each in task.artifacts]
        if history := newest(task.history, view):
            said["history"] = [self._message(each) for each in history]
        if task.metadata:
            said["metadata"] = task.metadata
        return self._kind("task", said)

    def page(self, page: TaskPage, view: View, size: int) -> Json:
        """0.3 lists no tasks; its HTTP+JSON names the operation without saying what it answers."""
        tasks = [self.task(each, view) for each in page.tasks]
        return {"tasks": tasks, "nextPageToken": page.next, "pageSize": size, "totalSize": page.total}

    def push(self, config: PushConfig) -> Json:
        return {"taskId": config.task_id, "pushNotificationConfig": self._push(config)}

    def pushes(self, configs: Iterable[PushConfig]) -> Any:
        return [self.push(each) for each in configs]

    def _kind(self, kind: str, said: Json) -> Json:
        return {"kind": kind, **said}

    def _state(self, state: TaskState) -> str:
        return state.value

    def _spoken(self, said: Message) -> Json:
        return {"role": said.role.value, "parts": [self._part(each) for each in said.parts]}

    def _message(self, said: Message) -> Json:
        spelled: Json = {"messageId": said.id, **self._spoken(said)}
        for name, value in (
            ("contextId", said.context_id),
            ("taskId", said.task_id),
            ("metadata", said.metadata),
            ("extensions", said.extensions),
            ("referenceTaskIds", said.references),
        ):
            if value:
                spelled[name] = value
        return self._kind("message", spelled)

    def _status(self, state: TaskState, time: Instant, said: Message | None) -> Json:
        spelled: Json = {"state": self._state(state), "timestamp": timestamp(time)}
        if said is not None:
            spelled["message"] = self._message(said)
        return spelled

    def _status_update(self, change: StatusChange) -> Json:
        return {
            "taskId": change.task_id,
            "contextId": change.context_id,
            "status": self._status(change.state, change.time, change.message),
            "final": is_last(change),
            **_beside(change.metadata),
        }

    def _artifact_update(self, update: ArtifactUpdate) -> Json:
        return {
            "taskId": update.task_id,
            "contextId": update.context_id,
            "artifact": self._artifact(update.artifact),
            "append": update.append,
            "lastChunk": update.last,
            **_beside(update.metadata),
        }

    def _artifact(self, made: Artifact) -> Json:
        parts = [self._part(each) for each in made.parts] or [self._part(Text(""))]
        return {"artifactId": made.id, "parts": parts, **beside(made)}

    def _part(self, said: Part) -> Json:
        match said:
            case Text(text):
                return self._kind("text", {"text": text})
            case Data(value):
                return self._kind("data", self._data(value))
            case File() if said.url or said.content is not None:
                return self._kind("file", {"file": self._file(said, "uri", "bytes")})
            case File(name, media_type):
                return self._part(Text(missing_file(name, media_type)))

    def _data(self, value: Any) -> Json:
        """0.3 knows objects only; a2a-sdk wraps what is none in the same way."""
        return (
            {"data": value} if isinstance(value, Mapping) else {"data": {"value": value}, "metadata": {WRAPPED: True}}
        )

    def _file(self, file: File, by_url: str, by_bytes: str) -> Json:
        spelled: Json = {by_url: file.url} if file.content is None else {by_bytes: b64encode(file.content).decode()}
        if file.name:
            spelled["name"] = file.name
        if file.media_type:
            spelled["mimeType"] = file.media_type
        return spelled

    def _push(self, config: PushConfig) -> Json:
        spelled: Json = {"id": config.id, "url": config.url}
        if config.token:
            spelled["token"] = config.token
        if config.scheme:
            spelled["authentication"] = {"schemes": [config.scheme]}
            if config.credentials:
                spelled["authentication"]["credentials"] = config.credentials
        return spelled


def _beside(metadata: Mapping[str, Any] | None) -> Json:
    return {"metadata": metadata} if metadata else {}


class ProtoWriter03(Writer03):
    """HTTP+JSON's spelling: the ProtoJSON of `a2a.proto` of 0.3."""

    def event(self, event: ServedEvent, view: View) -> Json:
        match event:
            case ServedTask():
                return {"task": self.task(event, view)}
            case Message():
                return {"message": self._message(event)}
            case StatusChange():
                return {"statusUpdate": self._status_update(event)}
            case ArtifactUpdate():
                return {"artifactUpdate": self._artifact_update(event)}

    def push(self, config: PushConfig) -> Json:
        name = f"tasks/{config.task_id}/pushNotificationConfigs/{config.id}"
        return {"name": name, "pushNotificationConfig": self._push(config)}

    def pushes(self, configs: Iterable[PushConfig]) -> Any:
        return {"configs": [self.push(each) for each in configs]}

    def _kind(self, kind: str, said: Json) -> Json:
        """The member's name says what it is."""
        del kind
        return said

    def _state(self, state: TaskState) -> str:
        return _PROTO_STATES[state]

    def _spoken(self, said: Message) -> Json:
        return {"role": ROLES[said.role], "content": [self._part(each) for each in said.parts]}

    def _part(self, said: Part) -> Json:
        if isinstance(said, File) and (said.url or said.content is not None):
            return {"file": self._file(said, "fileWithUri", "fileWithBytes")}
        return super()._part(said)

    def _data(self, value: Any) -> Json:
        spelled = super()._data(value)
        return {**spelled, "data": {"data": spelled["data"]}}
