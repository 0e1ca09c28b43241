"""How a call to a remote agent failed, and what that means for who asked.

A call fails in the words of HTTP and JSON-RPC; the same failure is another instruction for a send, which must not be
done twice, than for a read, which may be repeated freely. So the calls raise the `CallFailed` below, and one function
for each verb turns them into the errors of the Agent port.

CallFailed
├── NotTaken          certainly never reached the agent's work (429, 503 with Retry-After, no free slot)
│   ├── NoConnection  nobody was there to take it
│   ├── NotOffered    the card no longer has the interface that the task lives on
│   └── CardChanged   the card is another one than was agreed to: an operator must say so
├── Unusable          no request can be made as configured: our policy, or a card without an interface for us
├── MaybeTaken        bytes may have left and no usable answer came back
├── Broken            a stream that had begun did not come to a clean end
├── HttpRefused       a definite no in HTTP alone (3xx, 4xx, 501)
├── Unauthorised      401 or 403
└── RpcFailed         an error by the protocol, with its code
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from a2a import wire
from core import errors
from core.doors import outbound

SAMPLE = 500  # characters kept of what an agent said wrongly: enough to recognise it, too little to be a payload
_LONGEST_PAUSE = 24 * 3600.0  # seconds; a Retry-After beyond it is cut, so that no agent parks work for ever


class CallFailed(Exception):
    """`sample` is a capped, printable piece of what the agent said; "" where it said nothing."""

    def __init__(self, message: str, *, sample: str = "") -> None:
        super().__init__(message)
        self.sample = sample


class NotTaken(CallFailed):
    def __init__(self, message: str, *, retry_after: float | None = None, sample: str = "") -> None:
        super().__init__(message, sample=sample)
        self.retry_after = retry_after  # seconds


class NoConnection(NotTaken):
    pass


class NotOffered(NotTaken):
    pass


class CardChanged(NotTaken):
    pass


class Unusable(CallFailed):
    pass


class MaybeTaken(CallFailed):
    pass


class Broken(CallFailed):
    pass


class HttpRefused(CallFailed):
    def __init__(self, message: str, *, status: int, sample: str = "") -> None:
        super().__init__(message, sample=sample)
        self.status = status


class Unauthorised(CallFailed):
    pass


class RpcFailed(CallFailed):
    def __init__(self, message: str, *, code: int, sample: str = "") -> None:
        super().__init__(message, sample=sample)
        self.code = code


def of_outbound(error: outbound.OutboundError) -> CallFailed:
    if isinstance(error, outbound.Refused):
        blocked = error.reason in ("private_address", "blocked_address")
        remedy = "; allow_private_network = true permits loopback and private ranges" if blocked else ""
        return Unusable(f"the gateway's own rules forbid the request to {error}{remedy}")
    if isinstance(error, outbound.NotSent):
        return NoConnection(f"no connection to {error}")
    return MaybeTaken(f"no whole answer from {error}")


def of_status(status: int, headers: Mapping[str, str], sample: str) -> CallFailed:
    """What an HTTP answer means that holds no error by the protocol."""
    said = f"answered HTTP {status}"
    if status in (401, 403):
        return Unauthorised(f"{said}: the credentials were refused", sample=sample)
    retry_after = seconds_of(headers.get("Retry-After"))
    if status == 429 or (status == 503 and retry_after is not None):
        return NotTaken(said, retry_after=retry_after, sample=sample)
    if (300 <= status < 500 and status != 408) or status in (501, 505):
        return HttpRefused(said, status=status, sample=sample)
    if status < 300:
        return MaybeTaken(f"{said} with something that is not an answer by the protocol", sample=sample)
    return MaybeTaken(said, sample=sample)


def of_rpc(error: wire.RpcError, status: int, headers: Mapping[str, str], sample: str) -> CallFailed:
    """By code and reason (section 5.4); the HTTP status decides only beside a code that the protocol does not know.

    In HTTP+JSON such a code is itself a status, in a stream whose own status was 200 (section 11.6).
    """
    code = error.meant_code()
    if code not in wire.CODES and 100 <= code < 600:
        return of_status(code, headers, sample)
    if code not in wire.CODES and status >= 300:
        return of_status(status, headers, sample)
    return RpcFailed(f"answered error {code}", code=code, sample=sample)


def seconds_of(retry_after: str | None) -> float | None:
    """Retry-After as seconds from now, of either form (RFC 9110, section 10.2.3); None for none or nonsense."""
    if not retry_after:
        return None
    value = retry_after.strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:9]), _LONGEST_PAUSE)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max((moment - datetime.now(UTC)).total_seconds(), 0.0), _LONGEST_PAUSE)


def sample_of(raw: bytes | str, *secrets: str) -> str:
    """At most SAMPLE printable characters of the beginning, without the secrets an agent may have repeated."""
    text = raw if isinstance(raw, str) else raw[: SAMPLE * 8].decode("utf-8", "replace")
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    return "".join(character if character.isprintable() else " " for character in text[:SAMPLE])


def of_send(failure: CallFailed, agent: str, *, continuing: bool) -> errors.AgentError:
    """`continuing` says whether the message named a task; only then can the agent have meant that task."""
    message, sample = _said(failure, agent)
    match failure:
        case CardChanged():
            return errors.AgentPaused(message)
        case NotTaken(retry_after=pause):
            return errors.NotAccepted(message, retry_after=pause, sample=sample)
        case MaybeTaken():
            return errors.OutcomeUnknown(message, sample=sample)
        case RpcFailed(code=wire.TASK_NOT_FOUND) if continuing:
            return errors.TaskUnknown(message, sample=sample)
        case RpcFailed(code=wire.UNSUPPORTED_OPERATION) if continuing:
            return errors.TaskEnded(message, code=wire.UNSUPPORTED_OPERATION, sample=sample)
        case RpcFailed(code=code):
            return errors.Declined(message, code=code, sample=sample)
        case HttpRefused() | Unusable():
            return errors.Declined(message, sample=sample)
    return _of_any(failure, agent)


def of_get(failure: CallFailed, agent: str) -> errors.AgentError:
    return _of_any(failure, agent)


def of_subscribe(failure: CallFailed, agent: str) -> errors.AgentError:
    """UnsupportedOperation is also what an agent says whose streaming was switched off: a get shows the truth."""
    if isinstance(failure, RpcFailed) and failure.code == wire.UNSUPPORTED_OPERATION:
        message, sample = _said(failure, agent)
        return errors.TaskEnded(message, code=failure.code, sample=sample)
    return _of_any(failure, agent)


def of_cancel(failure: CallFailed, agent: str) -> errors.AgentError:
    """A second cancel is answered TaskNotCancelable (a2a-sdk 1.3.0), so that counts as ended: a get shows the truth."""
    message, sample = _said(failure, agent)
    match failure:
        case RpcFailed(code=wire.TASK_NOT_CANCELABLE as code):
            return errors.TaskEnded(message, code=code, sample=sample)
        case RpcFailed(code=code) if code not in (wire.TASK_NOT_FOUND, wire.INTERNAL_ERROR):
            return errors.CancelRefused(message, code=code, sample=sample)
    return _of_any(failure, agent)


def of_find(failure: CallFailed, agent: str) -> errors.AgentError:
    """A plain 4xx counts as "no listing here": older agents know the method's name neither in JSON-RPC nor in HTTP."""
    message, sample = _said(failure, agent)
    match failure:
        case RpcFailed(code=code) if code != wire.INTERNAL_ERROR:
            return errors.Declined(message, code=code, sample=sample)
        case HttpRefused():
            return errors.Declined(message, sample=sample)
    return _of_any(failure, agent)


def of_discovery(failure: CallFailed, agent: str) -> errors.AgentError:
    """Somebody is looking: what a person must set right is said as a definite no."""
    if isinstance(failure, Unusable):
        message, sample = _said(failure, agent)
        return errors.Declined(message, sample=sample)
    return _of_any(failure, agent)


def _of_any(failure: CallFailed, agent: str) -> errors.AgentError:
    """What most verbs make of a failure: reads may be repeated, so all but a definite no is Unreachable.

    That includes what a person must set right (a policy, a moved card): the task goes on being tracked meanwhile.
    """
    message, sample = _said(failure, agent)
    match failure:
        case NotOffered():
            return errors.InterfaceGone(message)
        case Unauthorised():
            return errors.NotAuthorised(message, sample=sample)
        case RpcFailed(code=wire.TASK_NOT_FOUND):
            return errors.TaskUnknown(message, sample=sample)
        case RpcFailed(code=code) if code != wire.INTERNAL_ERROR:
            return errors.Declined(message, code=code, sample=sample)
    return errors.Unreachable(message, sample=sample)


def _said(failure: CallFailed, agent: str) -> tuple[str, str]:
    return f"agent {agent}: {failure}", failure.sample
