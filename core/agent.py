"""The port to whatever can be asked: a remote A2A agent, or a local Python one.

An agent works on *tasks*. `send` yields what the agent says while it works; when it ends without a terminal or
interrupted state the task is not finished, only the road is cut, and the caller goes on with `subscribe` and `get`.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from core.clock import Instant
from core.parts import Attached, Part
from core.values import value

if TYPE_CHECKING:
    from core.push import Push


class TaskState(StrEnum):
    """The states of A2A 1.0 (section 4.1.3), in the short spelling of 0.3."""

    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input-required"
    AUTH_REQUIRED = "auth-required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    REJECTED = "rejected"

    __hash__ = str.__hash__  # of a table's key; Enum has one that is written in Python

    is_terminal: bool
    is_interrupted: bool

    def __init__(self, word: str) -> None:
        self.is_terminal = word in ("completed", "failed", "canceled", "rejected")
        self.is_interrupted = word in ("input-required", "auth-required")

    @property
    def rank(self) -> int:
        """Which of two statuses with equal times is the later one: terminal over interrupted over working."""
        return 3 if self.is_terminal else 2 if self.is_interrupted else 1 if self is TaskState.WORKING else 0


class Road(StrEnum):
    """By which road something an agent said arrived."""

    STREAM = "stream"
    ANSWER = "answer"  # the direct answer to a send, a get or a cancel
    PUSH = "push"


Metadata = Mapping[str, Any] | None  # as far as the agent's settings hand it on; None for none


@value(frozen=True, slots=True)
class Artifact:
    id: str
    parts: tuple[Part, ...]
    name: str = ""
    attached: Attached | None = None  # as far as the agent's settings hand it on


@value(frozen=True, slots=True)
class Snapshot:
    """The whole task as the agent has it now; replaces what was assembled before."""

    task_id: str
    context_id: str
    state: TaskState
    time: Instant | None = None  # the agent's own timestamp of the state; None where it gave none
    message: tuple[Part, ...] = ()  # of the status: the question of an interrupted task
    artifacts: tuple[Artifact, ...] = ()
    attached: Attached | None = None  # to the status's message
    metadata: Metadata = None  # of the task

    def as_status(self) -> "StatusUpdate":
        """Without its artifacts."""
        return StatusUpdate(
            self.task_id, self.context_id, self.state, self.time, self.message, self.attached, self.metadata
        )


@value(frozen=True, slots=True)
class StatusUpdate:
    task_id: str
    context_id: str
    state: TaskState
    time: Instant | None = None
    message: tuple[Part, ...] = ()
    attached: Attached | None = None  # to the message
    metadata: Metadata = None  # of the event; it joins the task's


@value(frozen=True, slots=True)
class ArtifactUpdate:
    task_id: str
    context_id: str
    artifact: Artifact
    append: bool = False
    last: bool = False  # seals the artifact
    metadata: Metadata = None  # of the event


@value(frozen=True, slots=True)
class Reply:
    """A bare message instead of a task: the whole answer."""

    message_id: str
    context_id: str
    parts: tuple[Part, ...]
    attached: Attached | None = None


TaskEvent = Snapshot | StatusUpdate | ArtifactUpdate | Reply


@value(frozen=True, slots=True)
class TaskRef:
    task_id: str
    context_id: str
    binding: str = ""  # the interface that created it, as the agent's `binding_of` names it; "" where nobody knows


@value(frozen=True, slots=True)
class Ask:
    """One SendMessage. `message_id` is the same over all retries of it."""

    message_id: str
    parts: tuple[Part, ...]
    context_id: str | None = None  # None: the agent makes one (A2A 1.0, section 3.4.1); never invented here
    task_id: str | None = None  # only of an interrupted task; always together with its context_id
    metadata: dict[str, Any] = field(default_factory=dict)
    extensions: tuple[str, ...] = ()  # URIs of the ones the message uses
    request_metadata: dict[str, Any] = field(default_factory=dict)  # beside the message
    origin: str = ""  # what its channel calls the (last) message it hands on; never an id of ours
    binding: str = ""  # the interface that created that task
    hops: int = 0  # gateways a program's message has passed through, this one included; 0: it is not a program's
    forwarded: tuple[int, ...] = ()  # which of the parts their sender passed on and did not write
    push: "Push | None" = None  # where the agent may push what it says, where it is told that with the send


class Agent(Protocol):
    """Every method may raise the AgentErrors of core/errors.py and no others."""

    @property
    def name(self) -> str: ...

    def send(self, ask: Ask) -> AsyncIterator[TaskEvent]:
        """Hand over one message and yield what the agent says, in its order, until the road ends.

        Raises NotAccepted, OutcomeUnknown or Declined before the first event; after it only Unreachable (road cut).
        """
        ...

    def subscribe(self, task: TaskRef) -> AsyncIterator[TaskEvent]:
        """Join a running task: a Snapshot first, then live events.

        Raises TaskEnded, TaskUnknown, Declined (where the agent offers none), Unreachable.
        """
        ...

    async def get(self, task: TaskRef) -> Snapshot:
        """Raises TaskUnknown, Declined (NotAuthorised), Unreachable (InterfaceGone)."""
        ...

    async def cancel(self, task: TaskRef) -> Snapshot | None:
        """Ask the task to stop; the snapshot is what the agent says after that, which need not be canceled.

        Raises TaskEnded, CancelRefused, TaskUnknown, Unreachable.
        """
        ...

    async def find(self, context_id: str | None, message_id: str) -> Snapshot | None:
        """The task that this message started or continued, None when the agent lists its tasks and has none such.

        Raises Declined where the agent offers no listing, Unreachable.
        """
        ...

    def binding_of(self, task_id: str) -> str:
        """Over which interface the task was created, to be stored with it; "" where all are one, or it is not known."""
        ...
