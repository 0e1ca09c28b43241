"""What `frontdesk doctor` says beside a running gateway."""

import asyncio
import socket

import pytest

from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_scripts import working_until
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_responses import unauthorized
from tests.journeys.process import GatewayProcess, doctor, look


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


@pytest.mark.case("DEL-21")
async def test_a_setting_that_is_lost_takes_its_strictest_value_and_the_doctor_says_which_and_what_it_changes(
    telegram: FakeTelegram, gateway: GatewayProcess
) -> None:
    """As after an upgrade whose configuration was written anew: first beside the old process, then with it."""
    gateway.configure("plugins.support", owner="team", access={"direct": "open", "groups": "all"})
    await gateway.start()
    gateway.configure("plugins.support", owner=None, access=None)
    gateway.write()
    said = (await doctor(gateway))[1]
    assert 'left out: plugins.support: owner = "per_sender", access.direct = "allow", access.groups = "off"' in said
    for setting, was, now in (("owner", "team", "per_sender"), ("access.direct", "open", "allow")):
        line = f'differs: plugins.support.{setting} is "{was}" in the running gateway and "{now}" by the configuration'
        assert f"{line} (left out); send SIGHUP, or start it again" in said
    await gateway.restart()
    telegram.user_says(7, "is anybody here")
    assert await gateway.event("envelope.admitted", outcome="refused", reason="not_allowed")
    said = (await doctor(gateway))[1]
    assert 'left out: plugins.support: owner = "per_sender", access.direct = "allow"' in said
    assert "differs" not in said


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
    assert complained.startswith("frontdesk: support: unreachable: ")
    assert "plugins.support.api_base" in complained
    assert f"{gateway.base} is ready" not in said
    await telegram.come_up()


async def test_a_full_queue_is_said_with_its_remedy(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    go_on = asyncio.Event()
    agent.behaviour = working_until(go_on)
    gateway.configure("gateway", max_queued=2)
    await gateway.start()
    for chat in (101, 102):
        telegram.user_says(chat, f"a message in chat {chat}")
    await gateway.event("envelope.admitted", n=2)
    code, said, complained = await doctor(gateway)
    assert (code, complained.count("\n")) == (1, 1)
    assert "queue: full, 2 messages wait of gateway.max_queued = 2, and new ones are told to come back" in complained
    assert f"{gateway.base} is troubled" in said
    assert await gateway.status("/readyz") == 200
    go_on.set()
    await gateway.at_rest()
    assert (await doctor(gateway))[0] == 0


async def test_work_left_for_an_agent_that_is_gone_is_told_and_for_an_account_that_is_gone_waits(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    agent.behaviour = working_until(asyncio.Event())
    await gateway.start()
    for chat in (101, 102):
        telegram.user_says(chat, f"a message in chat {chat}")
    await gateway.event("envelope.admitted", n=2)
    await agent.changes.until(lambda: len(agent.calls) >= 2, what="both messages at the agent")
    await gateway.kill()
    assert gateway.config is not None
    support = gateway.config["plugins"].pop("support")
    await gateway.start()
    said = await gateway.event("account.missing")
    assert (said["account"], said["threads"], said["messages"]) == ("support", 2, 2)
    assert "account support is not configured, and 2 messages in 2 threads wait for it" in (await doctor(gateway))[2]
    assert await gateway.stop() == 0
    gateway.config["agents"] = {"other": {"kind": "local", "entry": "echo"}}
    gateway.config["plugins"]["support"] = {**support, "agent": "other"}
    await gateway.start()
    said = await gateway.event("agent.missing")
    assert (said["agent"], said["threads"], said["messages"]) == ("remote", 2, 2)
    assert "agent remote is not configured, and 2 messages in 2 threads were for it" in (await doctor(gateway))[2]


async def test_a_process_that_stands_by_is_said_to_and_who_serves(
    gateway: GatewayProcess, second: GatewayProcess
) -> None:
    standing_by = await second.event("gateway.standing_by")
    code, said, complained = await doctor(second)
    serves = f"process {gateway.pid} on {socket.gethostname()} at {gateway.base}"
    assert serves in standing_by["reason"]
    assert (code, complained.count("\n")) == (1, 1)
    assert complained.startswith(f"frontdesk: not ready: standing by: {serves} serves; so it should be while")
    assert f"{second.base} is standing by\n{serves} serves; this one takes over when that one ends" in said
    assert "no plugin is configured" not in said
    await gateway.kill()
    await second.until_ready()
    assert (await doctor(second))[0] == 0
    assert await second.stop() == 0
