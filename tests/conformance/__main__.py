"""`python -m tests.conformance --port P`: the A2A server side on loopback, answering as the official kits expect.

Whoever calls is let in (`anonymous = "shared"`), and push addresses may be on this machine. How the kits are run is in
docs/a2a-server.md.
"""

import argparse
import asyncio
import signal

from aiohttp import web

from a2a.server.descriptions import Description, Skill
from a2a.server.encoding import dumps
from a2a.server.facade import Facade
from a2a.server.port import PushConfig, ServedEvent
from a2a.server.reading import View
from a2a.server.settings import A2AServerSettings
from a2a.server.writing import Writer10
from core.clock import SystemClock
from core.doors.ingress import Ingress
from core.doors.listener import Listener
from core.doors.outbound import GuardedClient, OutboundError, OutboundPolicy
from core.telemetry import Silent
from tests.doubles.served import ServedDouble
from tests.doubles.served_scripts import by_kit

AGENT = "conformance"
PRIVATE = OutboundPolicy(allow_private=True)


def settings(card: str) -> A2AServerSettings:
    is_hybrid = card == "hybrid"
    return A2AServerSettings(
        agent=AGENT,
        anonymous="shared",
        allow_push_private=True,
        extended_card=not is_hybrid,
        hybrid_card=is_hybrid,
    )


async def describe(agent: str) -> Description:
    return Description(
        name="Frontdesk conformance",
        description="Answers as the official compatibility kits expect.",
        version="1.0.0",
        changed=0.0,
        skills=(Skill("conformance", "Conformance", "Answers by the message's id.", ("conformance",)),),
    )


class Pusher:
    """Tells push addresses of events, once; what fails is not tried again."""

    def __init__(self, client: GuardedClient) -> None:
        self._client = client

    async def __call__(self, config: PushConfig, event: ServedEvent) -> None:
        headers = {"Content-Type": "application/a2a+json"}
        if config.scheme:
            headers["Authorization"] = f"{config.scheme} {config.credentials}"
        if config.token:
            headers["X-A2A-Notification-Token"] = config.token
        body = dumps(Writer10().event(event, View()))
        try:
            await self._client.request("POST", config.url, policy=PRIVATE, headers=headers, body=body)
        except OutboundError as error:
            print(f"push to {config.url}: {error}", flush=True)


async def serve(port: int, card: str) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with GuardedClient() as client, ServedDouble(by_kit, notify=Pusher(client)) as tasks:
        facade = Facade("kit", settings(card), {AGENT: tasks}, describe, clock=SystemClock(), telemetry=Silent())
        app = web.Application()
        app.add_routes(facade.routes(Ingress()))
        async with Listener(app, port=port, grace=1.0) as listener:
            print(f"listening on {listener.port}", flush=True)
            await stop.wait()
            facade.close()


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument(
        "--card",
        choices=("1.0", "hybrid"),
        default="1.0",
        help="the kit of 1.0 refuses a card with fields of 0.3, and that of 0.3 one without",
    )
    return parser


def main() -> None:
    given = command_line().parse_args()
    asyncio.run(serve(given.port, given.card))


if __name__ == "__main__":
    main()
