"""The JSON of A2A 0.3, read into the words of 1.0 and written out of them, so that nothing else has to know it.

0.3 has two spellings. JSON-RPC tells objects apart by `kind` and writes states like `input-required` (its
specification, section 6); HTTP+JSON is the ProtoJSON of its `a2a.proto`: `content` for `parts`, files and data one
level deeper, TASK_STATE_CANCELLED with two L. Both are taken from either side, since agents mix them up.

Reading maps dicts to dicts and judges nothing: what is not as expected is left as it is, for the models of 1.0 to
refuse.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
import orjson

from a2a import wire

PROTOCOL_VERSION = "0.3"

METHODS: Mapping[wire.Verb, str] = {
    wire.Verb.SEND: "message/send",
    wire.Verb.SEND_STREAMING: "message/stream",
    wire.Verb.GET: "tasks/get",
    wire.Verb.CANCEL: "tasks/cancel",
    wire.Verb.SUBSCRIBE: "tasks/resubscribe",
    wire.Verb.PUSH_CREATE: "tasks/pushNotificationConfig/set",
    wire.Verb.PUSH_DELETE: "tasks/pushNotificationConfig/delete",
    wire.Verb.EXTENDED_CARD: "agent/getAuthenticatedExtendedCard",
}

_STATES = {
    "submitted": "TASK_STATE_SUBMITTED",
    "working": "TASK_STATE_WORKING",
    "input-required": "TASK_STATE_INPUT_REQUIRED",
    "auth-required": "TASK_STATE_AUTH_REQUIRED",
    "completed": "TASK_STATE_COMPLETED",
    "failed": "TASK_STATE_FAILED",
    "canceled": "TASK_STATE_CANCELED",
    "TASK_STATE_CANCELLED": "TASK_STATE_CANCELED",
    "rejected": "TASK_STATE_REJECTED",
}

# What a data part is wrapped in that is no object, which 0.3 does not allow; a2a-sdk 1.3.0 does and undoes the same.
WRAPPED = "data_part_compat"

Json = dict[str, Any]
T = TypeVar("T")


def _read(value: Any, how: Callable[[Json], Json]) -> Any:
    return how(value) if isinstance(value, dict) else value


def _each(values: Any, how: Callable[[Json], Json]) -> Any:
    return [_read(value, how) for value in values] if isinstance(values, list) else values


def _part(said: Json) -> Json:
    part: Json = {name: said[name] for name in ("text", "metadata") if name in said}
    if isinstance(file := said.get("file"), dict):
        part["filename"], part["mediaType"] = file.get("name"), file.get("mimeType")
        part["url"] = file.get("uri", file.get("fileWithUri"))
        part["raw"] = file.get("bytes", file.get("fileWithBytes"))
    elif "data" in said:
        data = said["data"]
        if "kind" not in said and isinstance(data, dict):
            data = data.get("data", data)  # ProtoJSON: a DataPart around the object
        metadata = said.get("metadata")
        is_wrapped = isinstance(metadata, dict) and metadata.get(WRAPPED) and isinstance(data, dict)
        part["data"] = data.get("value") if is_wrapped else data
    return part


def read_message(said: Json) -> Json:
    """A message in the words of 1.0, but for its role."""
    return {**said, "parts": _each(said.get("parts", said.get("content")), _part)}


def _status(said: Json) -> Json:
    state = said.get("state")
    known = _STATES.get(state, state) if isinstance(state, str) else state
    return {**said, "state": known, "message": _read(said.get("message"), read_message)}


def _artifact(said: Json) -> Json:
    return {**said, "parts": _each(said.get("parts"), _part)}


def _status_update(said: Json) -> Json:
    return {**said, "status": _read(said.get("status"), _status)}


def _artifact_update(said: Json) -> Json:
    return {**said, "artifact": _read(said.get("artifact"), _artifact)}


def task(said: Json) -> Json:
    return {
        **said,
        "status": _read(said.get("status"), _status),
        "artifacts": _each(said.get("artifacts"), _artifact),
        "history": _each(said.get("history"), read_message),
    }


# By `kind`, and by the member's name in ProtoJSON.
_KINDS: Mapping[str, tuple[str, Callable[[Json], Json]]] = {
    "task": ("task", task),
    "message": ("message", read_message),
    "status-update": ("statusUpdate", _status_update),
    "artifact-update": ("artifactUpdate", _artifact_update),
}
_MEMBERS = dict(_KINDS.values())


def event(said: Json) -> Json:
    kind = said.get("kind")
    if isinstance(kind, str) and kind in _KINDS:
        member, how = _KINDS[kind]
        return {member: how(said)}
    return {name: _read(said[name], how) for name, how in _MEMBERS.items() if name in said}


def reader(shape: type[T], how: Callable[[Json], Json]) -> Callable[[bytes], T]:
    """Reads JSON of 0.3 as this shape of 1.0, its words turned by `how`; what is not of it raises ValueError."""
    return lambda raw: as_shape(_read(orjson.loads(raw), how), shape)


def as_shape(said: Any, shape: type[T]) -> T:
    return msgspec.convert(said, shape, strict=False)


# The messages of section 8.2. Agents made with SDKs before 1.0 say nothing else in HTTP+JSON, sometimes with the
# error's class in `type`.
_CODE_OF_MESSAGE = {
    "Task not found": wire.TASK_NOT_FOUND,
    "Task cannot be canceled": wire.TASK_NOT_CANCELABLE,
    "Push Notification is not supported": wire.PUSH_NOT_SUPPORTED,
    "This operation is not supported": wire.UNSUPPORTED_OPERATION,
    "Incompatible content types": wire.CODE_OF_REASON["CONTENT_TYPE_NOT_SUPPORTED"],
    "Invalid agent response": wire.CODE_OF_REASON["INVALID_AGENT_RESPONSE"],
}
_OVER = "is in terminal state"  # what a2a-sdk 0.3 says, as invalid params, of a message to a task that is over
_WORD_ENDS = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _error_body(said: Json) -> Json:
    """`{"message": ..., "type": "TaskNotFoundError"}` as an error body of 1.0, where the error can be told."""
    message, kind = said.get("message"), said.get("type")
    if "error" in said or not isinstance(message, str):
        return said
    reason = _WORD_ENDS.sub("_", kind.removesuffix("Error")).upper() if isinstance(kind, str) else ""
    code = wire.CODE_OF_REASON.get(reason)
    if code is None:
        code = next((code for known, code in _CODE_OF_MESSAGE.items() if message.startswith(known)), None)
    if code is None and _OVER in message:
        code = wire.UNSUPPORTED_OPERATION
    return said if code is None else {"error": {"code": code, "message": message}}


error_body = reader(wire.ErrorBody, _error_body)


def params(verb: wire.Verb, said: Mapping[str, Any], *, proto: bool) -> Mapping[str, Any]:
    """Of any call; most have the same in both versions."""
    if verb in (wire.Verb.SEND, wire.Verb.SEND_STREAMING):
        return send_params(said, proto=proto)
    if verb in (wire.Verb.PUSH_CREATE, wire.Verb.PUSH_DELETE):
        return push_params(said, proto=proto)
    return said


def send_params(params: Mapping[str, Any], *, proto: bool) -> Json:
    """The parameters of a send, in the ProtoJSON of HTTP+JSON or in the JSON of JSON-RPC."""
    message, configuration = dict(params["message"]), dict(params["configuration"])
    parts = [_proto_part(part) if proto else _json_part(part) for part in message.pop("parts")]
    spelled = {"content": parts} if proto else {"kind": "message", "role": "user", "parts": parts}
    if "returnImmediately" in configuration:
        configuration["blocking"] = not configuration.pop("returnImmediately")
    if "taskPushNotificationConfig" in configuration:
        name = "pushNotification" if proto else "pushNotificationConfig"
        configuration[name] = _push_config(configuration.pop("taskPushNotificationConfig"))
    beside = {"metadata": params["metadata"]} if "metadata" in params else {}
    return {"message": {**message, **spelled}, "configuration": configuration, **beside}


def push_params(params: Mapping[str, Any], *, proto: bool) -> Json:
    """Of setting a push configuration; of deleting one, where there is no URL in it."""
    task_id, id = params["taskId"], params["id"]
    if "url" not in params:
        return {"id": task_id, "pushNotificationConfigId": id}
    config = _push_config(params)
    if not proto:
        return {"taskId": task_id, "pushNotificationConfig": config}
    # By the letter of a2a.proto the body is the inner object; a2a-sdk takes the whole request. Both ignore the rest.
    inner = {"name": f"tasks/{task_id}/pushNotificationConfigs/{id}", "pushNotificationConfig": config}
    return {"parent": f"tasks/{task_id}", "configId": id, "config": inner, **inner}


def _push_config(said: Mapping[str, Any]) -> Json:
    config = {name: said[name] for name in ("id", "url", "token") if name in said}
    if (shown := said.get("authentication")) is not None:
        config["authentication"] = {"schemes": [shown["scheme"]], "credentials": shown["credentials"]}
    return config


def _json_part(part: Json) -> Json:
    if "text" in part:
        return {"kind": "text", "text": part["text"]}
    if "url" in part:
        return {"kind": "file", "file": {"uri": part["url"], "name": part["filename"], "mimeType": part["mediaType"]}}
    if "raw" in part:
        return {"kind": "file", "file": {"bytes": part["raw"], "name": part["filename"], "mimeType": part["mediaType"]}}
    return {"kind": "data", **_data(part["data"])}


def _proto_part(part: Json) -> Json:
    if "text" in part:
        return {"text": part["text"]}
    if "url" in part:
        file = {"fileWithUri": part["url"], "name": part["filename"], "mimeType": part["mediaType"]}
        return {"file": file}
    if "raw" in part:
        return {"file": {"fileWithBytes": part["raw"], "name": part["filename"], "mimeType": part["mediaType"]}}
    data = _data(part["data"])
    return {**data, "data": {"data": data["data"]}}


def _data(value: Any) -> Json:
    return {"data": value} if isinstance(value, dict) else {"data": {"value": value}, "metadata": {WRAPPED: True}}
