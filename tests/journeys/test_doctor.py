"""What `frontdesk doctor` says beside a running gateway."""

import asyncio
import os
import sys

from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_responses import unauthorized
from tests.journeys.process import PATIENCE, GatewayProcess, look


async def doctor(gateway: GatewayProcess) -> tuple[int | None, str, str]:
    """Its exit code, and what it said on both outputs."""
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "gateway", "doctor", "--config", str(gateway.folder / "frontdesk.toml")],
        cwd=gateway.folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, gateway.path)), "NO_COLOR": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        said, complained = await process.communicate()
    return process.returncode, said.decode(), complained.decode()


async def until_connection(gateway: GatewayProcess, state: str) -> None:
    async def it_is() -> bool:
        return bool((await gateway.api("plugins/support"))["connection"].get("state") == state)

    await look(it_is, what=f"the account to be {state}")


async def test_it_is_content_with_a_gateway_that_works(gateway: GatewayProcess) -> None:
    await gateway.start()
    await until_connection(gateway, "receiving")
    code, said, complained = await doctor(gateway)
    assert (code, complained) == (0, "")
    assert f"{gateway.base} is ready" in said
    assert "receiving" in said


async def test_a_token_that_is_refused_is_no_readiness(telegram: FakeTelegram, gateway: GatewayProcess) -> None:
    gateway.expected_errors.add("plugin.failed")
    telegram.script("getMe", respond=unauthorized(), times=None)
    await gateway.start()
    await gateway.event("plugin.failed")
    code, said, complained = await doctor(gateway)
    assert (code, complained.count("\n")) == (1, 1)
    assert (
        "plugins.support.token: Telegram does not know this token; put in the one that @BotFather shows" in complained
    )
    assert f"{gateway.base} is ready" not in said


async def test_a_channel_that_cannot_be_reached_is_no_readiness(
    telegram: FakeTelegram, gateway: GatewayProcess
) -> None:
    await telegram.go_down()
    await gateway.start()
    await until_connection(gateway, "unreachable")
    code, said, complained = await doctor(gateway)
    assert (code, complained.count("\n")) == (1, 1)
    assert complained.startswith("frontdesk: support is unreachable: ")
    assert "plugins.support.api_base" in complained
    assert f"{gateway.base} is ready" not in said
    await telegram.come_up()
