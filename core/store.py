"""What the core asks of a store. Each method is one transaction, durable when it returns.

Every method may raise StoreUnavailable: then nothing of it was written, and it may be called again as it is.
The ports are split by caller; one conformance suite (tests/store) holds for every engine and the in-memory double.
"""

from collections.abc import Awaitable, Sequence
from typing import Protocol

from core.choices import Offered
from core.clock import Instant
from core.delivery import Delivery, DeliveryState, RenderedPiece
from core.envelope import Arrival
from core.followed import FollowedRecords, Target
from core.identity import Source
from core.plugin import Cursor
from core.push import PushTargets
from core.turn import Cancellation, Observation, OpenTask, Turn
from core.values import value

# ---------------------------------------------------------------------------------------------- admission


@value(frozen=True, slots=True)
class HeldWindow:
    """What the store has of an envelope's reply window."""

    conversation: str
    until: Instant
    answer: str | None = None  # what it was answered with, as the channel's plugin made it
    was_asked: bool = False  # a request was pending when the answer was taken, and comes again if it was not given


@value(frozen=True, slots=True)
class Admitted:
    """An envelope is in its session's queue (or history)."""

    envelope: str
    owner: str
    conversation: str
    thread: str  # "" for context_scope notify: nothing is to be started
    is_desk: bool  # for the host itself: overtakes work, needs no agent
    hands_over: bool = False  # deliveries that waited for this person are due: their lane is to look
    target: Target | None = None  # what Inbound.also made, as it is stored


@value(frozen=True, slots=True)
class AlreadySeen:
    envelope: str
    window: HeldWindow | None = None  # where it was admitted with one, as long as that is kept
    hands_over: bool = False  # its sender asks again, and what waited for this person is queued for the window


@value(frozen=True, slots=True)
class NotAdmitted:
    reason: str


Admission = Admitted | AlreadySeen | NotAdmitted


class Admissions(Protocol):
    def admit(
        self,
        source: Source,
        batch: Sequence[Arrival],
        cursor: Cursor | None = None,
        *,
        window: Instant | None = None,
    ) -> Awaitable[tuple[Admission, ...]]:
        """One admission for each member, in order: raw row, dedupe keys, conversation, session, thread and envelope.

        `window`: each envelope admitted has a reply window until then. One that is seen again while its window is open
        and has no answer hands over, as a new message would: a request is there that an answer may ride on. So may what
        is queued there and was put off: it is due at once, and hands over too.

        Threads are picked by core.router.pick_thread from what the store knows at that instant. A candidate whose
        pick is "ask which question" is admitted for the desk with the command "which"; where its writer's next message
        chooses one of those questions (core/choices.py), that one is admitted in its words, as the answer; a choice
        that is out of date is for the desk, with the command "choice_over". One that names a thread itself goes there,
        or is not admitted: "unknown_thread" when this conversation has none such, "ended_thread". What its `also` makes
        is called inside the transaction, and stored as by FollowedRecords.put_target.

        Once asked for it is done: it is not given up because nobody waits for it any more.
        """
        ...

    async def knows(self, source: Source, keys: Sequence[str]) -> bool:
        """Whether something with one of these keys came before, so that it would be seen again and not admitted."""
        ...

    async def cursor(self, source: Source, name: str) -> str | None: ...

    async def aliases(self, source: Source) -> dict[str, str]:
        """Old chat id to present chat id, of the chats that moved."""
        ...


# ---------------------------------------------------------------------------------------------- turns


@value(frozen=True, slots=True)
class Ready:
    """A thread with something to do."""

    owner: str
    thread: str
    queued: int
    is_desk: bool = False
    account: str = ""  # through which its answers go out


class Turns(Protocol):
    async def begin(self, thread: str, now: Instant, *, limit: int = 1) -> Turn | None:
        """Take the thread's oldest queued envelopes (at most `limit`) into a new running turn.

        Its submission is intended from then on. It may not be durable yet: lost with the process, the same turn with
        the same message id begins again, and all that is stored of it later is behind it. None when the thread has
        nothing queued, or a turn of it is still running or waiting.
        """
        ...

    async def sync(self) -> None:
        """Until every turn that was begun is durable."""
        ...

    async def observe(self, observation: Observation, now: Instant) -> Turn | None:
        """Commit the observation; the turn as it is now, or None when its revision was no longer the present one.

        Equal pieces make no new deliveries; a changed one makes the next revision with Op.REPLACE. When the turn ends
        waiting for input, envelopes still queued in its thread were written before the question was asked and do not
        answer it: they move, in order, to a new thread, which becomes the foreground. Of followed work they stay, since
        they name it.

        A task that is known belongs to the conversation of its turn: raises ForeignTask, with nothing written, where a
        turn of another conversation claims it, whether the task is at work, asks, or has ended.
        """
        ...

    async def note(self, observation: Observation, now: Instant) -> None:
        """Record what an agent said after its turn had ended: the task and the inbox records, nothing else."""
        ...

    async def ready(self) -> Sequence[Ready]:
        """After a start: every thread with queued envelopes, also behind a turn at work, oldest first."""
        ...

    async def unfinished(self) -> Sequence[Turn]:
        """After a start: every turn that was running or waiting when the process ended."""
        ...

    async def rouse(self, turn: str) -> Turn | None:
        """Its task moved on by itself: a turn that ended with a question still open is waiting on its task again.

        None when the question was answered or closed meanwhile.
        """
        ...

    async def asking(self, turn: str) -> Turn | None:
        """A turn that ended with a question which is still open; else None."""
        ...

    async def watched(self) -> Sequence[Turn]:
        """After a start: every turn whose open question is a sign-in, after which its task may go on by itself."""
        ...

    async def untold(self) -> Sequence[OpenTask]:
        """After a start: every task whose question was closed, and whose agent has yet to be told of that."""
        ...

    async def told(self, agent: str, task_id: str) -> None:
        """An agent was told that its question is closed."""
        ...

    async def want_cancel(
        self, conversation: str, before: int, *, person: str | None, everything: bool, now: Instant
    ) -> Cancellation:
        """Mark turns as cancel-wanted and drop queued envelopes admitted before `before` (a seq).

        Covers the foreground thread, or else the newest waiting one; with `everything`, every thread of the
        conversation. `person` limits it to that person's messages (groups). Open questions covered are closed.
        """
        ...

    async def mark_cancel(self, turn: str) -> bool:
        """An operator's cancel of one turn, kept over a restart; False when it is not at work."""
        ...

    async def renew(self, conversation: str, now: Instant) -> tuple[OpenTask, ...]:
        """/new: the next message starts a new remote context and a new thread; running work goes on.

        Open questions are closed, since what is written next answers none of them; their tasks are returned.
        """
        ...


