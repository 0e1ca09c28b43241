"""The port between A2A's wire and the gateway's line: what a calling agent can do with the tasks it gave.

The facade beside this knows the protocol's spellings, versions, media types and error codes; behind the port nothing
does. What belongs to another owner, or to another agent of the same gateway, is unknown here, and looks it. Section
numbers are those of the A2A 1.0 specification (tag v1.0.1).
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct

from core.agent import Artifact, ArtifactUpdate, TaskState
from core.clock import Instant
from core.parts import Part


class Role(StrEnum):
    USER = "user"
    AGENT = "agent"

    __hash__ = str.__hash__  # of a table's key; Enum has one that is written in Python


class Caller(Struct, frozen=True):
    """Who calls, as the gateway authenticated it."""

    owner: str  # the isolation boundary of everything the caller makes
    name: str = ""  # as configured; "" for an anonymous caller
    may_list: bool = True  # False: tasks are reached by their unguessable ids only
    is_idempotent: bool = False  # equal sends (same message id or Idempotency-Key, same payload) are one


class Message(Struct, frozen=True):
    id: str
    role: Role
    parts: tuple[Part, ...]
    context_id: str = ""  # "" only on the way in: none was named
    task_id: str = ""  # "" where the message starts a task, or is a bare answer
    metadata: Mapping[str, Any] = {}
    extensions: tuple[str, ...] = ()
    references: tuple[str, ...] = ()  # ids of tasks it refers to


class ServedTask(Struct, frozen=True):
    """The whole task as it is now (4.1.1)."""

    id: str
    context_id: str
    state: TaskState
    time: Instant  # of the state
    message: Message | None = None  # of the status: the question of an interrupted task
    artifacts: tuple[Artifact, ...] = ()
    history: tuple[Message, ...] = ()  # oldest first; the status's message joins it when the next one supersedes it
    metadata: Mapping[str, Any] = {}


class StatusChange(Struct, frozen=True):
    task_id: str
    context_id: str
    state: TaskState
    time: Instant
    message: Message | None = None
    metadata: Mapping[str, Any] | None = None  # what joins the task's


ServedEvent = ServedTask | Message | StatusChange | ArtifactUpdate
"""What a stream carries: one Message and nothing else, or the task first and then what happens to it (3.1.2)."""


class PushConfig(Struct, frozen=True):
    """Where to tell of a task's changes (4.3.1). `credentials` and `token` are secrets."""

    url: str
    id: str = ""  # "" on the way in: the gateway makes one
    task_id: str = ""
    token: str = ""
    scheme: str = ""  # of `credentials`, as HTTP's Authorization names it; "" for none
    credentials: str = ""
    protocol: str = "1.0"  # in whose words notifications are written: of the call that set it
    setter: tuple[str, str] = ("", "")  # owner and name of the caller that set it
    is_readable: bool = True  # False: its secrets were stored, and cannot be read any more

    @property
    def is_old(self) -> bool:
        """Whether it is of 0.3."""
        return self.protocol.startswith("0.")


class Send(Struct, frozen=True):
    """One SendMessage (3.1.1)."""

    message: Message
    waits: bool = True  # until the task is terminal or interrupted; no effect on streams and bare answers (3.2.2)
    patience: float | None = None  # seconds of that at most, after which the task is told as it is; None: no end
    push: PushConfig | None = None
    idempotency_key: str = ""
    output_modes: tuple[str, ...] = ()  # () for any
    metadata: Mapping[str, Any] = {}
    extensions: tuple[str, ...] = ()  # the ones the caller activates, that the agent offers


class Filter(Struct, frozen=True):
    """What ListTasks asks for (3.1.4)."""

    context_id: str = ""
    state: TaskState | None = None
    since: Instant | None = None  # statuses at or after it
    size: int = 50
    after: str = ""  # the page token; "" for the first page


class TaskPage(Struct, frozen=True):
    tasks: Sequence[ServedTask]  # newest status first
    next: str  # "" on the last page
    total: int


class ServeError(Exception):
    """Why a call was refused. The text is for the caller's eyes and says nothing of other callers."""


class NoSuchTask(ServeError):
    """Unknown, or not the caller's: the two are not told apart (A2A's TaskNotFound)."""


class NotCancelable(ServeError):
    """It has ended already (TaskNotCancelable)."""


class Unsupported(ServeError):
    """It cannot be done with this task or agent: it has ended, or streams are off (UnsupportedOperation)."""


class PushRefused(ServeError):
    """This push address will not be called (invalid params of the push config)."""


class BadRequest(ServeError):
    """A parameter is wrong; `field` is its path in the protocol's words."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"{field}: {why}")
        self.field, self.why = field, why


class Overloaded(ServeError):
    """Nothing was accepted; the same call may come again after `retry_after` seconds."""

    def __init__(self, why: str, *, retry_after: float) -> None:
        super().__init__(why)
        self.retry_after = retry_after


class ServedTasks(Protocol):
    """Tasks of one agent behind the gateway. Every method may raise Overloaded, and NoSuchTask where it names a task.

    A task is durable before the first word about it leaves; its work goes on whatever becomes of the connection.
    """

    async def send(self, caller: Caller, request: Send) -> ServedTask | Message:
        """Start a task, or continue the interrupted one that the message names.

        The context is inferred from the task; one that does not match it raises BadRequest. A task that has ended
        raises Unsupported.
        """
        ...

    def stream(self, caller: Caller, request: Send) -> AsyncIterator[Sequence[ServedEvent]]:
        """The same, with everything that happens until the task is terminal or interrupted; what waits comes together.

        Every stream of a task gets the same events in the same order. A reader that falls too far behind is cut off
        (the iterator ends); it may subscribe again and begins with the whole task.
        """
        ...

    def subscribe(self, caller: Caller, task_id: str) -> AsyncIterator[Sequence[ServedEvent]]:
        """The whole task first, then all that happens until it is terminal. Raises Unsupported when it is (3.1.6)."""
        ...

    async def get(self, caller: Caller, task_id: str) -> ServedTask: ...

    async def list(self, caller: Caller, wanted: Filter) -> TaskPage:
        """Raises BadRequest for a page token that is not one of this caller's."""
        ...

    async def cancel(self, caller: Caller, task_id: str) -> ServedTask:
        """Ask it to stop; the task as it is once that is settled. Raises NotCancelable."""
        ...

    async def set_push(self, caller: Caller, config: PushConfig) -> PushConfig:
        """Raises PushRefused. A config with the id of a known one replaces it."""
        ...

    async def push(self, caller: Caller, task_id: str, config_id: str) -> PushConfig:
        """Raises NoSuchTask for an unknown config too."""
        ...

    async def pushes(self, caller: Caller, task_id: str) -> Sequence[PushConfig]: ...

    async def drop_push(self, caller: Caller, task_id: str, config_id: str) -> None:
        """An unknown config counts as dropped: deleting twice is deleting once."""
        ...
