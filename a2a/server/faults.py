"""Why a call is refused, in the protocol's words: one exception, a table of kinds, and its body in each binding.

The codes, reasons and gRPC words are those of A2A 1.0, section 5.4. Of the HTTP statuses, 409 and 415 are those of the
table of 1.0.0, which the official compatibility kit of 1.0 asks for; 1.0.1 says 400 for both, and clients go by the
reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from a2a.server import port

DOMAIN = "a2a-protocol.org"
_ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
_BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"
NO_METADATA: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class _Kind:
    code: int  # of JSON-RPC
    status: int  # of HTTP
    grpc: str
    reason: str
    type: str  # the error's class in 0.3, by which a2a-sdk tells errors of HTTP+JSON


class Kind(Enum):
    PARSE = _Kind(-32700, 400, "INVALID_ARGUMENT", "PARSE_ERROR", "JSONParseError")
    INVALID_REQUEST = _Kind(-32600, 400, "INVALID_ARGUMENT", "INVALID_REQUEST", "InvalidRequestError")
    METHOD_NOT_FOUND = _Kind(-32601, 404, "NOT_FOUND", "METHOD_NOT_FOUND", "MethodNotFoundError")
    INVALID_PARAMS = _Kind(-32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "InvalidParamsError")
    BUSY = _Kind(-32000, 503, "UNAVAILABLE", "UNAVAILABLE", "InternalError")
    TASK_NOT_FOUND = _Kind(-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND", "TaskNotFoundError")
    NOT_CANCELABLE = _Kind(-32002, 409, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE", "TaskNotCancelableError")
    PUSH_NOT_SUPPORTED = _Kind(
        -32003,
        400,
        "FAILED_PRECONDITION",
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
        "PushNotificationNotSupportedError",
    )
    UNSUPPORTED = _Kind(-32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION", "UnsupportedOperationError")
    CONTENT_TYPE = _Kind(-32005, 415, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", "ContentTypeNotSupportedError")
    NO_EXTENDED_CARD = _Kind(
        -32007,
        400,
        "FAILED_PRECONDITION",
        "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
        "AuthenticatedExtendedCardNotConfiguredError",
    )
    EXTENSION_REQUIRED = _Kind(
        -32008, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED", "ExtensionSupportRequiredError"
    )
    VERSION = _Kind(-32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED", "VersionNotSupportedError")


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong with one field; its path in the protocol's words, "" for the whole."""

    field: str
    why: str


class Fault(Exception):
    """A call is refused. The message is for the caller's eyes."""

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        violations: Sequence[Violation] = (),
        metadata: Mapping[str, str] = NO_METADATA,
        retry_after: float | None = None,
        outcome: str = "",
    ) -> None:
        """`outcome` is what the operator's event says of it, where that is more than the kind's reason."""
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.violations = tuple(violations)
        self.metadata = metadata
        self.outcome = outcome or kind.value.reason
        self.retry_after = retry_after  # seconds; with BUSY only

    @property
    def details(self) -> list[dict[str, Any]]:
        """Of 1.0, section 5.4: ErrorInfo always, BadRequest where fields are to blame."""
        info: dict[str, Any] = {"@type": _ERROR_INFO, "reason": self.kind.value.reason, "domain": DOMAIN}
        if self.metadata:
            info["metadata"] = dict(self.metadata)
        if not self.violations:
            return [info]
        fields = [{"field": each.field, "description": each.why} for each in self.violations]
        return [info, {"@type": _BAD_REQUEST, "fieldViolations": fields}]

    def rpc(self) -> dict[str, Any]:
        """The `error` of a JSON-RPC response (section 9.5)."""
        return {"code": self.kind.value.code, "message": self.message, "data": self.details}

    def http(self) -> dict[str, Any]:
        """The body of a refused HTTP+JSON request (section 11.6)."""
        kind = self.kind.value
        error = {"code": kind.status, "status": kind.grpc, "message": self.message, "details": self.details}
        return {"error": error}

    def http_03(self) -> dict[str, Any]:
        """The same for callers of 0.3, which look for `type` and `message` at the top."""
        return {**self.http(), "type": self.kind.value.type, "message": self.message}


def bad_field(field: str, why: str, *, outcome: str = "") -> Fault:
    return bad_fields([Violation(field, why)], outcome=outcome)


def bad_fields(violations: Sequence[Violation], *, outcome: str = "") -> Fault:
    first = violations[0]
    more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
    said = f"{first.field}: {first.why}" if first.field else first.why
    return Fault(Kind.INVALID_PARAMS, f"invalid parameters: {said}{more}", violations=violations, outcome=outcome)


def of(error: port.ServeError) -> Fault:
    """What a refusal behind the port is in the protocol's words."""
    match error:
        case port.NoSuchTask():
            return Fault(Kind.TASK_NOT_FOUND, str(error) or "task not found")
        case port.NotCancelable():
            return Fault(Kind.NOT_CANCELABLE, str(error) or "the task has ended and cannot be canceled")
        case port.Unsupported():
            return Fault(Kind.UNSUPPORTED, str(error) or "this operation is not supported")
        case port.PushRefused():
            return bad_field("url", str(error) or "this address is not called")
        case port.BadRequest(field=field, why=why):
            return bad_field(field, why)
        case port.Overloaded(retry_after=seconds):
            return Fault(Kind.BUSY, str(error) or "busy; please repeat", retry_after=seconds)
    return Fault(Kind.UNSUPPORTED, str(error))
