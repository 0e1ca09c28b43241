"""The A2A server side as the host sees it: a channel whose people are agents.

A message is admitted as on any channel; what becomes of it is followed instead of shown (core/following.py), so there
is nothing to render, and what goes out as deliveries are the push notifications of pushing.py.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a.server.port import ServedTasks
from a2a.server.pushing import CONFIGS, Body, Pushes
from a2a.server.served import Served
from a2a.server.served_lives import Lives
from core.delivery import Delivery, Outcome, Payload, Piece
from core.errors import ConfigurationError
from core.following import Follower
from core.identity import Source
from core.plugin import Capabilities, Host, Intake, PreviewFrame

if TYPE_CHECKING:
    from core.doors.ingress import Ingress, Route

KIND = "a2a"

Facade = Callable[["Ingress", Mapping[str, ServedTasks]], Iterable["Route"]]
"""What makes the HTTP routes in front of the tasks of each exposed agent."""


@dataclass(frozen=True, slots=True)
class Serving:
    """What the account's configuration says, as this side needs it."""

    agents: Sequence[str]  # that can be called, by name
    passes: Sequence[str] = ()  # keys of a message's metadata, and extensions, that go on to the agent
    allow_push_private: bool = False
    push_configs: int = CONFIGS  # of one task at most


class A2APlugin:
    """Construction does no I/O."""

    def __init__(self, account: str, serving: Serving, host: Host, *, body: Body, facade: Facade) -> None:
        if host.following is None:
            raise ConfigurationError("this host does not let plugins follow work", setting=f"plugins.{account}")
        self._facade, self._intake = facade, None
        self._pushes = Pushes(
            Source(KIND, account),
            host.following.records,
            host.client,
            body,
            allow_private=serving.allow_push_private,
            limit=serving.push_configs,
        )
        self._lives = Lives(host.following.records, self._pushes)
        self.tasks: Mapping[str, ServedTasks] = {
            agent: Served(
                account, agent, host.following, self._lives, self._pushes, lambda: self._intake, serving.passes
            )
            for agent in serving.agents
        }

    _intake: Intake | None

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(follows=True, repeats_unknown=True)

    @property
    def follower(self) -> Follower:
        return self._lives

    @property
    def health(self) -> dict[str, object]:
        return {"state": "receiving" if self._intake is not None else "starting", "tasks": len(self._lives)}

    async def run(self, intake: Intake) -> None:
        """Until cancelled; then nothing more is admitted, and what is at work is told to whoever still reads."""
        self._intake = intake
        try:
            await asyncio.Event().wait()
        finally:
            self._intake = None

    def routes(self, ingress: "Ingress") -> Iterable["Route"]:
        return self._facade(ingress, self.tasks)

    def render(self, piece: Piece) -> tuple[Payload, ...]:
        """Answers are followed, not shown."""
        del piece
        return ()

    async def send(self, delivery: Delivery) -> Outcome:
        return await self._pushes.send(delivery)

    async def preview(self, frame: PreviewFrame) -> str:
        del frame
        return ""
