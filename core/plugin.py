"""The port between the host and a chat plugin: the door it is handed, and what it offers in return.

A plugin turns its vendor's events into Inbound values, hands them to its Intake and acknowledges the vendor after
that returned; it shows Deliveries when asked. It never retries, never routes, never keeps state of its own: cursors
commit with the messages they count, and what else it must remember goes through PluginState.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from core.clock import Clock, Instant
from core.delivery import Delivery, Outcome, Payload, Piece
from core.envelope import Inbound, Moved, Unreadable
from core.files import NO_FILES, Files
from core.identity import Address
from core.seal import NoSeal, Seal
from core.telemetry import Silent, Telemetry
from core.values import value
from core.window import ReplyWindow

SILENT = Silent()

if TYPE_CHECKING:
    from core.doors.ingress import Ingress, Route
    from core.doors.outbound import GuardedClient
    from core.followed import FollowedWork, Target


@value(frozen=True, slots=True)
class Accepted:
    envelope: str
    thread: str = ""  # that it is queued in; "" where it starts no work
    target: "Target | None" = None  # what its `also` made: durable with it, and told of all that its work does


@value(frozen=True, slots=True)
class Duplicate:
    envelope: str  # "" when the first one was refused or unreadable


@value(frozen=True, slots=True)
class Refused:
    reason: str  # "not_allowed", "not_addressed", "unreadable", "unknown_thread", "ended_thread"


Admission = Accepted | Duplicate | Refused


@value(frozen=True, slots=True)
class Cursor:
    """A position in the vendor's event stream; it commits with the batch it belongs to, or not at all."""

    name: str
    value: str


class Intake(Protocol):
    """The way in for one account, bound to its source."""

    async def accept(
        self,
        batch: Sequence[Inbound | Unreadable | Moved],
        *,
        cursor: Cursor | None = None,
        window: ReplyWindow | None = None,
    ) -> Sequence[Admission]:
        """Take responsibility for the batch, in its order; durable when this returns, one admission for each.

        `window` is the request that brought a batch of one, kept open for the answer to it: see core/window.py.

        Raises Busy (nothing was stored; 503 with Retry-After, or wait), FloodFromSender (429) and StoreUnavailable
        (503): the vendor must not be acknowledged, and redelivers.
        """
        ...

    async def cursor(self, name: str) -> str | None:
        """The value committed last, None before the first."""
        ...

    async def lets_in(self, inbound: Inbound) -> bool:
        """Whether its sender is let in, as things are now: to be asked before something dear is done for a message."""
        ...

    @property
    def language(self) -> str:
        """Of what a channel says itself, as the configuration has it now; "": as the channel reports it."""
        ...


@value(frozen=True, slots=True)
class Capabilities:
    """What a channel can do; the host asks this, never who the plugin is."""

    replaces: bool = False  # an Op.REPLACE delivery changes what was shown; else it is shown anew, marked as an update
    previews: bool = False  # shows text that is still being made
    preview_interval: float = 1.0  # seconds between two previews of one chat
    activity_interval: float | None = None  # seconds after which a "typing" sign fades; None: the channel has none
    follows: bool = False  # is told of the work itself, as a core.followed.Follower; no answer is rendered for it
    live: frozenset[str] = frozenset()  # its own settings that may change while it runs, as a ChangingPlugin
    keeps_files: bool = False  # its payloads name files by their ids: their bytes are kept before they are committed
    asks_again: float | None = None  # seconds in which a request that hears nothing is made again; None: it is not
    repeats_unknown: bool = False  # whoever gets its deliveries knows a repeat for one: what may be lost is sent again


@value(frozen=True, slots=True)
class PreviewFrame:
    """The latest picture of an unfinished answer; a later frame replaces it."""

    address: Address
    turn: str
    text: str  # "" while there are no words yet: only a sign of activity is due
    shown: str = ""  # the channel's id of the frame to replace; "" for the first
    is_direct: bool = True
    quote: str = ""


