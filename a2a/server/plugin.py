"""The A2A server side as the host sees it: a channel whose people are agents.

A message is admitted as on any channel; what becomes of it is followed instead of shown (core/followed.py), so there
is nothing to render, and what goes out as deliveries are the push notifications of pushing.py.
"""

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from a2a.server.descriptions import Describer
from a2a.server.encoding import dumps
from a2a.server.facade import LIVE, Facade
from a2a.server.port import ServedEvent, ServedTask, ServedTasks
from a2a.server.pushing import Body, Pushes
from a2a.server.rates import Rates
from a2a.server.reading import View
from a2a.server.requests import LONGEST_ID
from a2a.server.served import Served
from a2a.server.served_lives import Lives
from a2a.server.settings import A2AServerSettings
from a2a.server.writing import Writer10
from a2a.server.writing_03 import Writer03
from core.delivery import Delivery, Outcome, Payload, Piece
from core.errors import ConfigurationError
from core.followed import FollowedWork, Follower
from core.identity import Source
from core.plugin import Capabilities, Host, Intake, PluginKind, PreviewFrame

if TYPE_CHECKING:
    from core.doors.ingress import Ingress, Route

KIND = "a2a"
TOLD = View(history=0)  # a notification says what changed, and not all that was said before


def _key_lost(host: Host, account: str, configs: int) -> None:
    host.telemetry.event(
        "push_secrets.unreadable", level="error", account=account, configs=configs, error=_unreadable(configs)
    )


def _unreadable(configs: int) -> str:
    """What is wrong and what to do, as the doctor says it of an account."""
    return (
        f"unable to push to {configs} of its callers' addresses: their secrets were closed with another key; put back "
        "the file secret-key beside the database (or gateway.secret_key) and restart, or have the callers set their "
        "push notification configs again"
    )


def _broke_off(host: Host, account: str, caller: str, agent: str, context: str) -> None:
    host.telemetry.event(
        "a2a.loop", level="warning", account=account, caller=caller, agent=agent, context=context[:LONGEST_ID]
    )


def notification(event: ServedEvent, protocol: str) -> bytes:
    """The body of a push notification: a StreamResponse of 1.0 (4.3.3), or the whole task of 0.3."""
    if protocol.startswith("0.") and isinstance(event, ServedTask):
        return dumps(Writer03().task(event, TOLD))
    return dumps(Writer10().event(event, TOLD))


class A2APlugin:
    """Construction does no I/O."""

    def __init__(self, account: str, settings: A2AServerSettings, host: Host, *, body: Body = notification) -> None:
        if host.following is None:
            raise ConfigurationError("this host does not let plugins follow work", setting=f"plugins.{account}")
        self._intake: Intake | None = None
        self._state = "starting"
        self._pushes = self._pushing(account, settings, host, host.following, body)
        self._lives = Lives(host.following.records, self._pushes, partial(_key_lost, host, account))
        self.tasks: Mapping[str, ServedTasks] = self._serving(account, settings, host, host.following)
        self._facade = Facade(
            account,
            settings,
            self.tasks,
            Describer(host.following.card_of, host.clock).describe,
            clock=host.clock,
            telemetry=host.telemetry,
            public_url=host.public_url,
            is_default=host.is_default,
        )

    def _pushing(self, account: str, settings: A2AServerSettings, host: Host, work: FollowedWork, body: Body) -> Pushes:
        return Pushes(
            Source(KIND, account),
            work.records,
            host.client,
            body,
            host.seal,
            lambda owner, name: self._facade.admits(owner, name),
            allow_private=settings.allow_push_private,
            limit=settings.push_configs,
        )

    def _serving(
        self, account: str, settings: A2AServerSettings, host: Host, work: FollowedWork
    ) -> dict[str, ServedTasks]:
        """By agent; all of an account's agents share its rates."""
        limits, told = settings.limits, partial(_broke_off, host, account)
        rates = Rates(limits.context_rate, limits.pair_rate, host.clock.monotonic, told)
        return {
            agent: Served(
                account, agent, work, self._lives, self._pushes, lambda: self._intake, settings.passes, rates=rates
            )
            for agent in settings.exposed
        }

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(follows=True, live=LIVE, repeats_unknown=True)

    @property
    def follower(self) -> Follower:
        return self._lives

    @property
    def health(self) -> dict[str, object]:
        trouble = _unreadable(configs) if (configs := self._pushes.unreadable) else ""
        return {"state": self._state, "tasks": len(self._lives), "trouble": trouble}

    async def run(self, intake: Intake) -> None:
        """Until cancelled; then nothing more is admitted, and what is at work is told to whoever still reads."""
        self._intake, self._state = intake, "receiving"
        try:
            await asyncio.Event().wait()
        finally:
            self._intake, self._state = None, "draining"
            self._facade.close()

    def change(self, settings: A2AServerSettings) -> None:
        """As a core.plugin.ChangingPlugin: who may call."""
        self._facade.change(settings)

    def routes(self, ingress: "Ingress") -> Iterable["Route"]:
        return self._facade.routes(ingress)

    def render(self, piece: Piece) -> tuple[Payload, ...]:
        """Answers are followed, not shown."""
        del piece
        return ()

    async def send(self, delivery: Delivery) -> Outcome:
        return await self._pushes.send(delivery)

    async def preview(self, frame: PreviewFrame) -> str:
        del frame
        return ""


PLUGIN = PluginKind(A2AServerSettings, A2APlugin)
