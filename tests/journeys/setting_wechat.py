"""The usual setting of a journey over WeChat: the platform, an agent, and a gateway between the two."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_scripts import AgentScript
from tests.fakes.wechat import AES_KEY, APP_ID, APP_SECRET, TOKEN, FakeWechat
from tests.fakes.wechat_pushes import Pushes
from tests.journeys.process import OPERATOR, GatewayProcess, Tables
from tests.peers.processes import free_port


class Line(NamedTuple):
    gateway: GatewayProcess
    agent: ScriptedAgent
    platform: FakeWechat
    pushes: Pushes


def account(platform: FakeWechat, scale: float = 1.0, **settings: object) -> Tables:
    """An account that lets everybody in; `scale` is of the platform's five seconds."""
    return {
        "kind": "wechat",
        "app_id": APP_ID,
        "app_secret": APP_SECRET,
        "token": TOKEN,
        "encoding_aes_key": AES_KEY,
        "api_base": platform.base,
        "reply_within": 4.5 * scale,
        "agent": "remote",
        "on_unknown": "skip",
        "access": {"direct": "open"},
        **settings,
    }


def configured(folder: Path, card: str, accounts: Tables) -> GatewayProcess:
    port = free_port()
    config: Tables = {
        "gateway": {
            "port": port,
            "store": f"sqlite:///{folder / 'desk.db'}",
            "operator_token": OPERATOR,
            "shutdown_grace": 2,
        },
        "agents": {"remote": {"kind": "a2a", "card": card, "allow_private_network": True}},
        "plugins": accounts,
    }
    gateway = GatewayProcess(folder, config, port=port)
    gateway.private |= {TOKEN, AES_KEY, APP_SECRET}
    return gateway


@asynccontextmanager
async def official_account(folder: Path, script: AgentScript, **settings: object) -> AsyncIterator[Line]:
    """One account "desk" at the platform's own pace, its gateway not started yet; at the end its log is searched."""
    async with FakeWechat() as platform, ScriptedAgent(script) as agent:
        accounts = {"desk": account(platform, **settings)}  # type: ignore[arg-type]
        async with configured(folder, agent.card_url, accounts) as gateway:
            async with Pushes(platform, f"{gateway.base}/hooks/desk") as pushes:
                yield Line(gateway, agent, platform, pushes)
            gateway.check_log()