class AgentPlugin(Protocol):
    """One configured account of a channel."""

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def health(self) -> Mapping[str, object]:
        """What the account itself says of its connection, for operators; without secrets.

        `state` is one word. `trouble` is a sentence on what keeps it from receiving or showing, with the remedy; "" or
        absent when nothing does.
        """
        ...

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled. What it raises is stored and shown, and it is started again with back-off."""
        ...

    def routes(self, ingress: "Ingress") -> Iterable["Route"]:
        """The channel's own HTTP routes, each built through the ingress; () when it is not called over HTTP."""
        ...

    def render(self, piece: Piece) -> tuple[Payload, ...]:
        """The piece as the channel will get it, split into messages; pure, and () when there is nothing to show."""
        ...

    async def send(self, delivery: Delivery) -> Outcome:
        """Show one part, once. Never repeats by itself; an exception is a bug and counts as Unknown."""
        ...

    async def preview(self, frame: PreviewFrame) -> str:
        """Show unfinished text or a sign of activity; the channel's id of the frame, "" when it has none.

        Best effort: what it raises is dropped. Called only when the capabilities say so.
        """
        ...


class ChangingPlugin(Protocol):
    """What a plugin is besides, whose capabilities name settings that may change while it runs."""

    def change(self, settings: Any) -> None:
        """Use the live ones of these settings of its own kind from now on; may not fail."""
        ...


@value(frozen=True, slots=True)
class Entry:
    """One line of a chat's history, for channels that show it themselves."""

    id: str  # of the envelope or the delivery; the same over all readings
    at: Instant
    is_theirs: bool  # the person's own message; False: something the gateway shows
    text: str  # of a person's message; "" for a delivery
    payload: Payload  # of a delivery, as its plugin rendered it; {} for a message
    turn: str = ""
    replaces: tuple[str, ...] = ()  # entries this one takes the place of


class History(Protocol):
    """What was said in a chat, for channels that show it themselves."""

    async def history(self, address: Address, *, limit: int = 200) -> Sequence[Entry]:
        """The newest `limit` entries, oldest first: messages admitted and deliveries shown."""
        ...


class PluginState(Protocol):
    """What a plugin must remember, by compare-and-set, shared between replicas."""

    async def read(self, account: str, name: str) -> tuple[str, int] | None:
        """The value and its version; None when never written."""
        ...

    async def write(self, account: str, name: str, value: str, *, version: int) -> bool:
        """Replace the value that has this version (0: none yet); False when another one was faster."""
        ...

    async def forget(self, account: str, name: str, *, version: int) -> bool:
        """Remove the value that has this version, as if it had never been written; False when it has another."""
        ...


class Leases(Protocol):
    """Who may do what only one may do, with fencing."""

    async def acquire(self, name: str, holder: str, ttl: float) -> int | None:
        """Take or renew the lease for `ttl` seconds; its fence, which grows with each new holder, or None if held."""
        ...

    async def release(self, name: str, holder: str) -> None: ...


@value(frozen=True, slots=True)
class Host:
    """What the process lends to every account when it makes its plugin."""

    client: "GuardedClient"
    leases: Leases
    state: PluginState
    history: History
    clock: Clock
    holder: str  # this process, as leases name it
    public_url: str = ""  # where others reach the gateway; "" when nobody said
    is_default: bool = True  # the first account of its kind: it may own the kind's short path
    following: "FollowedWork | None" = None  # for accounts that follow the work itself
    telemetry: Telemetry = SILENT
    files: Files = NO_FILES
    seal: Seal = NoSeal()


@value(frozen=True, slots=True)
class PluginKind:
    """What an entry point of the group frontdesk.plugins names."""

    Settings: type[Any]  # a pydantic model
    create: Callable[[str, Any, Host], AgentPlugin]  # one account, without I/O; its settings are what the model made
