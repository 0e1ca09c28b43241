"""Fifty kills at random moments of a gateway under load, and then the promises, checked from outside."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import pytest

from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_events import Event
from tests.fakes.agent_scripts import Call, echo, echo_message, stream_echo
from tests.fakes.telegram import FakeTelegram
from tests.journeys.load import Crowd
from tests.journeys.process import GatewayProcess, admitted

KILLS = 50
CHATS = 8
MESSAGES = 10  # between two kills
START = 1.0  # seconds; a fifth of the kills fall within the start
CALLS = 30  # made by the gateway between its being ready and a kill, at most
LONGEST = 1.0  # seconds for which a gateway that has nothing more to do is left alive
SETTLED = 60.0  # seconds in which everything has to come to rest after the last kill


async def _either_way(call: Call) -> AsyncIterator[Event]:
    """An agent whose answers take all three forms."""
    forms = (echo, echo_message, stream_echo(("echo: ", call.text)))
    async for event in forms[int(call.text[-1]) % 3](call):
        yield event


async def _until_some_moment(
    chance: random.Random, gateway: GatewayProcess, telegram: FakeTelegram, agent: ScriptedAgent
) -> None:
    """Somewhere in the start, or after some number of the calls that the gateway makes of both its ends."""
    if chance.random() < 0.2:
        await _pass(telegram, lambda: False, chance.uniform(0.0, START))
        return
    await gateway.until_ready()
    enough = len(telegram.calls) + len(agent.calls) + chance.randrange(CALLS)
    await _pass(telegram, lambda: len(telegram.calls) + len(agent.calls) >= enough, LONGEST)


async def _pass(telegram: FakeTelegram, holds: Callable[[], bool], seconds: float) -> None:
    with suppress(TimeoutError):
        await telegram.changes.until(holds, timeout=seconds)


@pytest.mark.timeout(600)  # fifty starts, and the machine may be busy
@pytest.mark.case("F32")
async def test_fifty_kills_under_load_lose_nothing_repeat_nothing_and_invert_nothing(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    chance = random.Random(seed)
    agent.behaviour = _either_way
    crowd, in_flight = Crowd(telegram, CHATS, chance), 0
    await gateway.start()
    for _ in range(KILLS):
        crowd.speak(MESSAGES)
        await _until_some_moment(chance, gateway, telegram, agent)
        in_flight += crowd.in_flight()
        await gateway.kill()
        await gateway.launch()
    await gateway.until_ready()
    await telegram.wait_until_acknowledged(timeout=SETTLED)
    summary = await gateway.at_rest(seconds=SETTLED)
    unknown = {int(update) for update in summary["unknown_ids"]}
    said = f"seed {seed}, {len(crowd.said)} messages, {in_flight} in flight at kills, {len(unknown)} unknown"
    print(said)
    assert in_flight >= KILLS, said
    assert crowd.unanswered() <= unknown, said
    assert unknown <= crowd.said.keys(), said
    assert len(crowd.unanswered()) <= in_flight, said
    assert not crowd.repeated(), said
    assert not crowd.inversions(), said
    assert admitted(summary) == len(crowd.said), said
    assert max(agent.message_counts.values()) == 1, said


async def test_after_the_kills_whoever_asks_again_gets_what_was_uncertain(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    """Several chats are killed in one instant, between the claims and the answers of their turns."""
    gateway.configure("gateway", max_turns=4)
    held = asyncio.Event()

    async def parked(call: Call) -> AsyncIterator[Event]:
        await held.wait()
        async for event in echo(call):
            yield event

    agent.behaviour, agent.lists_tasks = parked, False
    await gateway.start()
    crowd = Crowd(telegram, 4, random.Random(1))
    crowd.speak(8)
    await agent.wait_for_calls("SendStreamingMessage", 4)
    await telegram.wait_until_acknowledged()
    held.set()
    await gateway.restart()
    summary = await gateway.at_rest()
    assert crowd.unanswered() == {int(update) for update in summary["unknown_ids"]}
    assert len(crowd.unanswered()) == summary["unknown"] == 4
    for chat in {int(text.split()[1].partition("-")[0]) for text in crowd.said.values()}:
        telegram.user_says(chat, "/again")
    await telegram.changes.until(lambda: not crowd.unanswered(), timeout=20, what="every answer")
    assert not crowd.repeated()
