"""Who answers, through the whole gateway: routes that change while it runs, a choice, and an agent that is down."""

from collections.abc import AsyncIterator

import pytest

from tests.fakes.agent import ScriptedAgent
from tests.fakes.telegram import FakeTelegram
from tests.journeys.process import GatewayProcess
from tests.journeys.setting import answering
from tests.peers.processes import free_port

ADA = 1001
MAIN, SECOND = "an answer of the main one", "an answer of the second one"


@pytest.fixture
async def second() -> AsyncIterator[ScriptedAgent]:
    async with ScriptedAgent() as server:
        yield server


@pytest.fixture
def two_agents(gateway: GatewayProcess, agent: ScriptedAgent, second: ScriptedAgent) -> GatewayProcess:
    agent.behaviour = answering(MAIN)
    second.behaviour = answering(SECOND)
    gateway.configure("agents.second", kind="a2a", card=second.card_url, allow_private_network=True)
    return gateway


async def answer(telegram: FakeTelegram, text: str) -> str:
    before = len(telegram.messages(ADA))
    telegram.user_says(ADA, text)
    return (await telegram.wait_for_messages(ADA, before + 1))[-1].text


async def test_routes_change_while_the_gateway_runs(telegram: FakeTelegram, two_agents: GatewayProcess) -> None:
    await two_agents.start()
    assert await answer(telegram, "hello") == MAIN
    assert "do not know the command /ask" in await answer(telegram, "/ask something")
    two_agents.configure("plugins.support", routes=[{"command": "ask", "agent": "second"}], choose=True)
    await two_agents.reread()
    assert await answer(telegram, "/ask something") == SECOND
    assert await answer(telegram, "hello") == MAIN
    assert "second answers here" in await answer(telegram, "/agents second")
    assert await answer(telegram, "hello") == SECOND
    await two_agents.at_rest()
    await two_agents.restart()
    assert await answer(telegram, "hello") == SECOND


async def test_an_agent_that_cannot_be_reached_is_stood_in_for(
    telegram: FakeTelegram, two_agents: GatewayProcess
) -> None:
    two_agents.configure("agents.remote", card=f"http://127.0.0.1:{free_port()}")
    two_agents.configure("plugins.support", fallback="second")
    await two_agents.start()
    telegram.user_says(ADA, "hello")
    told, shown = await telegram.wait_for_messages(ADA, 2)
    assert told.text == "remote does not answer at the moment; I am asking second instead."
    assert shown.text == SECOND
    assert await two_agents.event("turn.fell_back", agent="remote", fallback="second")
