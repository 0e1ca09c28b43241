"""Tasks that agents gave over A2A, through a real process that dies: what was accepted comes to an honest end, once."""

import asyncio
import json
import random
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponseError

from a2a.nesting import DEEPEST
from tests.a2a.hostility import memory
from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_events import Event, artifact, completed, input_required, status, working
from tests.fakes.agent_scripts import Call, ask_then_answer, echo
from tests.fakes.push_receiver import PushReceiver
from tests.journeys.process import OPERATOR, REFUSED, GatewayProcess, Tables, doctor, look
from tests.journeys.raw import request
from tests.peers.processes import free_port
from tests.waiting import within

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


def database_bytes(folder: Path) -> bytes:
    """Of the file and its log."""
    return b"".join(file.read_bytes() for file in folder.rglob("*") if ".db" in file.name)


@pytest.mark.case("T52")
async def test_secrets_of_push_configs_stand_in_no_log_and_in_no_clear_in_the_database(
    agent: ScriptedAgent, gateway: GatewayProcess, tmp_path: Path
) -> None:
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
        await gateway.restart()
        stored = database_bytes(tmp_path)

        assert first.headers["Authorization"] == "Bearer push-credentials-0123456789"
        assert not [word for word in gateway.private if word in listed]
        assert b"/hook" in stored
        assert not [word for word in gateway.private if word.encode() in stored]


@pytest.mark.case("T52")
async def test_a_key_that_is_lost_is_told_at_the_start_and_by_the_doctor_with_what_to_do(
    agent: ScriptedAgent, gateway: GatewayProcess, tmp_path: Path
) -> None:
    gateway.expected_errors.add("push_secrets.unreadable")
    agent.behaviour = ask_then_answer()
    await gateway.start()
    async with PushReceiver() as receiver:
        config = {"url": f"{receiver.base}/hook", "token": "push-token-0123456789"}
        await send(gateway, "book a table", taskPushNotificationConfig=config)
        await receiver.changes.until(lambda: "TASK_STATE_INPUT_REQUIRED" in states_told(receiver))
        assert await gateway.stop() == 0
    key = tmp_path / "secret-key"
    kept = key.rename(tmp_path / "elsewhere")
    await gateway.start()
    told = await gateway.event("push_secrets.unreadable")
    code, _, complained = await doctor(gateway)
    assert (told["account"], told["configs"], code) == ("partners", 1, 1)
    assert "partners: unable to push to 1 of its callers' addresses" in complained
    assert "put back the file secret-key beside the database" in complained
    assert await gateway.stop() == 0
    kept.replace(key)
    await gateway.start()
    assert (await doctor(gateway))[::2] == (0, "")


