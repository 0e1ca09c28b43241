"""What goes out: pieces of an answer, their rendered parts, and what came of showing them."""

from enum import StrEnum
from typing import Any

from core.clock import Instant
from core.identity import Address
from core.parts import Part
from core.values import value


@value(frozen=True, slots=True)
class Piece:
    """One thing to show. `key` is `artifact:ID`, `message:ID` or `notice:NAME`, unique in its turn.

    `choices` are lines that its reader may choose from, by writing one (core/choices.py). They stand at the end of its
    words too, so that a channel without menus shows nothing else.
    """

    key: str
    parts: tuple[Part, ...]
    choices: tuple[str, ...] = ()


Payload = dict[str, Any]  # one rendered part, as its plugin stores it: JSON


@value(frozen=True, slots=True)
class RenderedPiece:
    """A piece with its parts as the channel will get them, made before the first is sent."""

    key: str
    text: str  # the piece's words; equal words make no new revision
    payloads: tuple[Payload, ...]


class Op(StrEnum):
    SHOW = "show"
    REPLACE = "replace"
    WITHDRAW = "withdraw"


class DeliveryState(StrEnum):
    QUEUED = "queued"
    ATTEMPTING = "attempting"
    DELIVERED = "delivered"
    PRESUMED = "presumed"
    UNKNOWN = "unknown"
    REJECTED = "rejected"
    WAITING_FOR_USER = "waiting_for_user"
    DEAD = "dead"
    DISCARDED = "discarded"
    WITHDRAWN = "withdrawn"


@value(frozen=True, slots=True)
class Delivery:
    """One rendered part for one address, claimed for one attempt."""

    id: str
    conversation: str
    address: Address
    turn: str
    payload: Payload
    attempt: int  # 1 for the first
    queued: Instant
    not_after: Instant  # its age counts from its queueing
    op: Op = Op.SHOW
    part: int = 0
    parts: int = 1
    language: str = "en"
    is_direct: bool = True
    quote: str = ""  # the channel's id of the question to thread this to; "" for none
    replaces: tuple[str, ...] = ()  # the channel's ids of what this takes the place of
    preview: str = ""  # the channel's id of the turn's preview, which its first delivery takes the place of
    is_repeat: bool = False  # shown again after an unknown outcome: the channel marks it
    window: str = ""  # after a start: the envelope whose reply window had taken it


@value(frozen=True, slots=True)
class Sent:
    """The channel has it, and calls it these."""

    ids: tuple[str, ...]
    presumed: bool = False  # nobody contradicted: the best a passive reply can say


class Refusal(StrEnum):
    """Why a channel refused a delivery; each means one thing to do."""

    THROTTLED = "throttled"  # wait `retry_after`, this address only
    UNAVAILABLE = "unavailable"  # certainly not taken; back off and repeat
    BLOCKED = "blocked"  # the address is dead: so is all that is queued for it
    NO_TOPIC = "no_topic"  # the topic is gone
    MALFORMED = "malformed"  # this content is refused for good
    MOVED = "moved"  # the chat has the id `moved_to` now
    UNAUTHORISED = "unauthorised"  # the account's credentials are wrong: the plugin is red, the delivery waits
    WINDOW_CLOSED = "window_closed"  # the bot may speak again after the person wrote, or is to try after `retry_after`


@value(frozen=True, slots=True)
class Rejected:
    """A definite no: the message was not shown."""

    kind: Refusal
    reason: str
    retry_after: float | None = None  # seconds
    moved_to: str = ""


@value(frozen=True, slots=True)
class Unknown:
    """The channel may have shown it; nobody can tell."""

    reason: str


Outcome = Sent | Rejected | Unknown
