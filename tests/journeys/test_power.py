"""What is acknowledged survives a loss of power: the 200 leaves only after the log's sync."""

import asyncio
import json
from collections.abc import Awaitable
from pathlib import Path

import pytest

from tests.fakes.agent import ScriptedAgent
from tests.fakes.telegram import FakeTelegram
from tests.journeys.held_disk import HeldDisk
from tests.journeys.process import REFUSED, GatewayProcess
from tests.journeys.setting import SECRET

CHAT = 7
RECEIVING = "telegram account support is receiving"


def update(text: str, number: int = 900_001) -> bytes:
    person = {"id": CHAT, "is_bot": False, "first_name": "Ada"}
    chat = {"id": CHAT, "type": "private", "first_name": "Ada"}
    message = {"message_id": number, "date": 1_790_000_000, "chat": chat, "from": person, "text": text}
    return json.dumps({"update_id": number, "message": message}).encode()


def brought(gateway: GatewayProcess, text: str, number: int = 900_001) -> Awaitable[int]:
    """The status that Telegram gets for an update it brings."""
    headers = {"X-Telegram-Bot-Api-Secret-Token": SECRET, "Content-Type": "application/json"}
    return gateway.status("/hooks/support", "POST", data=update(text, number), headers=headers)


@pytest.fixture
async def disk(tmp_path: Path, telegram: FakeTelegram, gateway: GatewayProcess) -> HeldDisk:
    """Of a gateway that has answered a message and rests, so that the next sync is that of the next message."""
    disk = HeldDisk(tmp_path / "disk", gateway)
    await gateway.start()
    await gateway.event("log", message=RECEIVING)
    assert await brought(gateway, "the first one", 900_000) == 200
    await telegram.wait_for_text(CHAT, "the first one")
    await gateway.at_rest()
    return disk


@pytest.mark.case("F03")
async def test_an_update_is_acknowledged_only_after_the_log_is_on_the_disk(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess, disk: HeldDisk
) -> None:
    disk.hold()
    answer = asyncio.ensure_future(brought(gateway, "on paper first"))
    await disk.until_held()
    for _ in range(20):
        assert await gateway.status("/healthz") == 200  # it is alive, and could answer
    assert (answer.done(), agent.message_counts.total(), len(telegram.messages(CHAT))) == (False, 1, 1)
    disk.let_go()
    assert await answer == 200
    await telegram.wait_for_text(CHAT, "on paper first")


@pytest.mark.case("F03")
async def test_what_was_cut_off_before_its_sync_was_not_acknowledged_and_is_answered_once_when_it_comes_again(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess, disk: HeldDisk
) -> None:
    disk.hold()
    answer = asyncio.ensure_future(brought(gateway, "say it again"))
    await disk.until_held()
    await gateway.kill()
    with pytest.raises(REFUSED):
        await answer
    disk.works_again()
    await gateway.start()
    await gateway.event("log", n=2, message=RECEIVING)
    assert await brought(gateway, "say it again") == 200
    await telegram.wait_for_text(CHAT, "say it again")
    await gateway.at_rest()
    assert len(telegram.messages(CHAT)) == 2
