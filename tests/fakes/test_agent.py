"""The scripted agent speaks A2A 1.0, checked with a raw client; its faults are the ones a test ordered."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientConnectionError, ClientPayloadError, ClientResponse, ClientSession, ClientTimeout

from tests.fakes.agent import CancelMode, ScriptedAgent
from tests.fakes.agent_card import OLD_WELL_KNOWN, ApiKeyAuth, Auth, BearerAuth
from tests.fakes.agent_events import (
    Event,
    artifact,
    completed,
    cut,
    end_stream,
    input_required,
    only_stored,
    only_streamed,
    raw_bytes,
    task,
    working,
)
from tests.fakes.agent_rpc import endless_line, half_json, html_page, huge_body, redirect, rpc_error, wrong_content_type
from tests.fakes.agent_scripts import (
    Call,
    ask_then_answer,
    echo_message,
    events,
    silent_until,
    stream_echo,
    working_until,
)
from tests.fakes.scripting import Respond, cut_after_accepting, cut_before, hang_after_accepting, http_status

HEADERS = {"A2A-Version": "1.0"}
BROKEN = (ClientConnectionError, ClientPayloadError)


class Client:
    """As little A2A as a test needs, and nothing of the project's own client."""

    def __init__(self, http: ClientSession) -> None:
        self.http = http

    async def call(self, agent: ScriptedAgent, method: str, **params: Any) -> dict[str, Any]:
        async with self.http.post(agent.url, json=envelope(method, params), headers=HEADERS) as answer:
            body: dict[str, Any] = await answer.json()
            assert body["id"] == "r1"
            return body

    async def stream(self, agent: ScriptedAgent, method: str, **params: Any) -> AsyncIterator[dict[str, Any]]:
        async with self.http.post(agent.url, json=envelope(method, params), headers=HEADERS) as answer:
            assert answer.content_type == "text/event-stream"
            async for line in answer.content:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])["result"]