async def test_a_caller_whose_key_is_gone_after_a_restart_is_pushed_nothing_more(
    agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    agent.behaviour = ask_then_answer()
    await gateway.start()
    async with PushReceiver() as receiver:
        await send(gateway, "book a table", taskPushNotificationConfig={"url": f"{receiver.base}/hook"})
        await receiver.changes.until(lambda: "TASK_STATE_INPUT_REQUIRED" in states_told(receiver))
        gateway.configure("plugins.partners", callers=[{"name": "another", "key": f"another-{KEY}"}])
        await gateway.restart()
        told = len(receiver.received)
        [task] = await gateway.items("tasks")
        assert await gateway.say(f"tasks/{task['id']}:reply", {"text": "Tuesday"}) == 200
        await gateway.event("turn.finished", agent="remote")
        await gateway.at_rest()

        assert len(receiver.received) == told


@pytest.mark.parametrize("state", ["INPUT_REQUIRED", "AUTH_REQUIRED"])
async def test_an_operator_s_cancel_of_a_task_that_asks_is_pushed_too(
    state: str, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    async def asks(call: Call) -> AsyncIterator[Event]:
        yield status(state, "What now?")

    agent.behaviour = asks
    await gateway.start()
    async with PushReceiver() as receiver:
        await send(gateway, "book a table", taskPushNotificationConfig={"url": f"{receiver.base}/hook"})
        await receiver.changes.until(lambda: f"TASK_STATE_{state}" in states_told(receiver))
        await gateway.restart()
        [task] = await gateway.items("tasks")
        assert await gateway.say(f"tasks/{task['id']}:cancel", {}) == 200

        await receiver.changes.until(lambda: states_told(receiver)[-1] == "TASK_STATE_CANCELED")


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


async def test_the_card_of_a_remote_agent_has_its_own_words_and_the_gateways_addresses(
    agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    skill = {"id": "book", "name": "Booking", "description": "Books tables", "tags": ["table"]}
    agent.card_extra = {"name": "The table desk", "description": "Knows each table", "skills": [skill]}
    await gateway.start()
    first = await card_of_remote(gateway)

    assert (first["name"], first["description"]) == ("The table desk", "Knows each table")
    assert [each["id"] for each in first["skills"]] == ["book"]
    assert agent.base not in json.dumps(first)
    assert {each["url"].startswith(gateway.base) for each in first["supportedInterfaces"]} == {True}


async def test_an_agent_that_cannot_be_asked_has_a_card_all_the_same(
    agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    await agent.go_down()
    await gateway.start()

    assert (await card_of_remote(gateway))["name"] == "remote"


async def test_a_gateway_whose_agent_is_itself_serves_its_card(gateway: GatewayProcess) -> None:
    ask_itself(gateway)
    await gateway.start()

    assert (await card_of_remote(gateway))["name"] == "remote"


async def card_of_remote(gateway: GatewayProcess) -> Any:
    async with gateway.http.get(f"{gateway.base}/a2a/remote/.well-known/agent-card.json") as answer:
        assert answer.status == 200
        return await answer.json()


def ask_itself(gateway: GatewayProcess, **settings: Any) -> None:
    card = f"{gateway.base}/a2a/remote/.well-known/agent-card.json"
    auth = {"kind": "api_key", "name": "X-API-Key", "value": KEY}
    gateway.configure("agents.remote", card=card, auth=auth, **settings)
    gateway.configure("plugins.partners", limits={"hops": 3}, **settings)


@pytest.mark.case("T74")
async def test_a_gateway_that_asks_itself_stops_with_a_clear_word(gateway: GatewayProcess) -> None:
    ask_itself(gateway)
    await gateway.start()
    body = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}}
    ended = (await call(gateway, "POST", "/message:send", body))["task"]

    assert ended["status"]["state"] == "TASK_STATE_REJECTED"
    assert len(await tasks(gateway)) == 3
    await gateway.event("a2a.served", outcome="LOOP")


async def test_the_deepest_data_that_is_taken_goes_through_gateways_and_what_is_deeper_is_refused_at_once(
    gateway: GatewayProcess,
) -> None:
    ask_itself(gateway, passes=["deep"])
    await gateway.start()
    deepest: Any = 1
    for _ in range(DEEPEST - 1):
        deepest = [deepest]
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}, {"data": [deepest]}]}
    body = {"message": {**message, "metadata": {"deep": deepest}}}
    ended = (await call(gateway, "POST", "/message:send", body))["task"]

    assert ended["status"]["state"] == "TASK_STATE_REJECTED"  # by the last one, for the hops alone
    assert [task["status"]["state"] for task in await tasks(gateway)] == ["TASK_STATE_REJECTED"] * 3
    with pytest.raises(ClientResponseError, match="400"):
        await call(gateway, "POST", "/message:send", {"message": {**message, "metadata": {"deep": [deepest]}}})
    assert len(await tasks(gateway)) == 3


DEAF, CHUNKS, CHUNK = 30, 60, 64 << 10  # readers that read nothing, and what the task says: 4 MB for each of them
MOST = 48 << 20  # bytes that the process may grow by; it would be 120 MB if all were kept


