"""Two callers of one gateway over A2A: by no operation in any spelling does one learn of the other's work."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.a2a.server.site import message, message_03
from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_scripts import ask_then_answer
from tests.fakes.push_receiver import PushReceiver
from tests.journeys.process import OPERATOR, GatewayProcess, Tables
from tests.peers.processes import free_port

ANNA, BEN = "key-of-anna-0123456789", "key-of-ben-0123456789"
Call = tuple[str, str, Any]  # HTTP method, path below the agent's, body; ID stands for the task's
HOOK = "https://example.com/hook"


def rpc(method: str, params: Any) -> Call:
    return "POST", "", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def resources(prefix: str, config: Any, said: Any) -> list[Call]:
    task, configs = f"{prefix}/tasks/ID", f"{prefix}/tasks/ID/pushNotificationConfigs"
    return [
        ("GET", task, None),
        ("POST", f"{task}:cancel", {}),
        ("GET", f"{task}:subscribe", None),
        ("POST", f"{task}:subscribe", {}),
        ("POST", f"{prefix}/message:send", said),
        ("POST", f"{prefix}/message:stream", said),
        ("POST", configs, config),
        ("GET", configs, None),
        ("GET", f"{configs}/p1", None),
        ("DELETE", f"{configs}/p1", None),
    ]


OLD_CONFIG = {"pushNotificationConfig": {"id": "p2", "url": HOOK}}
PROTO = {"message": {"messageId": "m", "taskId": "ID", "role": "ROLE_USER", "content": [{"text": "Tuesday"}]}}
CALLS: dict[str, list[Call]] = {
    "JSONRPC/1.0": [
        *(rpc(method, {"id": "ID"}) for method in ("GetTask", "CancelTask", "SubscribeToTask")),
        *(rpc(method, message("Tuesday", taskId="ID")) for method in ("SendMessage", "SendStreamingMessage")),
        rpc("CreateTaskPushNotificationConfig", {"taskId": "ID", "id": "p2", "url": HOOK}),
        rpc("ListTaskPushNotificationConfigs", {"taskId": "ID"}),
        *(rpc(f"{verb}TaskPushNotificationConfig", {"taskId": "ID", "id": "p1"}) for verb in ("Get", "Delete")),
    ],
    "JSONRPC/0.3": [
        *(rpc(method, {"id": "ID"}) for method in ("tasks/get", "tasks/cancel", "tasks/resubscribe")),
        *(rpc(method, message_03("Tuesday", taskId="ID")) for method in ("message/send", "message/stream")),
        rpc("tasks/pushNotificationConfig/set", {"taskId": "ID", **OLD_CONFIG}),
        rpc("tasks/pushNotificationConfig/list", {"id": "ID"}),
        *(
            rpc(f"tasks/pushNotificationConfig/{verb}", {"id": "ID", "pushNotificationConfigId": "p1"})
            for verb in ("get", "delete")
        ),
    ],
    "HTTP+JSON/1.0": resources("", {"id": "p2", "url": HOOK}, message("Tuesday", taskId="ID")),
    "HTTP+JSON/0.3": resources("/v1", {"config": OLD_CONFIG}, PROTO),
}


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[GatewayProcess]:
    port = free_port()
    async with ScriptedAgent(ask_then_answer()) as agent:
        agent.behaviour = ask_then_answer()
        callers = [{"name": "anna", "key": ANNA}, {"name": "ben", "key": BEN}]
        config: Tables = {
            "gateway": {"port": port, "store": f"sqlite:///{tmp_path / 'desk.db'}", "operator_token": OPERATOR},
            "agents": {"remote": {"kind": "a2a", "card": agent.card_url, "allow_private_network": True}},
            "plugins": {"partners": {"kind": "a2a", "agent": "remote", "callers": callers, "allow_push_private": True}},
        }
        async with GatewayProcess(tmp_path, config, port=port) as gateway:
            gateway.private |= {ANNA, BEN}
            await gateway.start()
            yield gateway
            gateway.check_log()


async def asked(gateway: GatewayProcess, key: str, call: Call, id: str = "", *, old: bool = False) -> tuple[int, str]:
    """The status and the body, in which the task's id is ID again."""
    method, path, body = json.loads(json.dumps(call).replace("ID", id)) if id else call
    headers = {"X-API-Key": key, **({} if old else {"A2A-Version": "1.0"})}
    url = f"{gateway.base}/a2a/remote{path}"
    async with gateway.http.request(method, url, json=body, headers=headers) as answer:
        text = await answer.text()
        return answer.status, text.replace(id, "ID") if id else text


