"""The words of A2A 0.3 for those of 1.0, as an agent of that time has them (0.3, section 6; its a2a.proto).

JSON-RPC has `kind` and states like `input-required`; HTTP+JSON is ProtoJSON: `content`, nested files and data, and two
L in TASK_STATE_CANCELLED.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tests.fakes.agent_events import INTERRUPTED, TERMINAL

Json = dict[str, Any]

METHODS = {
    "message/send": "SendMessage",
    "message/stream": "SendStreamingMessage",
    "tasks/get": "GetTask",
    "tasks/cancel": "CancelTask",
    "tasks/resubscribe": "SubscribeToTask",
    "tasks/pushNotificationConfig/set": "CreateTaskPushNotificationConfig",
    "tasks/pushNotificationConfig/delete": "DeleteTaskPushNotificationConfig",
    "agent/getAuthenticatedExtendedCard": "GetExtendedAgentCard",
}
_KINDS = {
    "task": "task",
    "message": "message",
    "statusUpdate": "status-update",
    "artifactUpdate": "artifact-update",
}


class OldWords:
    """One of the two spellings."""

    def __init__(self, *, proto: bool) -> None:
        self._proto = proto

    # ------------------------------------------------------------------ out

    def response(self, body: Mapping[str, Any]) -> Json:
        """A StreamResponse of 1.0, or the answer to a send, which has the same members."""
        ((member, said),) = body.items()
        told = self._members[member](said)
        return {member: told} if self._proto else told

    @property
    def _members(self) -> Mapping[str, Callable[[Json], Json]]:
        return {
            "task": self.task,
            "message": self.message,
            "statusUpdate": self._status_update,
            "artifactUpdate": self._artifact_update,
        }

    def task(self, said: Json) -> Json:
        told = {**self._kind("task"), **said, "status": self._status(said["status"])}
        if "artifacts" in said:
            told["artifacts"] = [self._artifact(each) for each in said["artifacts"]]
        if "history" in said:
            told["history"] = [self.message(each) for each in said["history"]]
        return told

    def message(self, said: Json) -> Json:
        told = {**self._kind("message"), **said}
        parts = [self._part(part) for part in told.pop("parts")]
        told["content" if self._proto else "parts"] = parts
        if not self._proto:
            told["role"] = said["role"].removeprefix("ROLE_").lower()
        return told

    def _kind(self, member: str) -> Json:
        return {} if self._proto else {"kind": _KINDS[member]}

    def _status(self, said: Json) -> Json:
        state = str(said["state"])
        told = {**said, "state": self._state(state)}
        if "message" in said:
            told["message"] = self.message(said["message"])
        return told

    def _state(self, state: str) -> str:
        if self._proto:
            return state.replace("CANCELED", "CANCELLED")
        return state.removeprefix("TASK_STATE_").lower().replace("_", "-")

    def _status_update(self, said: Json) -> Json:
        is_final = str(said["status"]["state"]).removeprefix("TASK_STATE_") in TERMINAL | INTERRUPTED
        return {**self._kind("statusUpdate"), **said, "status": self._status(said["status"]), "final": is_final}

    def _artifact_update(self, said: Json) -> Json:
        return {**self._kind("artifactUpdate"), **said, "artifact": self._artifact(said["artifact"])}

    def _artifact(self, said: Json) -> Json:
        return {**said, "parts": [self._part(part) for part in said["parts"]]}

    def _part(self, said: Json) -> Json:
        if "text" in said:
            return {"text": said["text"]} if self._proto else {"kind": "text", "text": said["text"]}
        if "data" in said:
            return {"data": {"data": said["data"]}} if self._proto else {"kind": "data", "data": said["data"]}
        names = ("fileWithUri", "fileWithBytes") if self._proto else ("uri", "bytes")
        file = {new: said[old] for old, new in zip(("url", "raw"), names, strict=True) if old in said}
        file |= {new: said[old] for old, new in (("filename", "name"), ("mediaType", "mimeType")) if old in said}
        return {"file": file} if self._proto else {"kind": "file", "file": file}

    # ------------------------------------------------------------------ in

    def params(self, said: Mapping[str, Any]) -> Json:
        """A request's parameters in the words of 1.0; what is not spelled as it must be is left out of them."""
        told = dict(said)
        if isinstance(said.get("message"), dict):
            told["message"] = self._heard(said["message"])
        configuration = dict(said.get("configuration") or {})
        if configuration:
            # Unset, ProtoJSON means false, and JSON-RPC leaves it to the agent, which then waits.
            configuration["returnImmediately"] = not configuration.pop("blocking", not self._proto)
            push = configuration.pop("pushNotification" if self._proto else "pushNotificationConfig", None)
            if push:
                configuration["taskPushNotificationConfig"] = _push_config(push)
            told["configuration"] = configuration
        if isinstance(said.get("pushNotificationConfig"), dict):
            told |= _push_config(said["pushNotificationConfig"])
        if "pushNotificationConfigId" in said:
            told |= {"taskId": said["id"], "id": said["pushNotificationConfigId"]}
        return told

    def _heard(self, said: Json) -> Json:
        parts = said.get("content" if self._proto else "parts") or []
        told = {name: value for name, value in said.items() if name not in ("content", "parts", "kind", "role")}
        told["parts"] = [self._heard_part(part) for part in parts]
        role = "ROLE_USER" if self._proto else "user"
        if said.get("role") == role and (self._proto or said.get("kind") == "message"):
            told["role"] = "ROLE_USER"
        return told

    def _heard_part(self, said: Json) -> Json:
        if "text" in said and (self._proto or said.get("kind") == "text"):
            return {"text": said["text"]}
        if "data" in said and (self._proto or said.get("kind") == "data"):
            return {"data": said["data"]["data"] if self._proto else said["data"]}
        if "file" in said and (self._proto or said.get("kind") == "file"):
            file = said["file"]
            url = file["fileWithUri" if self._proto else "uri"]
            return {"url": url, "filename": file["name"], "mediaType": file["mimeType"]}
        return {}


def _push_config(said: Json) -> Json:
    shown = said.get("authentication") or {}
    return {**said, "authentication": {"scheme": shown["schemes"][0], "credentials": shown["credentials"]}}
