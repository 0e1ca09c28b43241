"""The files of one Telegram message, as docs/architecture.md lists them, are those it passes, in that order."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from config.loading import load
from config.settings import Settings
from core.clock import SystemClock
from core.doors.ingress import Ingress
from core.doors.listener import Listener
from core.doors.outbound import GuardedClient
from core.plugin import Host
from gateway.catalogue import kinds
from gateway.composition import ConfiguredLine
from gateway.store.sqlite import SqliteStore
from tests.conftest import ROOT
from tests.docs.reading import coded, document, sections
from tests.docs.traced import files_passed
from tests.doubles.events import Events
from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_scripts import stream_echo
from tests.fakes.telegram import FakeTelegram
from tests.journeys.process import toml
from tests.journeys.setting import SECRET, account
from tests.waiting import until

ANN = 7
WAY = sections(document("docs/architecture.md"))["The way of a message"]
STEPS, BESIDE = WAY.split("On the way, without a say", 1)[0], WAY.split("On the way, without a say", 1)[1]


def files_in(text: str) -> list[str]:
    """Every file and folder in backticks, once, in order."""
    return list(dict.fromkeys(word for word in coded(text) if re.fullmatch(r"\w+/[\w./]+", word)))


def listed_beside(file: str) -> bool:
    named = files_in(BESIDE.split("\n\n", 1)[0])
    return any(file == name or (name.endswith("/") and file.startswith(name)) for name in named)


async def test_a_message_passes_the_documented_files_in_the_documented_order(tmp_path: Path) -> None:
    passed = await files_of_one_message(tmp_path)
    steps = files_in(STEPS)
    assert [file for file in passed if file in steps] == steps
    assert [file for file in passed if file not in steps and not listed_beside(file)] == []


def test_every_file_on_the_way_exists() -> None:
    named = files_in(WAY)
    assert len(named) > 20
    assert [name for name in named if not (ROOT / name).exists()] == []


async def files_of_one_message(folder: Path) -> list[str]:
    """Of the second one, so that nothing is made or looked up for the first time."""
    with files_passed() as passed:
        async with (
            FakeTelegram() as telegram,
            ScriptedAgent(stream_echo()) as agent,
            line(settings_for(folder, telegram, agent), folder) as (there, events, base),
        ):
            await until(lambda: there.plugins["support"].health["state"] == "receiving")
            await telegram.updates.set_webhook({"url": f"{base}/hooks/support", "secret_token": SECRET})
            for n in (1, 2):
                await until(lambda: passed.is_silent)
                passed.restart()
                telegram.user_says(ANN, "good morning")
                await telegram.wait_for_messages(ANN, n)
                await until(lambda: len(events.of("delivery.attempted")) == n)  # noqa: B023 - awaited here
            return passed.files


def settings_for(folder: Path, telegram: FakeTelegram, agent: ScriptedAgent) -> Settings:
    remote = {"kind": "a2a", "card": agent.card_url, "allow_private_network": True}
    tables = {"agents": {"remote": remote}, "plugins": {"support": account(telegram.base, telegram.token)}}
    file = folder / "frontdesk.toml"
    file.write_text(toml(tables))
    return load(kinds(), config=file, environ={})


@asynccontextmanager
async def line(settings: Settings, folder: Path) -> AsyncIterator[tuple[ConfiguredLine, Events, str]]:
    """The line and its account's route, on loopback."""
    clock, events, app = SystemClock(), Events(), web.Application()
    async with SqliteStore(folder / "desk.db") as store, GuardedClient() as client:
        await store.hold()
        async with asyncio.TaskGroup() as tasks:
            host = Host(client, store, store, store, clock, "here", telemetry=events)
            there = ConfiguredLine(settings, store, host, tasks)
            plugin = there.plugins["support"]
            app.add_routes(plugin.routes(Ingress()))
            running = tasks.create_task(plugin.run(there.intake("support")))
            async with Listener(app, grace=1.0) as listener:
                yield there, events, f"http://127.0.0.1:{listener.port}"
            there.lanes.stop()
            there.outbox.stop()
            running.cancel()
