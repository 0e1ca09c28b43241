"""The account against a Bot API server that others wrote, which refuses every field it does not know."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from core.delivery import Delivery, Op, Piece, Sent
from core.doors.ingress import Ingress
from core.doors.listener import Listener
from core.doors.outbound import GuardedClient
from core.identity import Address, Source
from core.parts import Text
from plugins.telegram.api import BotApi
from plugins.telegram.plugin import TelegramPlugin
from plugins.telegram.settings import TelegramSettings
from tests.fakes.lo_proxy import PEER, LoEmulator
from tests.plugins.telegram.conftest import SECRET
from tests.plugins.telegram.intake import ManualTime, MemoryLeases, MemoryState, RecordingIntake, running
from tests.waiting import until

pytestmark = pytest.mark.peer(PEER)

ADA = 1001


@pytest.fixture
async def server() -> AsyncIterator[LoEmulator]:
    async with LoEmulator() as emulator:
        yield emulator


def account(server: LoEmulator, client: GuardedClient, time: ManualTime, **settings: object) -> TelegramPlugin:
    return TelegramPlugin(
        "support",
        TelegramSettings.model_validate({"token": server.token, "api_base": server.base, "agent": "echo", **settings}),
        client=client,
        leases=MemoryLeases(),
        state=MemoryState(),
        public_url="",
        holder="here",
        patience=time.patience(),
    )


async def test_it_polls_shows_changes_and_removes(
    server: LoEmulator, client: GuardedClient, time: ManualTime, intake: RecordingIntake
) -> None:
    plugin = account(server, client, time)
    async with running(plugin.run(intake)):
        asked = await server.user_says(ADA, "hello")
        await intake.until(1)
        where = Address(Source("telegram", "support"), str(ADA))
        [payload] = plugin.render(Piece("message:1", (Text("**hi** there"),)))
        show = Delivery("d1", "c1", where, "t1", payload, 1, 0.0, 9e9, quote=str(asked))
        sent = await plugin.send(show)
        assert isinstance(sent, Sent)
        [changed] = plugin.render(Piece("message:1", (Text("bye"),)))
        await plugin.send(Delivery("d2", "c1", where, "t1", changed, 1, 0.0, 9e9, op=Op.REPLACE, replaces=sent.ids))
        assert server.texts(ADA) == ["bye"]
        await plugin.send(Delivery("d3", "c1", where, "t1", {}, 1, 0.0, 9e9, op=Op.WITHDRAW, replaces=sent.ids))
    assert (intake.texts, server.texts(ADA)) == (["hello"], [])
    assert server.refusals == []


async def test_it_is_brought_updates_by_webhook(
    server: LoEmulator, client: GuardedClient, time: ManualTime, intake: RecordingIntake
) -> None:
    app = web.Application()
    plugin = account(server, client, time, mode="webhook", webhook_secret=SECRET)
    app.add_routes(plugin.routes(Ingress()))
    async with Listener(app) as listener, running(plugin.run(intake)):
        await until(lambda: plugin.health["state"] == "receiving")
        api = BotApi(server.token, server.base, client, is_public=False, timeout=5)
        url = f"http://127.0.0.1:{listener.port}/hooks/support"
        await api.set_webhook(url, SECRET, connections=40, allowed=("message", "edited_message"))
        await server.user_says(ADA, "hello")
        await intake.until(1)
    assert intake.texts == ["hello"]
    assert server.refusals == []
