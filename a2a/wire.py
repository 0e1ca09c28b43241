"""The JSON of A2A 1.0 as agents answer it, in the protocol's own words, only as wide as the gateway reads it.

The models parse, they do not judge: unknown members are ignored, null counts as absent, and what a member means is
translate.py's business. Requests need no models, they are plain dicts. Section numbers are those of the A2A 1.0
specification (tag v1.0.1); JSON is ProtoJSON, thus camelCase. The spelling of 0.3 is that of wire_03.py.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

from msgspec import UNSET, Raw, Struct
from msgspec.json import Decoder

PROTOCOL_VERSION = "1.0"  # what travels as A2A-Version (section 3.6)


class Verb(StrEnum):
    """What an agent can be asked, by the methods' names of JSON-RPC (section 9.4)."""

    SEND = "SendMessage"
    SEND_STREAMING = "SendStreamingMessage"
    GET = "GetTask"
    LIST = "ListTasks"
    CANCEL = "CancelTask"
    SUBSCRIBE = "SubscribeToTask"
    PUSH_CREATE = "CreateTaskPushNotificationConfig"
    PUSH_DELETE = "DeleteTaskPushNotificationConfig"
    EXTENDED_CARD = "GetExtendedAgentCard"


# JSON-RPC and A2A error codes, sections 5.4 and 9.5.
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
TASK_NOT_FOUND = -32001
TASK_NOT_CANCELABLE = -32002
PUSH_NOT_SUPPORTED = -32003
UNSUPPORTED_OPERATION = -32004
VERSION_NOT_SUPPORTED = -32009

# The same in the words of ErrorInfo.reason, which agents behind a translating proxy keep when the code is lost.
CODE_OF_REASON = {
    "TASK_NOT_FOUND": TASK_NOT_FOUND,
    "TASK_NOT_CANCELABLE": TASK_NOT_CANCELABLE,
    "PUSH_NOTIFICATION_NOT_SUPPORTED": PUSH_NOT_SUPPORTED,
    "UNSUPPORTED_OPERATION": UNSUPPORTED_OPERATION,
    "CONTENT_TYPE_NOT_SUPPORTED": -32005,
    "INVALID_AGENT_RESPONSE": -32006,
    "EXTENDED_AGENT_CARD_NOT_CONFIGURED": -32007,
    "EXTENSION_SUPPORT_REQUIRED": -32008,
    "VERSION_NOT_SUPPORTED": VERSION_NOT_SUPPORTED,
    "METHOD_NOT_FOUND": METHOD_NOT_FOUND,
    "INVALID_PARAMS": INVALID_PARAMS,
    "INVALID_REQUEST": -32600,
}
CODES = frozenset(CODE_OF_REASON.values()) | {INTERNAL_ERROR, -32700}


class OffProtocol(ValueError):
    """The agent's answer is JSON of the right shape that the protocol does not allow."""


T = TypeVar("T")


class Wire(Struct, frozen=True, rename="camel"):
    """One object of the protocol."""


def reader(shape: type[T]) -> Callable[[bytes], T]:
    """Reads JSON of this shape; what is not of it raises ValueError. Numbers and truth values may stand as text."""
    return Decoder(shape, strict=False).decode


class Part(Wire, frozen=True):
    """Exactly one of text, raw, url and data (section 4.1.6); `data` may be null, so only its presence tells."""

    text: str | None = None
    raw: str | None = None  # base64
    url: str | None = None
    data: Any = UNSET
    filename: str | None = None
    media_type: str | None = None


class Message(Wire, frozen=True):
    message_id: str | None = None
    context_id: str | None = None
    task_id: str | None = None
    parts: tuple[Part, ...] | None = None
    metadata: Any = None  # with the extensions: whatever it is, it is handed on or left
    extensions: Any = None


class Status(Wire, frozen=True):
    state: str
    message: Message | None = None
    timestamp: str | None = None  # RFC 3339


class Artifact(Wire, frozen=True):
    artifact_id: str
    name: str | None = None
    parts: tuple[Part, ...] | None = None
    metadata: Any = None
    extensions: Any = None


class Task(Wire, frozen=True):
    id: str
    status: Status
    context_id: str | None = None
    artifacts: tuple[Artifact, ...] | None = None
    history: tuple[Message, ...] | None = None
    metadata: Any = None


class TaskStatusUpdate(Wire, frozen=True):
    task_id: str
    status: Status
    context_id: str | None = None
    metadata: Any = None


class TaskArtifactUpdate(Wire, frozen=True):
    task_id: str
    artifact: Artifact
    context_id: str | None = None
    append: bool | None = None
    last_chunk: bool | None = None
    metadata: Any = None


class StreamResponse(Wire, frozen=True):
    """One event (section 3.2.3); the direct answer to SendMessage is the same with the first two members only."""

    task: Task | None = None
    message: Message | None = None
    status_update: TaskStatusUpdate | None = None
    artifact_update: TaskArtifactUpdate | None = None


class TaskList(Wire, frozen=True):
    tasks: tuple[Task, ...] | None = None
    next_page_token: str | None = None


class PushConfig(Wire, frozen=True):
    """Only that it is one is of interest: what we asked for is what we know."""

    id: str | None = None


class RpcError(Wire, frozen=True):
    code: int
    message: str | None = None
    data: Any = None  # an array of details by the letter; text, an object or nothing in the field
    details: Any = None  # where a proxy answers in the form of HTTP+JSON (section 11.6)

    def meant_code(self) -> int:
        """The code; where that says nothing in particular, the one that ErrorInfo.reason stands for."""
        if self.code in CODES and self.code != INTERNAL_ERROR:
            return self.code
        details = self.data if isinstance(self.data, list) else self.details
        for detail in details if isinstance(details, list) else ():
            reason = detail.get("reason") if isinstance(detail, dict) else None
            if isinstance(reason, str) and reason in CODE_OF_REASON:
                return CODE_OF_REASON[reason]
        return self.code


class Answer(Wire, frozen=True):
    """A JSON-RPC response; `id` is null on errors of requests that the agent could not read."""

    id: str | int | float | None = None
    result: Raw = Raw(b"null")
    error: RpcError | None = None


class ErrorBody(Wire, frozen=True):
    """What HTTP+JSON answers instead of the thing asked for (section 11.6)."""

    error: RpcError