def envelope(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": "r1", "method": method, "params": params}


def user(text: str, **ids: str) -> dict[str, Any]:
    return {"messageId": f"m-{text}", "role": "ROLE_USER", "parts": [{"text": text}], **ids}


def state_of(known: dict[str, Any]) -> str:
    return str(known["status"]["state"])


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with ClientSession(timeout=ClientTimeout(total=10)) as http:
        yield Client(http)


async def test_the_card_names_the_interface_and_is_revalidated(client: Client) -> None:
    async with ScriptedAgent(prefix="/agents/one", auth=BearerAuth("t")) as agent:
        async with client.http.get(agent.card_url) as answer:
            card, tag = await answer.json(), answer.headers["ETag"]
        assert card["supportedInterfaces"] == [
            {"url": agent.url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ]
        assert card["securityRequirements"] == [{"schemes": {"desk": {"list": []}}}]
        async with client.http.get(agent.card_url, headers={"If-None-Match": tag}) as again:
            assert again.status == 304


async def test_a_card_may_stand_at_another_path_or_be_old(client: Client) -> None:
    async with ScriptedAgent(card_paths=(OLD_WELL_KNOWN,), other_paths_status=401, is_old=True) as agent:
        async with client.http.get(f"{agent.base}/.well-known/agent-card.json") as wrong:
            assert wrong.status == 401
        async with client.http.get(agent.card_url) as answer:
            assert (await answer.json())["protocolVersion"] == "0.3.0"
        assert [call.method for call in agent.calls] == ["other", "card"]


async def test_a_message_is_answered_by_a_completed_task(client: Client) -> None:
    async with ScriptedAgent() as agent:
        answer = await client.call(agent, "SendMessage", message=user("hi"))
        known = answer["result"]["task"]
        assert (state_of(known), known["artifacts"][0]["parts"]) == ("TASK_STATE_COMPLETED", [{"text": "echo: hi"}])
        assert known["history"][0]["messageId"] == "m-hi"
        assert (await client.call(agent, "GetTask", id=known["id"]))["result"] == known
        assert agent.message_counts == {"m-hi": 1}
        assert agent.calls_of("SendMessage")[0].headers["a2a-version"] == "1.0"


async def test_a_message_that_comes_again_makes_a_second_task_unless_the_agent_deduplicates(client: Client) -> None:
    async with ScriptedAgent() as agent:
        for deduplicates, tasks in ((False, 2), (True, 3)):
            agent.deduplicates = deduplicates
            text = f"once {deduplicates}"
            first = (await client.call(agent, "SendMessage", message=user(text)))["result"]["task"]
            again = (await client.call(agent, "SendMessage", message=user(text)))["result"]["task"]
            assert (first["id"] == again["id"], len(list(agent.tasks))) == (deduplicates, tasks)
        streamed = [event async for event in client.stream(agent, "SendStreamingMessage", message=user(text))]
        assert [state_of(event["task"]) for event in streamed] == ["TASK_STATE_COMPLETED"]
        assert agent.message_counts == {"m-once False": 2, "m-once True": 1}


async def test_a_message_may_be_answered_without_a_task(client: Client) -> None:
    async with ScriptedAgent(echo_message) as agent:
        answer = await client.call(agent, "SendMessage", message=user("hi", contextId="c1"))
        assert answer["result"]["message"]["parts"] == [{"text": "echo: hi"}]
        assert answer["result"]["message"]["contextId"] == "c1"
        assert list(agent.tasks) == []


async def test_a_stream_begins_with_the_task_and_ends_with_the_terminal_state(client: Client) -> None:
    async with ScriptedAgent(stream_echo(("Hello, ", "world!"))) as agent:
        frames = [frame async for frame in client.stream(agent, "SendStreamingMessage", message=user("hi"))]
        kinds = [next(iter(frame)) for frame in frames]
        assert kinds == ["task", "statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"]
        assert [frames[n]["artifactUpdate"].get("append", False) for n in (2, 3)] == [False, True]
        assert state_of(frames[0]["task"]) == "TASK_STATE_SUBMITTED"
        assert state_of(frames[-1]["statusUpdate"]) == "TASK_STATE_COMPLETED"
        assert agent.only_task.text == "Hello, world!"


async def test_a_question_is_answered_in_the_same_task(client: Client) -> None:
    async with ScriptedAgent(ask_then_answer()) as agent:
        asked = (await client.call(agent, "SendMessage", message=user("book")))["result"]["task"]
        assert state_of(asked) == "TASK_STATE_INPUT_REQUIRED"
        assert asked["status"]["message"]["parts"] == [{"text": "Which day?"}]
        ids = {"taskId": asked["id"], "contextId": asked["contextId"]}
        done = (await client.call(agent, "SendMessage", message=user("Tuesday", **ids)))["result"]["task"]
        assert (done["id"], done["artifacts"][0]["parts"]) == (asked["id"], [{"text": "Booked for Tuesday"}])
        assert [kept["parts"][0]["text"] for kept in done["history"]] == ["book", "Which day?", "Tuesday"]
        again = await client.call(agent, "SendMessage", message=user("Friday", **ids))
        assert again["error"]["code"] == -32004


@pytest.mark.parametrize(
    ("ids", "code"), [({"taskId": "nobody"}, -32001), ({"taskId": "T", "contextId": "other"}, -32602)]
)
async def test_wrong_ids_are_refused(client: Client, ids: dict[str, str], code: int) -> None:
    async with ScriptedAgent(ask_then_answer()) as agent:
        asked = (await client.call(agent, "SendMessage", message=user("book")))["result"]["task"]
        real = {name: asked["id"] if value == "T" else value for name, value in ids.items()}
        refused = await client.call(agent, "SendMessage", message=user("Tuesday", **real))
        assert refused["error"]["code"] == code
        assert refused["error"]["data"][0]["domain"] == "a2a-protocol.org"


async def test_returning_immediately_shows_the_task_at_work(client: Client) -> None:
    go = asyncio.Event()
    async with ScriptedAgent(working_until(go)) as agent:
        at_once = {"returnImmediately": True}
        sent = await client.call(agent, "SendMessage", message=user("hi"), configuration=at_once)
        assert state_of(sent["result"]["task"]) in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
        go.set()
        await agent.wait_for_state("COMPLETED")
        listed = await client.call(agent, "ListTasks", contextId=sent["result"]["task"]["contextId"])
        assert listed["result"]["totalSize"] == 1
        assert listed["result"]["tasks"][0]["history"][0]["messageId"] == "m-hi"
        assert "artifacts" not in listed["result"]["tasks"][0]


async def test_lists_are_newest_first_and_paged(client: Client) -> None:
    async with ScriptedAgent() as agent:
        for text in ("a", "b", "c"):
            await client.call(agent, "SendMessage", message=user(text, contextId="C"))
        first = (await client.call(agent, "ListTasks", pageSize=2))["result"]
        rest = (await client.call(agent, "ListTasks", pageSize=2, pageToken=first["nextPageToken"]))["result"]
        told = [known["history"][0]["messageId"] for known in first["tasks"] + rest["tasks"]]
        assert (told, rest["nextPageToken"]) == (["m-c", "m-b", "m-a"], "")
        assert (await client.call(agent, "ListTasks", pageSize=0))["error"]["code"] == -32602


async def test_a_broken_stream_is_resumed_by_a_snapshot(client: Client) -> None:
    go = asyncio.Event()

    async def script(call: Call) -> AsyncIterator[Event]:
        yield artifact("first ")
        yield cut()
        yield artifact("second ", append=True)
        await go.wait()
        yield artifact("third", append=True, last=True)
        yield completed()

    async with ScriptedAgent(script) as agent:
        broken = client.stream(agent, "SendStreamingMessage", message=user("hi"))
        assert [next(iter(await anext(broken))) for _ in range(2)] == ["task", "artifactUpdate"]
        with pytest.raises(BROKEN):
            await anext(broken)
        resumed = client.stream(agent, "SubscribeToTask", id=agent.only_task.id)
        snapshot = (await anext(resumed))["task"]
        assert [part["text"] for part in snapshot["artifacts"][0]["parts"]] == ["first ", "second "]
        go.set()
        assert [next(iter(frame)) async for frame in resumed] == ["artifactUpdate", "statusUpdate"]
        refused = await client.call(agent, "SubscribeToTask", id=agent.only_task.id)
        assert refused["error"]["code"] == -32004


async def test_a_stream_may_end_cleanly_while_the_work_goes_on(client: Client) -> None:
    go = asyncio.Event()

    async def script(call: Call) -> AsyncIterator[Event]:
        yield working()
        yield end_stream()
        await go.wait()
        yield completed()

    async with ScriptedAgent(script) as agent:
        frames = [frame async for frame in client.stream(agent, "SendStreamingMessage", message=user("hi"))]
        assert (len(frames), agent.only_task.state) == (2, "WORKING")
        go.set()
        await agent.wait_for_state("COMPLETED")


async def test_what_is_streamed_and_what_is_stored_may_differ(client: Client) -> None:
    said = events(
        task(),
        only_streamed(artifact("A"), task_id="another"),
        only_stored(artifact("B")),
        raw_bytes(b": ping\n\n"),
        completed(),
    )
    async with ScriptedAgent(said) as agent:
        frames = [frame async for frame in client.stream(agent, "SendStreamingMessage", message=user("hi"))]
        assert [next(iter(frame)) for frame in frames] == ["task", "artifactUpdate", "statusUpdate"]
        assert frames[1]["artifactUpdate"]["taskId"] == "another"
        assert agent.only_task.text == "B"


async def test_a_question_may_be_asked_where_no_stream_shows_it(client: Client) -> None:
    async with ScriptedAgent(events(working(), only_stored(input_required("Which day?")))) as agent:
        stream = client.stream(agent, "SendStreamingMessage", message=user("hi"))
        assert [next(iter(await anext(stream))) for _ in range(2)] == ["task", "statusUpdate"]
        known = await agent.wait_for_state("INPUT_REQUIRED")
        assert agent.tasks.open_streams(known.id) == 1
        await stream.aclose()  # type: ignore[attr-defined]


async def test_the_task_is_unknown_until_the_first_event(client: Client) -> None:
    go = asyncio.Event()
    async with ScriptedAgent(silent_until(go)) as agent:
        sending = asyncio.create_task(client.call(agent, "SendMessage", message=user("hi")))
        await agent.wait_for_calls("SendMessage")
        assert (await client.call(agent, "ListTasks"))["result"]["tasks"] == []
        go.set()
        assert state_of((await sending)["result"]["task"]) == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize(
    ("mode", "told", "finally_"),
    [
        ("honoured", "TASK_STATE_CANCELED", "CANCELED"),
        ("ignored", "TASK_STATE_WORKING", "COMPLETED"),
        ("asked", "TASK_STATE_WORKING", "COMPLETED"),
        ("overtaken", "TASK_STATE_CANCELED", "COMPLETED"),
    ],
)
async def test_a_cancel_is_met_as_ordered(client: Client, mode: CancelMode, told: str, finally_: str) -> None:
    go = asyncio.Event()
    async with ScriptedAgent(working_until(go), on_cancel=mode) as agent:
        at_once = {"returnImmediately": True}
        await client.call(agent, "SendMessage", message=user("hi"), configuration=at_once)
        known = await agent.wait_for_state("WORKING")
        assert state_of((await client.call(agent, "CancelTask", id=known.id))["result"]) == told
        assert known.cancel_asked.is_set() == (mode != "ignored")
        go.set()
        await agent.wait_for_state(finally_)


async def test_a_cancel_may_be_unsupported_or_too_late(client: Client) -> None:
    async with ScriptedAgent(on_cancel="unsupported") as agent:
        known = (await client.call(agent, "SendMessage", message=user("hi")))["result"]["task"]
        assert (await client.call(agent, "CancelTask", id=known["id"]))["error"]["code"] == -32004
        agent.on_cancel = "honoured"
        assert (await client.call(agent, "CancelTask", id=known["id"]))["error"]["code"] == -32002
        assert (await client.call(agent, "CancelTask", id="nobody"))["error"]["code"] == -32001


async def test_a_forgetful_agent_knows_nothing_after_its_restart(client: Client) -> None:
    async with ScriptedAgent(working_until(asyncio.Event())) as agent:
        stream = client.stream(agent, "SendStreamingMessage", message=user("hi"))
        task_id = (await anext(stream))["task"]["id"]
        await agent.restart()
        with pytest.raises(BROKEN):
            [frame async for frame in stream]
        assert (await client.call(agent, "GetTask", id=task_id))["error"]["code"] == -32001


@pytest.mark.parametrize(
    ("auth", "headers"),
    [(BearerAuth("secret"), {"Authorization": "Bearer secret"}), (ApiKeyAuth("key"), {"X-API-Key": "key"})],
)
async def test_credentials_are_required(client: Client, auth: Auth, headers: dict[str, str]) -> None:
    async with ScriptedAgent(auth=auth) as agent:
        body = envelope("SendMessage", {"message": user("hi")})
        async with client.http.post(agent.url, json=body, headers=HEADERS) as refused:
            assert (refused.status, "WWW-Authenticate" in refused.headers) == (401, True)
        async with client.http.post(agent.url, json=body, headers={**HEADERS, **headers}) as answer:
            assert "result" in await answer.json()


async def test_a_caller_without_the_version_is_refused(client: Client) -> None:
    async with (
        ScriptedAgent() as agent,
        client.http.post(agent.url, json=envelope("GetTask", {"id": "t"})) as answer,
    ):
        assert (await answer.json())["error"]["code"] == -32009


async def test_methods_may_be_missing(client: Client) -> None:
    async with ScriptedAgent(streaming=False, lists_tasks=False) as agent:
        assert (await client.call(agent, "SendStreamingMessage", message=user("hi")))["error"]["code"] == -32004
        assert (await client.call(agent, "ListTasks"))["error"]["code"] == -32601


@pytest.mark.parametrize(("respond", "accepted"), [(cut_before(), 0), (cut_after_accepting(), 1)])
async def test_a_connection_breaks_before_or_after_accepting(client: Client, respond: Respond, accepted: int) -> None:
    async with ScriptedAgent() as agent:
        agent.fault("SendMessage", respond=respond)
        with pytest.raises(ClientConnectionError):
            await client.call(agent, "SendMessage", message=user("hi"))
        assert agent.message_counts["m-hi"] == accepted


async def test_an_accepted_call_may_never_be_answered(client: Client) -> None:
    async with ScriptedAgent() as agent:
        agent.fault("SendMessage", respond=hang_after_accepting())
        sending = asyncio.create_task(client.call(agent, "SendMessage", message=user("hi")))
        await agent.wait_for_state("COMPLETED")
        assert not sending.done()
        await agent.go_down()
        with pytest.raises(ClientConnectionError):
            await sending


async def no_json(answer: ClientResponse) -> bool:
    try:
        return "result" not in (await answer.json(content_type=None) or {})
    except ValueError:
        return True


@pytest.mark.parametrize(
    ("respond", "status", "content_type"),
    [
        (html_page(), 200, "text/html"),
        (half_json(), 200, "application/json"),
        (http_status(503, Retry_After="1"), 503, "text/html"),
        (redirect("http://169.254.169.254/"), 302, "application/octet-stream"),
        (rpc_error(-32603), 200, "application/json"),
    ],
)
async def test_an_answer_may_be_wrong_in_every_ordered_way(
    client: Client, respond: Respond, status: int, content_type: str
) -> None:
    async with ScriptedAgent() as agent:
        agent.fault("SendMessage", respond=respond)
        body = envelope("SendMessage", {"message": user("hi")})
        async with client.http.post(agent.url, json=body, headers=HEADERS, allow_redirects=False) as answer:
            assert (answer.status, answer.content_type) == (status, content_type)
            assert await no_json(answer)


async def test_a_right_answer_may_come_under_a_wrong_type(client: Client) -> None:
    async with ScriptedAgent() as agent:
        agent.fault("SendMessage", respond=wrong_content_type())
        body = envelope("SendMessage", {"message": user("hi")})
        async with client.http.post(agent.url, json=body, headers=HEADERS) as answer:
            assert answer.content_type == "text/plain"
            assert "result" in await answer.json(content_type=None)


@pytest.mark.parametrize("respond", [huge_body(1 << 20), endless_line()])
async def test_a_body_may_be_longer_than_anyone_reads(client: Client, respond: Respond) -> None:
    async with ScriptedAgent() as agent:
        agent.fault("SendMessage", respond=respond)
        body = envelope("SendMessage", {"message": user("hi")})
        async with client.http.post(agent.url, json=body, headers=HEADERS) as answer:
            assert len(await answer.content.readexactly(1 << 20)) == 1 << 20


async def test_a_mistake_in_a_script_fails_the_test(client: Client) -> None:
    async def script(call: Call) -> AsyncIterator[Event]:
        yield working()
        raise ZeroDivisionError

    agent = ScriptedAgent(script)
    await agent.come_up()
    sent = await client.call(agent, "SendMessage", message=user("hi"))
    assert state_of(sent["result"]["task"]) == "TASK_STATE_FAILED"
    with pytest.raises(ExceptionGroup, match="a script of the agent failed"):
        await agent.__aexit__(None, None, None)
