"""Where a person sends a file, the channel's token opens it; nobody but the channel ever sees that token.

Looked for in all that is kept (database, its log, files), in the log at its most talkative, in what the agent is sent,
and in every answer of the control API.
"""

import asyncio
import re
from pathlib import Path

import pytest

from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_scripts import echo
from tests.fakes.telegram import FakeTelegram
from tests.fakes.wechat import open_id
from tests.journeys.process import GatewayProcess
from tests.journeys.setting_wechat import official_account

ANN = open_id("ann")
PICTURE = b"\x89PNG a picture"
LISTS = ("plugins", "agents", "summary?ids=1", "sessions", "tasks", "deliveries", "unreadable", "openapi.json")
ADDRESS_OF_A_FILE = re.compile(r"bot\d+:|access_token=|media/get\?|/file/bot")  # as the two platforms write them


@pytest.mark.case("SEC-08")
async def test_a_token_of_wechat_is_nowhere_but_in_calls_of_wechat(tmp_path: Path) -> None:
    async with official_account(tmp_path / "desk", echo) as (gateway, agent, platform, pushes):
        gateway.configure("gateway", log_level="debug")
        await gateway.start()
        await pushes.shows(ANN, "image", PICTURE, "image/png", PicUrl="http://mmbiz.example/1")
        await pushes.sends(ANN, "voice", MediaId="forgotten", Format="amr", Recognition="a forgotten voice")
        platform.expire_tokens()
        await pushes.shows(ANN, "video", PICTURE + b"2", "video/mp4")
        assert platform.downloads >= 3
        await gateway.at_rest()
        tokens = {token.value for token in platform.tokens}
        assert len(tokens) == 2
        await check(gateway, agent, tokens, telling=ANN)
        assert (gateway.folder / "desk.files").is_dir()


@pytest.mark.case("SEC-08")
async def test_a_token_of_telegram_is_nowhere_but_in_calls_of_telegram(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    gateway.configure("gateway", log_level="debug")
    await gateway.start()
    for number, kind in enumerate(("photo", "document", "voice"), 1):
        telegram.user_sends(7, kind, caption=f"see this {kind}")
        await telegram.wait_for_messages(7, number)
    telegram.user_says(7, "and what is an engine")
    await telegram.wait_for_text(7, "echo: and what is an engine")
    await gateway.at_rest()
    await check(gateway, agent, {telegram.token, telegram.token.partition(":")[2]}, telling="photo")


async def check(gateway: GatewayProcess, agent: ScriptedAgent, tokens: set[str], *, telling: str) -> None:
    """No token and no address that a token opens is anywhere; `telling` stands where messages do."""
    places = {
        "the store": await asyncio.to_thread(kept, gateway.folder),
        "the log": "\n".join(gateway.lines),
        "what the agent was sent": repr([(call.params, dict(call.headers)) for call in agent.calls]),
        "the control API": await everything_shown(gateway),
    }
    assert telling in places["the store"]
    assert "messageId" in places["what the agent was sent"]
    for place, found in places.items():
        assert not [token for token in tokens if token in found], f"a token is in {place}"
        assert not ADDRESS_OF_A_FILE.findall(found), f"the address of a file is in {place}"


def kept(folder: Path) -> str:
    """Every file that the gateway wrote; its configuration, which the operator wrote, is not one of them."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".toml"]
    return "\n".join(path.read_bytes().decode("latin-1") for path in files)


async def everything_shown(gateway: GatewayProcess) -> str:
    """The lists, and each record that they name."""
    shown = [await gateway.api(path) for path in LISTS]
    sessions, tasks, deliveries = shown[3]["items"], shown[4]["items"], shown[5]["items"]
    accepted = gateway.events("envelope.admitted", outcome="accepted")
    paths = [
        *(f"sessions/{each['ref']}" for each in sessions),
        *(f"tasks/{each['id']}" for each in tasks),
        *(f"deliveries/{each['id']}" for each in deliveries),
        *(f"envelopes/{each['envelope']}" for each in accepted),
    ]
    assert len(paths) > len(LISTS) / 2
    async with gateway.http.get(f"{gateway.base}/metrics") as metrics:
        return repr(shown) + repr([await gateway.api(path) for path in paths]) + await metrics.text()
