"""The A2A server side of one account, from HTTP to the port behind which tasks are served.

    /.well-known/agent-card.json              the default agent's card, of the default account
    /a2a/{agent}/.well-known/agent-card.json  each agent's card
    /a2a/{agent}                              JSON-RPC, 1.0 and 0.3
    /a2a/{agent}/message:send ...             HTTP+JSON of 1.0
    /a2a/{agent}/v1/message:send ...          HTTP+JSON of 0.3

Cards are for everybody; everything else is for callers that are known, or for whom `anonymous` lets in.
"""

from collections.abc import Iterable, Mapping
from functools import partial

from aiohttp import web

from a2a.server import nobody
from a2a.server.callers import Callers
from a2a.server.card_serving import Cards
from a2a.server.cards import WELL_KNOWN, path_of
from a2a.server.descriptions import Describe
from a2a.server.door import Account, Door
from a2a.server.negotiation import Extensions
from a2a.server.operations import Operations
from a2a.server.port import ServedTasks
from a2a.server.rest import RestDoor
from a2a.server.rpc import RpcDoor
from a2a.server.settings import A2AServerSettings
from a2a.server.streams import HEARTBEAT, WRITE_LIMIT, Streams
from core.clock import Clock
from core.doors.ingress import Handle, Ingress, Route
from core.telemetry import Telemetry

LIVE = frozenset({"callers", "anonymous", "key_header"})  # settings that may change while calls come in


class Facade:
    """`tasks` has every agent of `settings.exposed`. Construction does no I/O."""

    def __init__(
        self,
        account: str,
        settings: A2AServerSettings,
        tasks: Mapping[str, ServedTasks],
        describe: Describe,
        *,
        clock: Clock,
        telemetry: Telemetry,
        public_url: str = "",
        is_default: bool = True,
        heartbeat: float = HEARTBEAT,
        write_limit: float = WRITE_LIMIT,
    ) -> None:
        self._settings, self._tasks, self._is_default = settings, tasks, is_default
        self._live = settings
        self._account = Account(
            name=account,
            settings=settings,
            callers=Callers(account, settings),
            cards=Cards(settings, describe, public_url=public_url),
            streams=Streams(settings.limits, heartbeat=heartbeat, write_limit=write_limit),
            extensions=Extensions(settings.extensions),
            clock=clock,
            telemetry=telemetry,
        )

    @property
    def streams(self) -> int:
        """How many are open."""
        return len(self._account.streams)

    def routes(self, ingress: Ingress) -> Iterable[Route]:
        for agent in self._settings.exposed:
            yield from self._agent_routes(ingress, agent)
        if self._is_default:
            yield from self._card_routes(ingress, self._settings.exposed[0], "")
            yield from nobody.routes()

    def change(self, settings: A2AServerSettings) -> None:
        """What of `settings` is LIVE holds from now on."""
        self._live = self._live.model_copy(update={name: getattr(settings, name) for name in LIVE})
        self._account.change(self._live)

    def admits(self, owner: str, name: str) -> bool:
        """Whether this caller, known by its owner and name, is still let in."""
        return self._account.callers.admits(owner, name)

    def close(self) -> None:
        """End the open streams; calls that wait for an answer get theirs."""
        self._account.streams.close()

    def _agent_routes(self, ingress: Ingress, agent: str) -> Iterable[Route]:
        path = path_of(agent)
        describe = partial(self._account.cards.description, agent)
        door = Door(self._account, Operations(agent, self._tasks[agent], self._settings, describe))
        rpc = RpcDoor(door)
        yield from self._card_routes(ingress, agent, path)
        for each in (path, f"{path}/"):
            yield self._route(ingress, door, "POST", each, rpc.handle)
        for resource in RestDoor(door).resources():
            yield self._route(ingress, door, resource.method, path + resource.path, resource.handle)

    def _route(self, ingress: Ingress, door: Door, method: str, path: str, handle: Handle) -> Route:
        """Media types are judged by the handler, which refuses them in the protocol's words."""
        handler = ingress.route(
            authenticate=door.authenticate,
            handle=handle,
            content_types=None,
            body_limit=self._settings.limits.body if method == "POST" else 0,
        )
        return web.route(method, path, handler, expect_handler=Ingress.keep_waiting)

    def _card_routes(self, ingress: Ingress, agent: str, path: str) -> Iterable[Route]:
        async def show(request: web.Request, _body: bytes) -> web.StreamResponse:
            return await self._account.cards.public(agent, request)

        for well_known in WELL_KNOWN:
            yield ingress.get(path + well_known, authenticate=_anybody, handle=show)


def _anybody(request: web.Request) -> None:
    """Cards are public (section 8.2)."""
    del request
