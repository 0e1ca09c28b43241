"""One Official Account with a whole line behind it, against the project's own platform on loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from core.clock import Clock, SystemClock
from core.doors.ingress import Ingress
from core.doors.listener import Listener
from core.doors.outbound import GuardedClient
from core.files import Files
from core.plugin import Host
from core.store import Store
from plugins.wechat.plugin import WechatPlugin
from plugins.wechat.settings import WechatSettings
from tests.doubles.agent import FakeAgent
from tests.doubles.files import MemoryFiles
from tests.doubles.store import MemoryStore
from tests.doubles.world import World, world
from tests.fakes.wechat import AES_KEY, APP_ID, APP_SECRET, TOKEN, FakeWechat, open_id
from tests.fakes.wechat_pushes import Push, Pushes
from tests.plugins.telegram.intake import NoHistory
from tests.waiting import until

ANN, BOB = open_id("ann"), open_id("bob")
SCALE = 0.2  # of the platform's five seconds


def settings(platform: FakeWechat | None = None, **changed: Any) -> WechatSettings:
    usual: dict[str, Any] = {
        "app_id": APP_ID,
        "app_secret": APP_SECRET,
        "token": TOKEN,
        "encoding_aes_key": AES_KEY,
        "agent": "agent",
        "language": "en",
        "access": {"direct": "open"},
        "reply_within": 4.5 * SCALE,
        "api_base": platform.base if platform is not None else "http://127.0.0.1:9",
    }
    return WechatSettings(**{**usual, **changed})


@dataclass
class Account:
    platform: FakeWechat
    pushes: Pushes
    plugin: WechatPlugin
    desk: World

    @property
    def agent(self) -> FakeAgent:
        return self.desk.agent

    def shown(self, person: str = ANN) -> list[str]:
        return self.platform.people[person].texts

    def roads(self, person: str = ANN) -> list[str]:
        return [each.road for each in self.platform.people[person].shown]

    async def asks(self, text: str, person: str = ANN) -> "asyncio.Future[Push]":
        """What the person pushed, once the agent was asked; the push may still be open."""
        pushing = asyncio.ensure_future(self.pushes.says(person, text))
        await self.agent.called.wait()
        return pushing

    async def outcomes(self, count: int) -> list[object]:
        await until(lambda: len(self.desk.events.of("delivery.attempted")) >= count)
        return [fields["outcome"] for fields in self.desk.events.of("delivery.attempted")]

    def reasons(self) -> list[str]:
        return [str(fields["reason"]) for fields in self.desk.events.of("delivery.attempted")]


@asynccontextmanager
async def account(
    platform: FakeWechat,
    store: Store | None = None,
    agent: FakeAgent | None = None,
    *,
    mode: str = "safe",
    pushed: str = "",
    name: str = "desk",
    clock: Clock | None = None,
    files: Files | None = None,
    options: dict[str, Any] | None = None,
    **changed: Any,
) -> AsyncIterator[Account]:
    """A running line with this account; `pushed` is how the platform pushes, where that is not the account's mode."""
    held: Any = store or MemoryStore()
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(GuardedClient())
        files = files or MemoryFiles()
        host = Host(client, held, held, NoHistory(), clock or SystemClock(), "here", files=files)
        plugin = WechatPlugin(name, settings(platform, mode=mode, **changed), host)
        of_line = {"files": files, "account": name, "language": changed.get("language", "en"), **(options or {})}
        line = world(held, agent, plugin, **of_line)  # type: ignore[arg-type]
        desk = await stack.enter_async_context(line)
        app = web.Application()
        app.add_routes(plugin.routes(Ingress()))
        listener = await stack.enter_async_context(Listener(app, grace=0.1))
        running = asyncio.ensure_future(plugin.run(desk.door))
        stack.callback(running.cancel)
        await until(lambda: plugin.health["state"] != "starting")
        url = f"http://127.0.0.1:{listener.port}/hooks/{name}"
        pushes = await stack.enter_async_context(Pushes(platform, url, mode=pushed or mode, scale=SCALE))
        yield Account(platform, pushes, plugin, desk)
