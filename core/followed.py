"""Work that its channel follows itself: instead of an answer to show, it is told of states, artifacts and questions.

A channel whose far end is a program (a calling agent, a webhook that waits) says so in its Capabilities. Its threads
then leave a record of the work (Followed), written in the same transactions as what it tells of: begun with the
admission, at work with the turn, and from then on with each observation, of which a Step says what it changes. After
the commit, and in its order, the plugin hears the same as a Follower. Only chunks of text run ahead of their record,
since whatever is lost of them comes again with the whole artifact.

A Step is news of one turn; the work goes on as long as messages are queued for it, whatever one turn came to. What has
ended stays as it ended.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from core.agent import Artifact, ArtifactUpdate, Metadata, TaskState
from core.clock import Clock, Instant
from core.delivery import RenderedPiece
from core.parts import Attached, Part
from core.values import value

if TYPE_CHECKING:
    from core.identity import Address, Source
    from core.session import Lanes
    from core.tracker import TaskTracker
    from core.turn import Cancellation, Turn


@value(frozen=True, slots=True)
class Said:
    """What the agent says of a state: its question, its last words."""

    id: str
    parts: tuple[Part, ...]
    attached: Attached | None = None


@value(frozen=True, slots=True)
class Made:
    """A whole artifact, and its place among those of its turn."""

    place: int
    artifact: Artifact


@value(frozen=True, slots=True)
class Step:
    """What one observation of a turn changes of the work."""

    state: TaskState
    said: Said | None = None
    is_news: bool = True  # the state, or what is said of it, is another one than before
    artifacts: tuple["Made", ...] = ()  # new or changed ones that are complete
    gone: tuple[str, ...] = ()  # ids of artifacts that the task turned out not to have
    update: ArtifactUpdate | None = None  # as it came, when it sealed one of `artifacts`
    is_bare: bool = False  # the agent answered with a bare message, and said nothing else in this turn
    metadata: Metadata = None  # what joins the work's


def state_now(step: Step, *, more: bool) -> TaskState:
    """`more`: messages are queued for the work behind this turn, so it goes on whatever the turn came to."""
    return TaskState.WORKING if more else step.state


@value(frozen=True, slots=True)
class Report:
    """A piece for another address than the one that asked."""

    conversation: str
    piece: RenderedPiece
    going_on: RenderedPiece | None = None  # in its place while messages are queued behind the turn; None: the same

    def piece_now(self, *, more: bool) -> RenderedPiece:
        """What is told; only the commit knows what is queued, so it asks."""
        return self.going_on if more and self.going_on is not None else self.piece


CancelReports = Callable[["Address", str, Instant], Sequence[Report]]
"""What is to be reported of a thread's work that is canceled while no turn is at work: from its conversation's address.
Called inside the transaction, so it waits for nothing and may be called again."""


def no_reports(address: "Address", thread: str, at: Instant) -> Sequence[Report]:
    """Nothing is to be reported elsewhere."""
    del address, thread, at
    return ()


@value(frozen=True, slots=True)
class Heard:
    """One entry of the work's history: a message admitted for it, or what its agent said and then went beyond."""

    id: str
    parts: tuple[Part, ...]
    is_theirs: bool
    attached: Attached | None = None


@value(frozen=True, slots=True)
class Followed:
    """The record of one piece of work, read at one instant."""

    id: str  # its thread's
    owner: str
    topic: str  # of its conversation
    agent: str
    state: TaskState
    time: Instant  # of the state
    said: Said | None
    is_answered: bool  # messages are queued for it: what it asked, it asks no more
    artifacts: tuple[Artifact, ...]
    history: tuple[Heard, ...]
    position: tuple[int, int]  # the turn and its revision that made it so; grows
    metadata: Mapping[str, Any] = field(default_factory=dict)  # what its agents said beside the task and its states
    is_bare: bool = False  # who asked was answered with what is said alone, and knows of no work


@value(frozen=True, slots=True)
class Target:
    """An address besides the one that asked, to which the work's changes are reported, until the work is removed."""

    thread: str
    id: str
    conversation: str  # "" before it is stored
    settings: Mapping[str, Any] = field(default_factory=dict)  # JSON, the plugin's own; may hold secrets


