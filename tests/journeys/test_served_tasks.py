"""Tasks that agents gave over A2A, through a real process that dies: what was accepted comes to an honest end, once."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_scripts import ask_then_answer, echo
from tests.fakes.push_receiver import PushReceiver
from tests.journeys.process import OPERATOR, REFUSED, GatewayProcess, Tables, look
from tests.peers.processes import free_port

CRASHED = 137  # as a shell reports SIGKILL
KEY = "caller-secret-0123456789"
ENDED = {"TASK_STATE_COMPLETED", "TASK_STATE_FAILED"}
KILLS, MESSAGES = 12, 8  # so many kills, and messages between two of them

# How the one task ends when the process dies at the point: the agent's answer, or the word that nobody knows.
END = {
    "ingress.before_commit": [],
    "ingress.after_commit": ["TASK_STATE_COMPLETED"],
    "router.after_claim": ["TASK_STATE_FAILED"],
    "a2a.after_send": ["TASK_STATE_COMPLETED"],
    "task.after_observe": ["TASK_STATE_COMPLETED"],
}


@pytest.fixture
async def agent() -> AsyncIterator[ScriptedAgent]:
    async with ScriptedAgent() as agent:
        agent.behaviour = echo
        yield agent


@pytest.fixture
async def gateway(tmp_path: Path, agent: ScriptedAgent) -> AsyncIterator[GatewayProcess]:
    port = free_port()
    config: Tables = {
        "gateway": {"port": port, "store": f"sqlite:///{tmp_path / 'desk.db'}", "operator_token": OPERATOR},
        "agents": {"remote": {"kind": "a2a", "card": agent.card_url, "allow_private_network": True}},
        "plugins": {
            "partners": {
                "kind": "a2a",
                "agent": "remote",
                "callers": [{"name": "partner", "key": KEY}],
                "allow_push_private": True,
            }
        },
    }
    async with GatewayProcess(tmp_path, config, port=port) as gateway:
        gateway.private.add(KEY)
        yield gateway
        gateway.check_log()


async def call(gateway: GatewayProcess, method: str, path: str, body: Any = None) -> dict[str, Any]:
    """Over HTTP+JSON; raises for anything but success."""
    headers = {"X-API-Key": KEY, "A2A-Version": "1.0"}
    url = f"{gateway.base}/a2a/remote{path}"
    async with gateway.http.request(method, url, json=body, headers=headers) as answer:
        answer.raise_for_status()
        found: dict[str, Any] = await answer.json(content_type=None)
        return found


async def send(gateway: GatewayProcess, text: str, **configuration: Any) -> dict[str, Any]:
    message = {"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}]}
    body = {"message": message, "configuration": {"returnImmediately": True, **configuration}}
    task: dict[str, Any] = (await call(gateway, "POST", "/message:send", body))["task"]
    return task


async def tasks(gateway: GatewayProcess) -> list[dict[str, Any]]:
    found, token = [], ""
    while True:
        page = await call(gateway, "GET", f"/tasks?pageSize=100&pageToken={token}")
        found += page["tasks"]
        if not (token := page["nextPageToken"]):
            return found


async def test_an_operator_finds_a_task_by_its_callers_id_and_by_its_agents(gateway: GatewayProcess) -> None:
    await gateway.start()
    served = (await send(gateway, "hello", returnImmediately=False))["id"]
    found = await gateway.api(f"tasks/{served}")
    assert found["served_task"] == served
    assert (await gateway.api(f"tasks/{found['task_id']}"))["id"] == found["id"]


async def all_ended(gateway: GatewayProcess) -> list[dict[str, Any]] | None:
    found = await tasks(gateway)
    return found if all(task["status"]["state"] in ENDED for task in found) else None


@pytest.mark.parametrize("point", END)
@pytest.mark.case("F01")
async def test_wherever_the_process_dies_a_task_comes_to_one_honest_end(
    point: str, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    await gateway.start(crashpoint=point)
    with suppress(*REFUSED):
        await send(gateway, "hello")
    assert await gateway.ended() == CRASHED
    await gateway.start()
    await gateway.at_rest()

    assert [task["status"]["state"] for task in await tasks(gateway)] == END[point]
    assert sum(agent.message_counts.values()) <= 1


@pytest.mark.timeout(120)
@pytest.mark.case("F32")
async def test_kills_under_load_lose_no_task_that_was_told_and_do_no_work_twice(
    agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    chance, told = random.Random(), set[str]()
    await gateway.start()
    for kill in range(KILLS):
        sending = [asyncio.ensure_future(send(gateway, f"{kill}.{n}")) for n in range(MESSAGES)]
        await asyncio.wait(sending[: chance.randrange(1, MESSAGES)], timeout=5.0)
        await gateway.kill()
        for task in await asyncio.gather(*sending, return_exceptions=True):
            if isinstance(task, dict):
                told.add(task["id"])
        await gateway.start()
    found = await look(lambda: all_ended(gateway), seconds=30.0, what="every task to end")

    states = {task["id"]: task["status"]["state"] for task in found}
    assert told <= states.keys()
    assert max(agent.message_counts.values()) == 1
    answered = [task for task in found if task["status"]["state"] == "TASK_STATE_COMPLETED"]
    assert len(answered) >= len(told) // 2


async def test_a_push_that_a_kill_cut_off_comes_after_the_start(agent: ScriptedAgent, gateway: GatewayProcess) -> None:
    async with PushReceiver() as receiver:
        receiver.gate = asyncio.Event()
        await gateway.start()
        task = await send(gateway, "hello", taskPushNotificationConfig={"url": f"{receiver.base}/hook"})
        await receiver.changes.until(lambda: receiver.requests > 0)
        await gateway.kill()
        receiver.gate = None
        await gateway.start()

        await receiver.changes.until(lambda: "TASK_STATE_COMPLETED" in states_told(receiver))
        assert {one.body.get("statusUpdate", {}).get("taskId", task["id"]) for one in receiver.received} == {task["id"]}


def states_told(receiver: PushReceiver) -> list[str]:
    return [one.body["statusUpdate"]["status"]["state"] for one in receiver.received if "statusUpdate" in one.body]


async def test_secrets_of_push_configs_stand_in_no_log(agent: ScriptedAgent, gateway: GatewayProcess) -> None:
    async with PushReceiver() as receiver:
        gateway.private |= {"push-credentials-0123456789", "push-token-0123456789"}
        await gateway.start()
        config = {
            "url": f"{receiver.base}/hook",
            "token": "push-token-0123456789",
            "authentication": {"scheme": "Bearer", "credentials": "push-credentials-0123456789"},
        }
        await send(gateway, "hello", taskPushNotificationConfig=config)
        (first, *_) = await receiver.changes.until(lambda: receiver.received)
        await gateway.at_rest()
        listed = str([await gateway.api(path) for path in ("deliveries", "sessions", "tasks")])

        assert first.headers["Authorization"] == "Bearer push-credentials-0123456789"
        assert not [word for word in gateway.private if word in listed]


async def test_an_operator_s_cancel_of_a_task_that_asks_reaches_its_open_streams(
    agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    agent.behaviour = ask_then_answer()
    await gateway.start()
    body = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "book a table"}]}}
    asked = (await call(gateway, "POST", "/message:send", body))["task"]
    url, headers = f"{gateway.base}/a2a/remote/tasks/{asked['id']}:subscribe", {"X-API-Key": KEY, "A2A-Version": "1.0"}
    async with gateway.http.get(url, headers=headers) as stream:
        first = await stream.content.readline()
        assert b"TASK_STATE_INPUT_REQUIRED" in first
        [task] = await gateway.items("tasks")
        assert await gateway.say(f"tasks/{task['id']}:cancel", {}) == 200

        assert b"TASK_STATE_CANCELED" in await stream.content.read()  # to its end
    await agent.wait_for_calls("CancelTask")
    assert (await call(gateway, "GET", f"/tasks/{asked['id']}"))["status"]["state"] == "TASK_STATE_CANCELED"


@pytest.mark.case("T74")
async def test_a_gateway_that_asks_itself_stops_with_a_clear_word(gateway: GatewayProcess) -> None:
    card = f"{gateway.base}/a2a/remote/.well-known/agent-card.json"
    auth = {"kind": "api_key", "name": "X-API-Key", "value": KEY}
    gateway.configure("agents.remote", card=card, auth=auth)
    gateway.configure("plugins.partners", limits={"hops": 3})
    await gateway.start()
    body = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}}
    ended = (await call(gateway, "POST", "/message:send", body))["task"]

    assert ended["status"]["state"] == "TASK_STATE_REJECTED"
    assert len(await tasks(gateway)) == 3
    await gateway.event("a2a.served", outcome="LOOP")
