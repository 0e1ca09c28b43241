"""What the tracker gives a turn's pursuit: its agent as configured now, the store, and a place for work beside it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from core.agent import Agent
from core.clock import Clock
from core.delivery import Piece, RenderedPiece
from core.files import Files
from core.followed import Follower
from core.holders import Holders
from core.patience import Patience
from core.push import PushAgent, PushBook
from core.telemetry import Telemetry
from core.turn import Observation, Turn


@dataclass(frozen=True, slots=True)
class Delegate:
    """An agent and what the configuration says of asking it."""

    agent: Agent
    resubmits: bool = False  # a lost submission may be sent again: the agent is known to deduplicate by messageId
    is_local: bool = False
    pushes: PushAgent | None = None  # the same agent, where it may be told where to push


class Helm(Protocol):
    pushes: PushBook
    clock: Clock
    telemetry: Telemetry
    patience: Patience
    files: Files
    holders: Holders

    def delegate(self, turn: Turn) -> Delegate | None:
        """The turn's agent as it is configured now; None when it is not any more."""
        ...

    def fallback(self, turn: Turn) -> str:
        """The agent that is asked instead while the turn's is down; "" for none."""
        ...

    async def sync(self) -> None:
        """Until it is durable that the turn has begun: before anybody outside this process hears of it."""
        ...

    async def commit(self, observation: Observation) -> Turn: ...

    async def note(self, observation: Observation) -> None:
        """Record what an agent says of a turn that has ended."""
        ...

    def render(self, turn: Turn, pieces: tuple[Piece, ...]) -> tuple[RenderedPiece, ...]: ...

    async def keep(self, turn: Turn, pieces: tuple[Piece, ...]) -> None:
        """Where what is rendered of the pieces names their files: keep these, before it is committed."""
        ...

    def follower(self, turn: Turn) -> Follower | None:
        """Of a turn whose channel follows the work itself."""
        ...

    def spawn(self, work: Callable[[], Awaitable[None]], name: str) -> None: ...
