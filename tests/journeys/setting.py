"""The usual setting of a journey: a Bot API server, an agent, and a gateway between the two."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.fakes.agent_events import Event, artifact, completed, working
from tests.fakes.agent_scripts import AgentScript, Call
from tests.fakes.lo_proxy import LoEmulator
from tests.fakes.telegram import FakeTelegram
from tests.journeys.process import OPERATOR, GatewayProcess, Tables
from tests.peers.processes import free_port

SECRET = "webhook-secret-0123456789"
UNLIMITED = {"per_second": 0, "per_chat_second": 0, "per_group_minute": 0}
TELLING = 12  # characters from which on a text is too peculiar to stand in a log by chance


def account(api_base: str, token: str, **settings: Any) -> Tables:
    """A Telegram account that lets everybody in, without the Bot API's own limits."""
    return {
        "kind": "telegram",
        "token": token,
        "mode": "webhook",
        "webhook_secret": SECRET,
        "api_base": api_base,
        "agent": "remote",
        "access": {"direct": "open", "groups": "mention"},
        "limits": UNLIMITED,
        **settings,
    }


@asynccontextmanager
async def between(
    folder: Path, server: FakeTelegram | LoEmulator, card: str, *, said: Callable[[], Iterable[str]] = tuple
) -> AsyncIterator[GatewayProcess]:
    """A gateway between the two, not started yet: a test may change its settings first.

    At the end it is stopped, and its log is searched for what is private and for what people `said`.
    """
    async with configured(folder, server.base, server.token, card) as process:
        yield process
        if process.is_running:
            assert await process.stop() == 0
    process.private |= set(said())
    process.check_log()


def configured(folder: Path, api_base: str, token: str, card: str) -> GatewayProcess:
    """A gateway, not started yet, with one account "support" and one agent "remote"."""
    port = free_port()
    config: Tables = {
        "gateway": {
            "port": port,
            "public_url": f"http://127.0.0.1:{port}",
            "store": f"sqlite:///{folder / 'desk.db'}",
            "operator_token": OPERATOR,
            "shutdown_grace": 5,
        },
        "agents": {"remote": {"kind": "a2a", "card": card, "allow_private_network": True}},
        "plugins": {"support": account(api_base, token)},
    }
    gateway = GatewayProcess(folder, config, port=port)
    gateway.private |= {SECRET, token, token.partition(":")[2]}
    return gateway


def answering(*texts: str, progress: str = "") -> AgentScript:
    """An agent that gives each text as a finished artifact of its own, in order."""

    async def script(call: Call) -> AsyncIterator[Event]:
        if progress:
            yield working(progress)
        for number, text in enumerate(texts):
            yield artifact(text, f"artifact-{number}", last=True)
        yield completed()

    return script


def words_said(telegram: FakeTelegram) -> set[str]:
    """Every peculiar text that stands in a chat, by whoever wrote it."""
    said = {shown.text for chat in telegram.chats.all.values() for shown in chat.messages.values()}
    return {text for text in said if len(text) >= TELLING}
