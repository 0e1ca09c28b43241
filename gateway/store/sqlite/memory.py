"""What the writer remembers of its own rows, so that an ordinary message is written and never read back.

Only operations touch it, and every change of a row it mirrors passes through the writer. What is not here is
read from its rows; after a rollback all of it is forgotten. Each table of it is bounded: at the bound its oldest entry
goes.
"""

from dataclasses import dataclass, field
from typing import TypeVar

from core.envelope import Envelope
from core.identity import Address, Person, Source
from core.router import ThreadFact

K = TypeVar("K")
V = TypeVar("V")

BOUND = 10_000  # entries a table; about 5 MB of conversations at the bound
QUEUES = 4_096  # threads whose queued messages are remembered whole; about 10 MB of messages of 1 kB


@dataclass(slots=True)
class Place:
    """A conversation with its front-desk session."""

    id: str
    source: Source
    chat: str
    topic: str
    owner: str
    session: str
    agent: str  # of its newest message that no command gave to another
    generation: int
    is_direct: bool
    waits_for_user: bool  # it has deliveries that wait until the person writes again
    newest_seq: int  # of what was said here; events and edits come between no question and its answer
    chosen: str = ""  # the agent that its people chose; "" leaves it to the account's routes
    is_followed: bool = False  # its channel follows the work itself
    active: dict[str, ThreadFact] | None = None  # its active threads, oldest first; None: to be read
    address: Address = field(init=False)

    def __post_init__(self) -> None:
        self.address = Address(self.source, self.chat, self.topic)

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.source.key, self.chat, self.topic)


@dataclass(slots=True)
class Queue:
    """An active thread seen from its first message on, gone the ordinary way so far: nothing of it need be read."""

    where: Place
    agent: str
    is_desk: bool
    envelopes: list[Envelope]  # queued, in order
    is_at_work: bool = False


@dataclass(slots=True)
class Live:
    """A turn at work, as far as an observation needs it."""

    conversation: str
    session: str
    generation: int
    revision: int
    cancel_wanted: bool


class Bounded(dict[K, V]):
    """A table that drops its oldest entry at the bound."""

    def __init__(self, bound: int = BOUND) -> None:
        super().__init__()
        self._bound = bound

    def keep(self, key: K, value: V) -> V:
        if len(self) >= self._bound and key not in self:
            del self[next(iter(self))]
        self[key] = value
        return value


class Places:
    """Conversations by id and by where they are; one object for both, so that neither can be stale."""

    def __init__(self) -> None:
        self.by_id: dict[str, Place] = {}
        self.by_key: dict[tuple[str, str, str], Place] = {}

    def keep(self, place: Place) -> Place:
        if len(self.by_id) >= BOUND:
            oldest = self.by_id.pop(next(iter(self.by_id)))
            self.by_key.pop(oldest.key, None)
        self.by_id[place.id] = self.by_key[place.key] = place
        return place


class Memory:
    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.forget_places()
        self.people: Bounded[tuple[str, str], Person] = Bounded()  # by source and the channel's id
        self.seq: int | None = None  # of the newest envelope
        self.raw: int | None = None  # id of the newest raw row

    def forget_places(self) -> None:
        """A chat moved: what pointed to one conversation may point to another now."""
        self.places = Places()
        self.aliases: dict[str, dict[str, str]] = {}  # by source: old chat to present chat
        self.queues: Bounded[str, Queue] = Bounded(QUEUES)  # by thread
        self.live: Bounded[str, Live] = Bounded()  # by turn
        self.contexts: Bounded[tuple[str, str, int], str | None] = Bounded()  # by session, agent, generation
