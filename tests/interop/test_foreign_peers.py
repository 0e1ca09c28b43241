"""A foreign Bot API server on one side, an agent made with the official A2A SDK on the other."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.lo_proxy import LoEmulator
from tests.journeys.process import GatewayProcess, look
from tests.journeys.setting import configured
from tests.peers.processes import SdkAgent

pytestmark = [pytest.mark.peer("lo-bot-api-emulator"), pytest.mark.peer("a2a-sdk"), pytest.mark.timeout(120)]

CHAT = 7
SILENT = 11.0  # seconds after which /status says how long an agent has been silent


@pytest.fixture
async def durable_agent(tmp_path: Path) -> AsyncIterator[SdkAgent]:
    """The SDK's agent with its tasks in a database."""
    async with SdkAgent(store=f"sqlite:{tmp_path}/tasks.db") as agent:
        yield agent


@pytest.fixture
async def patient(tmp_path: Path, emulator: LoEmulator, durable_agent: SdkAgent) -> AsyncIterator[GatewayProcess]:
    """A gateway with that agent, whose foreground waits for a second only."""
    async with configured(tmp_path / "patient", emulator.base, emulator.token, durable_agent.card_url) as process:
        process.configure("gateway", foreground_patience=1)
        yield process
        assert await process.stop() == 0
    process.check_log()


async def start(gateway: GatewayProcess, emulator: LoEmulator, mode: str = "webhook") -> None:
    """The emulator calls a webhook once and does not come back by itself: wait until it is set."""
    gateway.configure("plugins.support", mode=mode)
    await gateway.start()
    sign = "setWebhook" if mode == "webhook" else "getUpdates"
    await emulator.changes.until(lambda: emulator.calls_of(sign), what=sign)
    await gateway.event("log", message="telegram account support is receiving")


async def hold(gateway: GatewayProcess, emulator: LoEmulator, agent: SdkAgent, mode: str = "webhook") -> None:
    """Work that the agent goes on with when it is told to, and whose task the gateway knows."""
    await start(gateway, emulator, mode)
    await emulator.user_says(CHAT, "hold 5")
    await agent.held()
    await look(lambda: _has_task(gateway), what="the task to be known")


@pytest.mark.parametrize("mode", ["webhook", "polling"])
async def test_a_message_becomes_a_task_at_the_agent_and_its_answer_returns_to_the_chat(
    mode: str, emulator: LoEmulator, sdk_agent: SdkAgent, gateway: GatewayProcess
) -> None:
    await start(gateway, emulator, mode)
    await emulator.user_says(CHAT, "echo hello from afar")
    await emulator.wait_for_texts(CHAT)
    await gateway.at_rest()
    assert (emulator.texts(CHAT), await sdk_agent.texts()) == (["hello from afar"], ["echo hello from afar"])
    (task,) = await gateway.items("tasks")
    assert (task["state"], task["disposition"]) == ("completed", "tracked")


@pytest.mark.case("A2A-01")
@pytest.mark.case("A2A-02")
@pytest.mark.parametrize("mode", ["webhook", "polling"])
async def test_a_question_of_the_agent_is_answered_in_the_chat_and_a_finished_task_is_not_continued(
    mode: str, emulator: LoEmulator, gateway: GatewayProcess
) -> None:
    await start(gateway, emulator, mode)
    await emulator.user_says(CHAT, "book a table for two")
    assert await emulator.wait_for_texts(CHAT) == ["Which day?"]
    await emulator.user_says(CHAT, "on Tuesday")
    assert await emulator.wait_for_texts(CHAT, 2) == ["Which day?", "Booked for on Tuesday"]
    await gateway.at_rest()
    await emulator.user_says(CHAT, "echo and something else")
    await emulator.wait_for_texts(CHAT, 3)
    second, first = await gateway.items("tasks")
    assert first["task_id"] != second["task_id"]
    assert first["context_id"] == second["context_id"]


@pytest.mark.case("A2A-04")
@pytest.mark.parametrize("mode", ["webhook", "polling"])
async def test_a_gateway_killed_in_the_middle_of_a_task_delivers_the_rest_once(
    mode: str, emulator: LoEmulator, sdk_agent: SdkAgent, gateway: GatewayProcess
) -> None:
    await hold(gateway, emulator, sdk_agent, mode)
    await gateway.restart()
    await sdk_agent.release()
    await emulator.wait_for_texts(CHAT)
    await gateway.at_rest()
    assert ([text.strip() for text in emulator.texts(CHAT)], await sdk_agent.texts()) == (["1 2 3 4 5"], ["hold 5"])


async def test_a_task_that_ended_while_the_gateway_was_dead_is_delivered_after_its_start(
    emulator: LoEmulator, sdk_agent: SdkAgent, gateway: GatewayProcess
) -> None:
    await hold(gateway, emulator, sdk_agent)
    await gateway.kill()
    await sdk_agent.release()
    await gateway.start()
    await emulator.wait_for_texts(CHAT)
    await gateway.at_rest()
    assert [text.strip() for text in emulator.texts(CHAT)] == ["1 2 3 4 5"]


@pytest.mark.case("F18")
async def test_an_agent_that_forgot_the_task_at_its_restart_is_told_of_once(
    emulator: LoEmulator, sdk_agent: SdkAgent, gateway: GatewayProcess
) -> None:
    await hold(gateway, emulator, sdk_agent)
    await sdk_agent.restart()
    (told,) = await emulator.wait_for_texts(CHAT, timeout=30)
    await gateway.at_rest()
    (task,) = await gateway.items("tasks")
    assert ("no longer knows this task" in told, task["disposition"]) == (True, "lost_at_remote")
    assert await sdk_agent.texts() == []
    await emulator.user_says(CHAT, "echo asked again")
    assert await emulator.wait_for_texts(CHAT, 2) == [told, "asked again"]


async def test_an_agent_that_kept_a_task_and_never_goes_on_is_shown_as_silent_and_can_be_cancelled(
    emulator: LoEmulator, durable_agent: SdkAgent, patient: GatewayProcess
) -> None:
    await hold(patient, emulator, durable_agent)
    await durable_agent.restart()
    restarted = time.monotonic()
    await look(lambda: _after(restarted + SILENT), seconds=2 * SILENT, what="a long silence")
    await emulator.user_says(CHAT, "/status")
    (status,) = await emulator.wait_for_texts(CHAT)
    assert "silent since" in status
    assert "hold 5" in status
    await emulator.user_says(CHAT, "/cancel")
    await emulator.changes.until(lambda: "Cancelled." in emulator.texts(CHAT), what="the cancel", timeout=20)
    await patient.at_rest()
    (task,) = await patient.items("tasks")
    assert task["state"] == "canceled"


@pytest.mark.case("A2A-14")
async def test_a_running_task_is_cancelled_at_the_agent_and_nothing_of_it_is_shown(
    emulator: LoEmulator, sdk_agent: SdkAgent, gateway: GatewayProcess
) -> None:
    await start(gateway, emulator)
    await emulator.user_says(CHAT, "hold 5")
    await sdk_agent.held()
    await emulator.user_says(CHAT, "/cancel")
    await emulator.changes.until(lambda: "Cancelled." in emulator.texts(CHAT), what="the cancel")
    await gateway.at_rest()
    assert not [text for text in emulator.texts(CHAT) if text.startswith("1")]


async def _has_task(gateway: GatewayProcess) -> bool:
    return bool((await gateway.summary())["tasks"].get("working"))


async def _after(moment: float) -> bool:
    return time.monotonic() > moment
