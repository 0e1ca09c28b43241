"""A turn at work: whom it asks and how far the asking got, its task, how it ends, and what a step of it changes."""

from collections.abc import Mapping
from enum import StrEnum

from core.agent import Road, TaskState
from core.clock import Instant
from core.delivery import RenderedPiece
from core.envelope import Envelope
from core.followed import Report, Step
from core.identity import Address
from core.values import value


class TurnState(StrEnum):
    RUNNING = "running"
    WAITING = "waiting"  # on the remote task, past the foreground's patience
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"


class SubmissionState(StrEnum):
    INTENDED = "intended"
    SUBMITTED = "submitted"
    UNKNOWN = "submission_unknown"
    REJECTED = "rejected"


class Disposition(StrEnum):
    """What the gateway makes of a remote task, apart from what the agent says of it."""

    TRACKED = "tracked"
    CANCEL_ASKED = "cancel_asked"
    DETACHED = "detached"
    LOST_AT_REMOTE = "lost_at_remote"
    OUT_OF_REACH = "out_of_reach"  # the agent no longer offers the interface that created it; tracked again if it does


@value(frozen=True, slots=True)
class RemoteTask:
    """(agent, task_id) and all that is known of it."""

    task_id: str
    context_id: str
    state: TaskState
    state_time: Instant | None = None  # the agent's own timestamp
    heard: Instant = 0.0  # when the agent last said anything of it: "silent since"
    disposition: Disposition = Disposition.TRACKED
    unconfirmed: bool = False  # ended by a bare event, and gone before GetTask could confirm it
    binding: str = ""  # the interface that created it, by which alone it is asked; "" where nobody knows


@value(frozen=True, slots=True)
class Turn:
    """One turn at work: what it answers, whom it asks, and how far the asking got."""

    id: str
    thread: str
    session: str
    owner: str
    conversation: str
    address: Address
    is_direct: bool
    agent: str
    envelopes: tuple[Envelope, ...]
    message_id: str  # of its submission; never changes over retries
    begun: Instant
    context_id: str | None  # the session's remote context, None before the first answer or after /new
    task_id: str | None = None  # the interrupted task this turn continues
    submission: SubmissionState = SubmissionState.INTENDED
    asked: bool = True  # False: certainly nothing of it is at the agent, another try is due
    task: RemoteTask | None = None  # its task, as far as known: after a restart, or the one this turn continues
    cancel_wanted: bool = False
    waiting: bool = False  # past the foreground's patience: its thread is waiting on the remote task
    preview: str = ""  # the channel's id of what is shown of the unfinished answer
    more: bool = False  # after its end: its thread has messages queued
    moved: str = ""  # after it asked: the thread to which the messages queued behind it moved
    revision: int = 0  # of the turn's record: grows with each observation
    is_desk: bool = False

    @property
    def language(self) -> str:
        return self.envelopes[-1].person.language if self.envelopes else "en"


@value(frozen=True, slots=True)
class TurnEnd:
    """How a turn leaves the lane, and what its thread waits for then."""

    state: TurnState
    reason: str = ""  # why it failed, for the operator
    waits_for_input: bool = False  # the task is interrupted: the thread's next message continues it

    @property
    def is_waiting(self) -> bool:
        """The turn is still at work; only its thread waits."""
        return self.state is TurnState.WAITING

    @property
    def is_cancelled(self) -> bool:
        return self.state is TurnState.CANCELLED


@value(frozen=True, slots=True)
class InboxRecord:
    """One thing an agent said, append-only."""

    road: Road
    kind: str  # "message", "artifact", "status", "error", "task"
    facts: Mapping[str, object]  # as JSON; words are capped


@value(frozen=True, slots=True)
class Observation:
    """Everything one step of a turn changes, in one transaction."""

    turn: Turn  # its revision is the one this was decided on; a store with another one refuses
    submission: SubmissionState | None = None  # None: unchanged
    asked: bool | None = None  # None: unchanged
    agent: str = ""  # whom the turn and its thread ask from now on, in that agent's own context; "": unchanged
    task: RemoteTask | None = None
    records: tuple[InboxRecord, ...] = ()
    context_id: str | None = None  # the remote context to go on with
    pieces: tuple[RenderedPiece, ...] = ()
    end: TurnEnd | None = None  # None: the turn goes on
    step: Step | None = None  # what it changes of followed work
    reports: tuple[Report, ...] = ()  # pieces for other addresses


Told = tuple[tuple[str, str], ...]  # conversations in which a delivery was queued, each with its account


@value(frozen=True, slots=True)
class OpenTask:
    """An interrupted task whose question nobody will answer any more."""

    agent: str
    task_id: str
    context_id: str
    binding: str = ""
    account: str = ""  # and
    thread: str = ""  # of followed work that is canceled by this, where its follower has to be told; "" elsewhere
    told: Told = ()  # that got a report of that


@value(frozen=True, slots=True)
class Cancellation:
    """What a cancel covers: turns at work and open questions, to be told to their agents, and messages dropped."""

    turns: tuple[str, ...]  # turn ids
    dropped: int
    closed: tuple[OpenTask, ...] = ()
    told: Told = ()  # that got a report of it
