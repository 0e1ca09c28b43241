"""What a caller can ask, by the methods' names of A2A 1.0 (section 9.4), and what 0.3 calls the same."""

from collections.abc import Mapping
from enum import StrEnum


class Operation(StrEnum):
    SEND = "SendMessage"
    STREAM = "SendStreamingMessage"
    GET = "GetTask"
    LIST = "ListTasks"
    CANCEL = "CancelTask"
    SUBSCRIBE = "SubscribeToTask"
    SET_PUSH = "CreateTaskPushNotificationConfig"
    GET_PUSH = "GetTaskPushNotificationConfig"
    LIST_PUSHES = "ListTaskPushNotificationConfigs"
    DROP_PUSH = "DeleteTaskPushNotificationConfig"
    EXTENDED_CARD = "GetExtendedAgentCard"

    __hash__ = str.__hash__  # of a table's key; Enum has one that is written in Python

    @property
    def streams(self) -> bool:
        return self in (Operation.STREAM, Operation.SUBSCRIBE)

    @property
    def is_about_push(self) -> bool:
        return self in _ABOUT_PUSH


_ABOUT_PUSH = frozenset({Operation.SET_PUSH, Operation.GET_PUSH, Operation.LIST_PUSHES, Operation.DROP_PUSH})

METHODS: Mapping[str, Operation] = {operation.value: operation for operation in Operation}
METHODS_03: Mapping[str, Operation] = {
    "message/send": Operation.SEND,
    "message/stream": Operation.STREAM,
    "tasks/get": Operation.GET,
    "tasks/cancel": Operation.CANCEL,
    "tasks/resubscribe": Operation.SUBSCRIBE,
    "tasks/pushNotificationConfig/set": Operation.SET_PUSH,
    "tasks/pushNotificationConfig/get": Operation.GET_PUSH,
    "tasks/pushNotificationConfig/list": Operation.LIST_PUSHES,
    "tasks/pushNotificationConfig/delete": Operation.DROP_PUSH,
    "agent/getAuthenticatedExtendedCard": Operation.EXTENDED_CARD,
}