@value(frozen=True, slots=True)
class Wanted:
    """Which pieces of work to list, the newest state first."""

    owner: str
    agent: str
    size: int
    topic: str = ""  # "" for any
    state: TaskState | None = None
    since: Instant | None = None  # states at or after it
    before: tuple[Instant, int] | None = None  # go on behind this place of an earlier page


@value(frozen=True, slots=True)
class FollowedPage:
    works: tuple[Followed, ...]
    next: tuple[Instant, int] | None  # None on the last page
    total: int


class Follower(Protocol):
    """What a plugin offers whose capabilities say that it follows. Only `load` may wait, and nothing may fail."""

    async def load(self) -> None:
        """Before anything is taken up after a start. Raises StoreUnavailable, and is called again."""
        ...

    def began(self, turn: "Turn", *, is_new: bool) -> None:
        """A turn is at work; `is_new` is False for one that is gone on with after a start."""
        ...

    def chunk(self, turn: "Turn", update: ArtifactUpdate, whole: Artifact) -> None:
        """A part of an artifact that is still being made, and all there is of it by now. Not durable."""
        ...

    def reports(self, turn: "Turn", step: Step, at: Instant) -> Sequence[Report]:
        """What the step makes to be reported elsewhere; committed with it."""
        ...

    def observed(self, turn: "Turn", step: Step, at: Instant) -> None:
        """A step is durable; `turn` is the turn after it."""
        ...

    def not_cancelled(self, turn: "Turn", *, is_refused: bool) -> None:
        """The agent was told to stop, and the work goes on: it will not, or it has not said."""
        ...

    def cancelled(self, thread: str, at: Instant) -> None:
        """It was canceled, durably, while no turn was at work that would say so: an operator closed its question."""
        ...

    def cancel_reports(self, topic: str, thread: str, at: Instant) -> Sequence[Report]:
        """What such a cancel makes to be reported elsewhere; committed with it. As CancelReports."""
        ...


class FollowingPlugin(Protocol):
    """What a plugin is besides, whose capabilities say that it follows."""

    @property
    def follower(self) -> Follower: ...


class FollowedRecords(Protocol):
    """What a store offers of followed work (see core/store.py for what holds of every method)."""

    async def followed(self, thread: str) -> Followed | None: ...

    async def keep_bare(self, thread: str) -> None:
        """Remember that what is said of it is answered alone, as Followed.is_bare says."""
        ...

    async def thread_of(self, envelope: str) -> str:
        """The thread an envelope was admitted to, "" when it is not known (any more)."""
        ...

    async def followed_page(self, wanted: Wanted) -> FollowedPage: ...

    async def cancel_thread(self, thread: str, now: Instant, reports: CancelReports = no_reports) -> "Cancellation":
        """Mark the thread's turn as cancel-wanted, drop what is queued for it, close its question.

        Work without a turn that could say so is canceled by this, and what `reports` makes of that is queued.
        """
        ...

    async def put_target(self, target: Target, source: "Source") -> Target:
        """Store it, in the place of one with the same thread and id; with its conversation."""
        ...

    async def drop_target(self, thread: str, id: str) -> None: ...

    async def targets(self, source: "Source") -> Sequence[Target]:
        """Of all work of this account that has not ended."""
        ...

    async def targets_of(self, thread: str) -> Sequence[Target]: ...


CardOf = Callable[[str], Awaitable[Mapping[str, Any]]]
"""What the agent of this name says of itself in the card of its own, a stranger's words; {} where it has none."""


async def no_card(_agent: str) -> Mapping[str, Any]:
    return {}


class FollowedWork:
    """What the host does for a plugin that follows: its records, cancelling one exact piece of work, agents' cards."""

    def __init__(
        self,
        records: FollowedRecords,
        tracker: Callable[[], "TaskTracker"],
        lanes: Callable[[], "Lanes"],
        clock: Clock,
        card_of: CardOf = no_card,
    ) -> None:
        self.records, self.clock, self.card_of = records, clock, card_of
        self._tracker, self._lanes = tracker, lanes

    async def cancel(self, thread: str, owner: str, at: Instant) -> bool:
        """True when its agent is told, who will say what comes of it; False when the work is over by this."""
        tracker = self._tracker()
        covered = await self.records.cancel_thread(thread, at, tracker.cancel_reports)
        self._lanes().drop(owner, covered.dropped)
        tracker.cancel(covered.turns)
        tracker.let_go(covered.closed)
        tracker.wake(covered.told)
        return bool(covered.turns)
