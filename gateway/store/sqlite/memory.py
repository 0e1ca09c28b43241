"""What the writer remembers of its own rows, so that an ordinary message needs no look-up for who and where.

Only the writer's thread touches it, and every change of a row it mirrors passes through the writer; after a rollback
all of it is forgotten. Each table of it is bounded: at the bound the oldest entry goes.
"""

from dataclasses import dataclass, field
from typing import TypeVar

from core.identity import Address, Source
from core.router import ThreadFact

K = TypeVar("K")
V = TypeVar("V")

BOUND = 20_000  # entries a table; about 10 MB of conversations at the bound


@dataclass(slots=True)
class Place:
    """A conversation with its front-desk session."""

    id: str
    source: Source
    chat: str
    topic: str
    owner: str
    session: str
    agent: str
    generation: int
    is_direct: bool
    waits_for_user: bool  # it has deliveries that wait until the person writes again
    newest_seq: int  # of its envelopes
    active: dict[str, ThreadFact] | None = None  # its active threads, oldest first; None: not read, or not sure
    address: Address = field(init=False)

    def __post_init__(self) -> None:
        self.address = Address(self.source, self.chat, self.topic)

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.source.key, self.chat, self.topic)


@dataclass(frozen=True, slots=True)
class Known:
    """A person as the store keeps them."""

    id: str
    owner: str
    language: str


@dataclass(slots=True)
class Live:
    """What an observation needs of a turn at work and its Turn does not say."""

    conversation: str
    session: str
    generation: int
    cancel_wanted: bool


class Bounded(dict[K, V]):
    """A table that drops its oldest entry at the bound."""

    def keep(self, key: K, value: V) -> V:
        if len(self) >= BOUND and key not in self:
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
        self.places = Places()
        self.people: Bounded[tuple[str, str], Known] = Bounded()  # by source and the channel's id
        self.contexts: Bounded[tuple[str, str, int], str | None] = Bounded()  # by session, agent, generation
        self.live: Bounded[str, Live] = Bounded()  # by turn
        self.aliases: dict[str, dict[str, str]] = {}  # by source: old chat to present chat
        self.seq: int | None = None  # of the newest envelope
        self.raw: int | None = None  # id of the newest raw row

    def forget_places(self) -> None:
        """A chat moved: what pointed to one conversation may point to another now."""
        self.places = Places()
        self.aliases.clear()
        self.live.clear()