# ---------------------------------------------------------------------------------------------- reply windows


class ReplyWindows(Protocol):
    async def ride(self, envelope: str, delivery: str, answer: str, *, was_asked: bool) -> bool:
        """Answer the envelope's window with this, once: False when it has an answer, or there is no such window.

        `delivery` is the one whose words these are, "" for the channel's own. `was_asked`: a request is pending, and
        its sender asks again if it gets no answer.
        """
        ...

    async def unride(self, envelope: str, delivery: str) -> None:
        """Nobody came for the answer, nor will: the window has none again, and the delivery goes another way."""
        ...

    async def held(self, envelope: str) -> HeldWindow | None: ...

    async def claim_behind(self, delivery: Delivery, now: Instant) -> Delivery | None:
        """Begin an attempt on what is due next behind one that is being attempted, to ride along with it."""
        ...


# ---------------------------------------------------------------------------------------------- deliveries


@value(frozen=True, slots=True)
class NotBefore:
    """The lane's next delivery is due at this time."""

    due: Instant


@value(frozen=True, slots=True)
class Settlement:
    """What became of an attempt."""

    delivery: Delivery
    state: DeliveryState  # QUEUED: again at `due`
    reason: str = ""
    ids: tuple[str, ...] = ()  # the channel's ids of what was shown
    due: Instant | None = None
    repeat: bool = False  # QUEUED again although it may have been shown: the next attempt is marked as a repeat
    blocked: bool = False  # the address is dead: bury everything queued for it with the same reason
    moved_to: str = ""  # the chat's new id: the conversation and everything queued follows


class Deliveries(Protocol):
    async def claim(self, conversation: str, now: Instant) -> Delivery | NotBefore | None:
        """Begin an attempt on the lane's next delivery, durable before the first byte; None when the lane is empty.

        Deliveries older than their `not_after` are buried on the way. One that was queued or attempted in the future is
        due: the clock was set back since.
        """
        ...

    async def settle(self, settlement: Settlement, now: Instant, notice: RenderedPiece | None = None) -> bool:
        """Record an attempt's outcome; `notice` is queued behind it, in the same turn and conversation.

        True when the conversation has anything queued after this (due or not): the lane looks again.
        """
        ...

    async def previewed(self, turn: str, shown: str) -> None:
        """Keep the channel's id of a turn's preview, so that its first delivery replaces it, after a restart too."""
        ...

    async def lanes(self) -> Sequence[tuple[str, Source]]:
        """After a start: conversations with queued deliveries."""
        ...

    async def begun(self) -> Sequence[Delivery]:
        """After a start: deliveries whose attempt had begun when the process ended.

        Each is to be settled Unknown, or, where it has a `window`, by what becomes of that.
        """
        ...

    async def again(self, conversation: str, now: Instant) -> int:
        """/again: queue the conversation's newest unknown deliveries once more, marked as repeats; how many."""
        ...


# ---------------------------------------------------------------------------------------------- desk


@value(frozen=True, slots=True)
class Work:
    """One line of /status."""

    thread: str
    state: str  # of the thread: queued, running, waiting
    agent: str
    text: str  # the beginning of the question
    since: Instant
    queued: int = 0
    task_state: str = ""  # verbatim from the agent, "" before it answered
    heard: Instant | None = None
    disposition: str = ""
    waits_for_input: bool = False


@value(frozen=True, slots=True)
class DeskView:
    """What /status shows of one conversation."""

    works: tuple[Work, ...]
    unknown_deliveries: int
    parked_until: Instant | None  # a throttled channel: the next delivery's due time
    unknown_submissions: int


class DeskRecords(Protocol):
    async def view(self, conversation: str) -> DeskView: ...

    async def offered(self, thread: str) -> Sequence[Offered]:
        """What a desk's thread with the command "which" is to ask: the questions that were open at its admission."""
        ...

    async def unknown_submission(self, conversation: str, now: Instant) -> Ready | None:
        """/again: put the newest turn whose submission is unknown back to work with its same message id.

        Its `queued` are that turn's messages; what is queued behind them was counted when it came in.
        """
        ...

    async def choose(self, conversation: str, agent: str) -> None:
        """/agents: who answers the conversation's next messages, as far as its routes allow; "" leaves it to them."""
        ...


class Store(Admissions, Turns, ReplyWindows, Deliveries, DeskRecords, PushTargets, FollowedRecords, Protocol):
    """All of the above; leases and plugin state stand beside it (core/plugin.py)."""