@pytest.mark.case("T78")
async def test_thirty_readers_that_never_read_cost_little_memory_and_are_dropped_and_others_hear_everything(
    agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    go_on = asyncio.Event()

    async def talks(_call: Call) -> AsyncIterator[Event]:
        yield working()
        await go_on.wait()
        for number in range(CHUNKS):
            yield artifact("x" * CHUNK, append=number > 0, last=number == CHUNKS - 1)
        yield completed()

    agent.behaviour = talks
    await gateway.start()
    task = await send(gateway, "talk")
    path = f"/a2a/remote/tasks/{task['id']}:subscribe"
    asked = request(path, f"X-API-Key: {KEY}", "A2A-Version: 1.0", method="GET")
    deaf = [deaf_reader(gateway.port, asked) for _ in range(DEAF)]
    headers = {"X-API-Key": KEY, "A2A-Version": "1.0"}
    async with gateway.http.get(gateway.base + path, headers=headers) as stream:
        assert b'"task"' in await stream.content.readline()
        before = memory(gateway.pid)
        go_on.set()
        heard = await stream.content.read()
    assert (heard.count(b"x" * CHUNK), b"TASK_STATE_COMPLETED" in heard) == (CHUNKS, True)
    assert memory(gateway.pid, peak=True) - before < MOST
    await gateway.event("a2a.served", n=DEAF, seconds=60.0, outcome="reader_lost")
    for each in deaf:
        each.close()
    assert (await call(gateway, "GET", f"/tasks/{task['id']}"))["status"]["state"] == "TASK_STATE_COMPLETED"


def deaf_reader(port: int, asked: bytes) -> socket.socket:
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    deaf.connect(("127.0.0.1", port))
    deaf.sendall(asked)
    return deaf


OWNERS, EACH = 10, 100  # the streams that one owner may have open by default, and the owners who fill the gateway
IDLE_MOST = 64 << 20  # bytes that the process may grow by for the thousand: 64 KB for each of them


@pytest.mark.timeout(180)
@pytest.mark.case("T78")
async def test_a_thousand_idle_streams_cost_little_memory_and_hinder_nobody_and_each_hears_the_end(
    agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    go_on = asyncio.Event()

    async def waits(call: Call) -> AsyncIterator[Event]:
        yield working()
        if call.text == "wait":
            await go_on.wait()
        yield completed()

    agent.behaviour = waits
    keys = [f"{KEY}-{number}" for number in range(OWNERS + 1)]
    gateway.private.update(keys)
    callers = [{"name": f"partner{number}", "key": key} for number, key in enumerate(keys)]
    gateway.configure("plugins.partners", callers=callers)
    await gateway.start()
    paths = [f"/tasks/{(await started(gateway, key, 'wait'))['id']}:subscribe" for key in keys]
    before = memory(gateway.pid)
    async with AsyncExitStack() as opened:
        streams = [
            await opened.enter_async_context(subscription(gateway, key, path))
            for key, path in zip(keys[:OWNERS], paths[:OWNERS], strict=True)
            for _ in range(EACH)
        ]
        assert len(streams) == 1000
        async with within(60):
            for stream in streams:
                await stream.readuntil(b"\n:\n")  # a sign of life
        assert memory(gateway.pid, peak=True) - before < IDLE_MOST
        for key, path in ((keys[0], paths[0]), (keys[-1], paths[-1])):  # one too many of an owner, and of all
            assert await gateway.status(f"/a2a/remote{path}", headers=as_caller(key)) == 503
        ended = await started(gateway, keys[-1], "now", waits=True)
        assert ended["status"]["state"] == "TASK_STATE_COMPLETED"
        go_on.set()
        async with within(60):
            heard = [await stream.read() for stream in streams]
    assert all(b"TASK_STATE_COMPLETED" in said for said in heard)


def as_caller(key: str) -> dict[str, str]:
    return {"X-API-Key": key, "A2A-Version": "1.0"}


async def started(gateway: GatewayProcess, key: str, text: str, *, waits: bool = False) -> dict[str, Any]:
    message = {"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}]}
    body = {"message": message, "configuration": {"returnImmediately": not waits}}
    url = f"{gateway.base}/a2a/remote/message:send"
    async with gateway.http.post(url, json=body, headers=as_caller(key)) as answer:
        answer.raise_for_status()
        found: dict[str, Any] = (await answer.json(content_type=None))["task"]
        return found


@asynccontextmanager
async def subscription(gateway: GatewayProcess, key: str, path: str) -> AsyncIterator[asyncio.StreamReader]:
    """Open, its first event read."""
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    try:
        headers = (f"{name}: {value}" for name, value in as_caller(key).items())
        writer.write(request(f"/a2a/remote{path}", *headers, "Connection: close", method="GET"))
        assert b" 200 " in await reader.readline()
        async with within(20):
            await reader.readuntil(b'data: {"task"')
        yield reader
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


SCORE, SECRET, URN = "https://example.com/ext/score", "internal-route", "https://example.com/ext/unknown"
BESIDE = {"metadata": {SCORE: {"of": 5}, SECRET: "10.0.0.7"}, "extensions": [SCORE, URN]}
TOLD = ({SCORE: {"of": 5}}, [SCORE])


def told_beside(said: dict[str, Any]) -> tuple[Any, Any]:
    return said.get("metadata"), said.get("extensions")


async def says_more(call: Call) -> AsyncIterator[Event]:
    made, asked = artifact("a result", last=True), input_required("Which day?")
    beside = {"metadata": BESIDE["metadata"]}
    yield replace(made, body={**made.body, "artifact": {**made.body["artifact"], **BESIDE}, **beside})
    question = {**asked.body["status"]["message"], **BESIDE}
    yield replace(asked, body={"status": {**asked.body["status"], "message": question}, **beside})


@pytest.mark.parametrize("is_streaming", [True, False])
async def test_what_the_agent_says_beside_its_words_is_handed_on_as_far_as_its_settings_say(
    is_streaming: bool, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    agent.behaviour, agent.streaming = says_more, is_streaming
    gateway.configure("agents.remote", passes=[SCORE])
    await gateway.start()
    async with PushReceiver() as receiver:
        pushing = {"configuration": {"taskPushNotificationConfig": {"url": f"{receiver.base}/hook"}}}
        body = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}}
        sent = (await call(gateway, "POST", "/message:send", {**body, **pushing}))["task"]
        await receiver.changes.until(lambda: "TASK_STATE_INPUT_REQUIRED" in states_told(receiver))
        pushed = [one.body for one in receiver.received]
    await gateway.restart()
    read = await call(gateway, "GET", f"/tasks/{sent['id']}")
    old = await old_task(gateway, sent["id"])

    made = [task["artifacts"][0] for task in (sent, read, old)]
    made += [body["artifactUpdate"]["artifact"] for body in pushed if "artifactUpdate" in body]
    asked = [task["status"]["message"] for task in (sent, read, old)]
    asked += [
        body["statusUpdate"]["status"]["message"] for body in pushed if "message" in str(body.get("statusUpdate"))
    ]
    assert [told_beside(said) for said in (*made, *asked)] == [TOLD] * 8
    events = [event for body in pushed for event in body.values() if "metadata" in event]
    assert [said["metadata"] for said in (sent, read, old)] == [TOLD[0]] * 3
    assert [event["metadata"] for event in events] == [TOLD[0]] * (2 if is_streaming else 1)


async def old_task(gateway: GatewayProcess, id: str) -> dict[str, Any]:
    """In the words of 0.3."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": id}}
    url = f"{gateway.base}/a2a/remote"
    async with gateway.http.post(url, json=asked, headers={"X-API-Key": KEY}) as answer:
        found: dict[str, Any] = (await answer.json())["result"]
        return found


async def test_what_a_caller_says_beside_its_words_is_handed_on_as_far_as_its_account_says(
    agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    gateway.configure("plugins.partners", passes=[SCORE])
    await gateway.start()
    body = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}], **BESIDE}}
    await call(gateway, "POST", "/message:send", {**body, "metadata": BESIDE["metadata"]})
    (known,), (sent,) = agent.tasks, agent.calls_of("SendStreamingMessage")
    (heard,) = (said for said in known.history if said["role"] == "ROLE_USER")

    assert told_beside(heard) == ({SCORE: {"of": 5}, "frontdesk/hops": 1}, [SCORE])
    assert sent.params["metadata"] == TOLD[0]