async def begun(gateway: GatewayProcess, **configuration: Any) -> dict[str, Any]:
    """A task of Anna's that asks her something."""
    call = rpc("SendMessage", {**message("book"), "configuration": configuration})
    task: dict[str, Any] = json.loads((await asked(gateway, ANNA, call))[1])["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    return task


@pytest.mark.case("T61")
@pytest.mark.case("T63")
@pytest.mark.case("T64")
@pytest.mark.parametrize("binding", CALLS)
async def test_the_task_of_another_caller_looks_in_every_way_like_one_that_never_was(
    gateway: GatewayProcess, binding: str
) -> None:
    old = binding.endswith("/0.3")
    async with PushReceiver() as receiver:
        hook = {"id": "p1", "url": f"{receiver.base}/hook"}
        id = (await begun(gateway, taskPushNotificationConfig=hook))["id"]
        await receiver.changes.until(lambda: states_told(receiver) == ["WORKING", "INPUT_REQUIRED"])
        before = await asked(gateway, ANNA, rpc("GetTask", {"id": id}))
        for call in CALLS[binding]:
            theirs = await asked(gateway, BEN, call, id, old=old)
            assert theirs == await asked(gateway, BEN, call, "0" * len(id), old=old)
            assert "task not found" in theirs[1].lower(), (call, theirs)
        configs = rpc("ListTaskPushNotificationConfigs", {"taskId": id})
        assert before == await asked(gateway, ANNA, rpc("GetTask", {"id": id}))
        assert json.loads((await asked(gateway, ANNA, configs))[1])["result"]["configs"] == [{**hook, "taskId": id}]
        await asked(gateway, ANNA, rpc("CancelTask", {"id": id}))
        await receiver.changes.until(lambda: states_told(receiver)[2:] == ["CANCELED"])


def states_told(receiver: PushReceiver) -> list[str]:
    states = (str(one.body["statusUpdate"]["status"]["state"]) for one in receiver.received)
    return [state.removeprefix("TASK_STATE_") for state in states]


@pytest.mark.case("T62")
async def test_a_list_holds_ones_own_only_also_by_anothers_context_and_page(gateway: GatewayProcess) -> None:
    first, second = await begun(gateway), await begun(gateway)

    async def listed(key: str, **params: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Over both bindings; 0.3 has no lists."""
        query = "&".join(f"{name}={value}" for name, value in params.items())
        _, by_rpc = await asked(gateway, key, rpc("ListTasks", params))
        _, by_rest = await asked(gateway, key, ("GET", f"/tasks?{query}", None))
        said = json.loads(by_rpc)
        return said.get("result", said), json.loads(by_rest)

    for page in await listed(ANNA, pageSize=1):
        assert ([task["id"] for task in page["tasks"]], page["totalSize"]) == ([second["id"]], 2)
        for theirs in await listed(BEN, pageSize=1, pageToken=page["nextPageToken"]):
            assert ("error" in theirs, "pageToken" in str(theirs)) == (True, True)
        (rest, _) = await listed(ANNA, pageSize=1, pageToken=page["nextPageToken"])
        assert [task["id"] for task in rest["tasks"]] == [first["id"]]
    for params in ({}, {"contextId": first["contextId"]}, {"status": "TASK_STATE_INPUT_REQUIRED"}):
        for theirs in await listed(BEN, **params):
            assert (theirs["tasks"], theirs["totalSize"], theirs["nextPageToken"]) == ([], 0, "")
