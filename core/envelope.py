"""What came in: as a plugin reports it (Inbound), and as the gateway vouches for it (Candidate, Envelope)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING

from core.clock import Instant
from core.identity import Address, Person, Source
from core.parts import Attached, Part
from core.router import Join, Start
from core.values import value

if TYPE_CHECKING:
    from core.followed import Target


class ContextScope(StrEnum):
    FULL = "full"
    NOTIFY = "notify"  # history and live events only: never starts work, never a delivery


@value(frozen=True, slots=True)
class Inbound:
    """One message as a plugin reads it. It cannot name its own source, owner or target: the host stamps these.

    Without a chat or a sender nobody could be answered, and nothing says who wrote: ValueError, make it Unreadable.
    """

    keys: tuple[str, ...]  # dedupe keys; any one seen before makes it a duplicate
    external_id: str  # what the channel calls this event (a Telegram update id); shown to operators
    chat: str
    sender: str  # the channel's immutable id of the person, never a name
    parts: tuple[Part, ...]
    raw: bytes
    topic: str = ""
    message_id: str = ""  # what a reply to it quotes; "" where the channel has none
    reply_to: str = ""  # the message_id this one replies to
    is_direct: bool = True  # False: others read along
    is_addressed: bool = True  # in a group: mentions the bot, replies to it, or is a command for it
    is_edit: bool = False
    is_forward: bool = False
    is_event: bool = False  # something that happened in the chat: kept in its history, starts no work
    language: str | None = None  # BCP 47, as the channel reports it
    unsupported: str = ""  # the kind of content this gateway cannot read ("sticker"); gets a polite notice
    thread: Join | Start | None = None  # the thread it names itself, in this chat; None: the router picks one
    party: str = ""  # for whom the sender speaks, where the channel knows: the owner is this one, not the sender
    route: str = ""  # of an account with several agents: the one it was sent to
    attached: Attached | None = None
    also: "Callable[[str], Target] | None" = None  # another address that is to hear of its work, by the work's thread

    def __post_init__(self) -> None:
        if not self.chat or not self.sender:
            raise ValueError("an inbound message needs its chat and its sender")


@value(frozen=True, slots=True)
class Unreadable:
    """An authenticated event that could not be read; stored with its error and shown to the operator."""

    keys: tuple[str, ...]
    external_id: str
    raw: bytes
    error: str


@value(frozen=True, slots=True)
class Moved:
    """The channel says a chat has a new id (a group became a supergroup): every address and queued delivery follows."""

    keys: tuple[str, ...]
    external_id: str
    raw: bytes
    chat: str
    new_chat: str


@value(frozen=True, slots=True)
class Candidate:
    """An inbound with everything the host decides before it asks the store, which decides the rest in one commit."""

    envelope_id: str
    source: Source
    owner: str
    inbound: Inbound
    received: Instant
    agent: str  # whom its route names
    language: str  # "en" or "zh"
    refusal: str = ""  # not "": refused for this reason; only its raw row and dedupe keys are stored
    command: str = ""  # a text command or desk notice for the host itself; never reaches an agent
    scope: ContextScope = ContextScope.FULL
    choices: Collection[str] = ()  # the agents that the people of the conversation may choose instead
    fallbacks: Mapping[str, str] = field(default_factory=dict)  # by agent: who is asked while that one is down
    is_called: bool = False  # a command of its route names the agent: no choice stands against it
    is_followed: bool = False  # its channel follows the work itself (core/followed.py)

    @property
    def external_id(self) -> str:
        return self.inbound.external_id

    @property
    def address(self) -> Address:
        return Address(self.source, self.inbound.chat, self.inbound.topic)

    def agent_for(self, chosen: str) -> str:
        """The agent it goes to; `chosen` is whom the people of its conversation chose, "" for nobody."""
        return chosen if chosen in self.choices and not self.is_called else self.agent

    def agents_for(self, chosen: str) -> tuple[str, str]:
        """The same, with the agent that stands in for it ("" for none)."""
        agent = self.agent_for(chosen)
        return agent, self.fallbacks.get(agent, "")


Arrival = Candidate | Unreadable | Moved  # a member of a batch, as the host puts it to the store


@value(frozen=True, slots=True)
class Envelope:
    """An admitted message, as a turn reads it."""

    id: str
    seq: int  # per session, in order of admission
    person: Person
    parts: tuple[Part, ...]
    external_id: str = ""
    message_id: str = ""
    command: str = ""
    is_forward: bool = False
    received: Instant = 0.0
    attached: Attached | None = None

    @property
    def forwarded(self) -> Sequence[int]:
        """Which of its parts the sender passed on and did not write."""
        if self.is_forward:
            return range(len(self.parts))
        return self.attached.forwarded if self.attached is not None else ()
