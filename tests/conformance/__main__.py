"""`python -m tests.conformance --port P`: a gateway on loopback that answers over A2A as the official kits expect.

Whoever calls is let in (`anonymous = "shared"`), and push addresses may be on this machine. Behind it is the whole
line, with a database and the local agent of agent.py. How the kits are run is in docs/conformance.md.
"""

import argparse
import asyncio
import signal
import tempfile
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from a2a.server.settings import A2AServerSettings, CardSettings, SkillSettings
from config.settings import AccountSettings, GatewaySettings, PluginEntry, Settings
from core.clock import SystemClock
from core.doors.ingress import Ingress
from core.doors.listener import Listener
from core.doors.outbound import GuardedClient
from core.helm import Delegate
from core.ids import new_id
from core.plugin import Host
from gateway.agents.local import LocalAgent
from gateway.composition import ConfiguredLine
from gateway.store.sqlite import SqliteStore
from tests.conformance.agent import Conformant

AGENT, ACCOUNT = "conformance", "kit"
SKILL = SkillSettings(
    id="conformance", name="Conformance", description="Answers by the message's id.", tags=("conformance",)
)


CAPABILITIES = ("streaming", "push", "extended-card")  # that the server can be without


def settings(card: str, without: Collection[str] = ()) -> Settings:
    is_hybrid = card == "hybrid"
    served = A2AServerSettings(
        agent=AGENT,
        anonymous="shared",
        allow_push_private=True,
        hybrid_card=is_hybrid,
        cards={AGENT: CardSettings(name="Frontdesk conformance", version="1.0.0", skills=(SKILL,))},
        streaming="streaming" not in without,
        push="push" not in without,
        extended_card=not is_hybrid and "extended-card" not in without,
    )
    account = AccountSettings(kind="a2a", agent=AGENT)
    plugins = {ACCOUNT: PluginEntry(ACCOUNT, "a2a", account, served)}
    return Settings(GatewaySettings(), {}, plugins, origin="the conformance server")


@asynccontextmanager
async def line_over(store: SqliteStore, wanted: Settings) -> AsyncIterator[ConfiguredLine]:
    clock = SystemClock()
    async with GuardedClient() as client, asyncio.TaskGroup() as tasks:
        host = Host(client, store, store, store, clock, new_id())
        line = ConfiguredLine(wanted, store, host, tasks)
        agent = LocalAgent(AGENT, Conformant(), store, clock, tasks)
        line.delegates[AGENT] = Delegate(agent, resubmits=True, is_local=True)
        await line.recover()
        running = tasks.create_task(line.plugins[ACCOUNT].run(line.intake(ACCOUNT)))
        try:
            yield line
        finally:
            running.cancel()
            line.lanes.stop()
            line.outbox.stop()
            raise _Stopped


class _Stopped(Exception):
    """Ends the TaskGroup with whatever is still at work."""


async def serve(port: int, path: Path, wanted: Settings) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with SqliteStore(path) as store:
        await store.hold()
        try:
            async with line_over(store, wanted) as line:
                app = web.Application()
                app.add_routes(line.plugins[ACCOUNT].routes(Ingress()))
                async with Listener(app, port=port, grace=1.0) as listener:
                    print(f"listening on {listener.port}", flush=True)
                    await stop.wait()
        except* _Stopped:
            print("stopped", flush=True)


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--store", default="", help="sqlite:///PATH; a new one in a temporary folder when left out")
    parser.add_argument(
        "--card",
        choices=("1.0", "hybrid"),
        default="1.0",
        help="the kit of 1.0 refuses a card with fields of 0.3, and that of 0.3 one without",
    )
    parser.add_argument(
        "--without",
        type=_capabilities,
        default=(),
        metavar="CAPABILITY,...",
        help=f"switch off, of {', '.join(CAPABILITIES)}: the kit of 1.0 asks what is refused then",
    )
    return parser


def _capabilities(text: str) -> tuple[str, ...]:
    named = tuple(each.strip() for each in text.split(",") if each.strip())
    if unknown := set(named) - set(CAPABILITIES):
        raise argparse.ArgumentTypeError(
            f"there is no capability {min(unknown)!r}; there are {', '.join(CAPABILITIES)}"
        )
    return named


def main() -> None:
    given = command_line().parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(given.store.removeprefix("sqlite:///")) if given.store else Path(folder) / "kit.db"
        asyncio.run(serve(given.port, path, settings(given.card, given.without)))


if __name__ == "__main__":
    main()
