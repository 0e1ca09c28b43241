"""The parameters of A2A 0.3 put into the words of 1.0, which reading.py reads; in both of 0.3's spellings.

JSON-RPC writes its specification's JSON, HTTP+JSON the ProtoJSON of its `a2a.proto`, in camelCase or, by a2a-sdk, with
the names of the .proto file. Nothing is judged: what is not as expected is left as it is, for reading.py to refuse.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from a2a.server.operation import Operation
from a2a.wire_03 import read_message

Json = dict[str, Any]
Upgrade = Callable[[Json], Json]

DEFAULT_PUSH = "default"
_ROLES = {"user": "ROLE_USER", "agent": "ROLE_AGENT"}
_UNDERSCORED = re.compile(r"_([a-z])")
_OPEN = frozenset({"metadata", "data"})  # what is in there is the caller's own


def send(params: Json) -> Json:
    """Of JSON-RPC. `blocking` is the opposite of returnImmediately.

    Without it 0.3 does not say what holds (A2A issue 1453); that stays unsaid here, and `limits.wait_03` decides.
    """
    return _send(params)


def send_proto(params: Json) -> Json:
    """Of HTTP+JSON; there an absent `blocking` is false, as ProtoJSON leaves out what is false."""
    named = _camel(params)
    return _send({"message": named.get("request"), **named}, unsaid=False)


def _send(params: Json, *, unsaid: bool | None = None) -> Json:
    message, configuration = params.get("message"), params.get("configuration")
    if isinstance(message, dict):
        role = message.get("role")
        message = {**read_message(message), "role": _ROLES.get(role, role) if isinstance(role, str) else role}
    said = dict(configuration) if isinstance(configuration, dict) else {}
    blocking = said.get("blocking", unsaid)
    read = {
        "acceptedOutputModes": said.get("acceptedOutputModes"),
        "historyLength": said.get("historyLength"),
        "returnImmediately": (not blocking) if isinstance(blocking, bool) else blocking,
        "taskPushNotificationConfig": _push(said.get("pushNotificationConfig", said.get("pushNotification"))),
    }
    odd = configuration is not None and not isinstance(configuration, dict)
    return {**params, "message": message, "configuration": configuration if odd else read}


def _push(said: Any) -> Any:
    """Of several authentication schemes the first is meant."""
    if not isinstance(said, dict):
        return said
    authentication = said.get("authentication")
    if isinstance(authentication, dict):
        schemes = authentication.get("schemes")
        first = schemes[0] if isinstance(schemes, list) and schemes else None
        authentication = {"scheme": first, "credentials": authentication.get("credentials")} if first else None
    return {**said, "authentication": authentication}


def set_push(params: Json) -> Json:
    """A config without an id is the task's one config, so that setting it again replaces it (0.3, section 7.5)."""
    config, task_id = _push(params.get("pushNotificationConfig")), params.get("taskId")
    if not isinstance(config, dict):
        return {"taskId": task_id}
    return {**config, "id": config.get("id") or task_id, "taskId": task_id}


def set_push_proto(params: Json) -> Json:
    """`{"config": {"pushNotificationConfig": ...}}` as a2a-sdk sends it, or the inner object as the .proto says."""
    named = _camel(params)
    config = named.get("config", named)
    inner = config.get("pushNotificationConfig", config) if isinstance(config, dict) else config
    return set_push({"taskId": params.get("taskId"), "pushNotificationConfig": inner})


def push_id(params: Json) -> Json:
    return {"taskId": params.get("id"), "id": params.get("pushNotificationConfigId") or params.get("id")}


def meant_push(task_id: str, id: str, known: Sequence[str]) -> str:
    """Which of a task's configs is meant; the id itself where none is.

    One that was set without an id has the task's, as with a2a-sdk; others call it `default`, the official kit of 0.3
    among them.
    """
    return task_id if id == DEFAULT_PUSH and id not in known else id


def read_push(task_id: str, id: str, known: Sequence[str]) -> str:
    """The same for reading, where who names none gets one of the task's configs (0.3, section 7.6)."""
    meant = meant_push(task_id, id, known)
    return known[0] if meant == task_id and known and meant not in known else meant


def pushes(params: Json) -> Json:
    return {"taskId": params.get("id")}


JSON_RPC: Mapping[Operation, Upgrade] = {
    Operation.SEND: send,
    Operation.STREAM: send,
    Operation.SET_PUSH: set_push,
    Operation.GET_PUSH: push_id,
    Operation.LIST_PUSHES: pushes,
    Operation.DROP_PUSH: push_id,
}
HTTP_JSON: Mapping[Operation, Upgrade] = {
    Operation.SEND: send_proto,
    Operation.STREAM: send_proto,
    Operation.SET_PUSH: set_push_proto,
}


def _camel(value: Any) -> Any:
    """The same with every member's name in camelCase, but for what is the caller's own."""
    if isinstance(value, list):
        return [_camel(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        _UNDERSCORED.sub(lambda match: match[1].upper(), name): inner if name in _OPEN else _camel(inner)
        for name, inner in value.items()
    }
