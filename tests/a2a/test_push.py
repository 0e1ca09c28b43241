"""Push: how an agent is told where to push, and what is let in there."""

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from a2a.push import TOKEN_HEADERS, PushDoor
from core.agent import ArtifactUpdate, Snapshot, StatusUpdate, TaskEvent, TaskState
from core.doors.ingress import Ingress, IngressLimits
from core.doors.listener import Listener
from core.errors import Busy, Declined
from core.push import Push, PushBook, PushTarget
from tests.a2a.asking import ask, failure, heard, ref_of, words
from tests.a2a.conftest import Connect
from tests.core.doors.wire import converse, parse
from tests.doubles.store import MemoryStore
from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_bindings import NAMES
from tests.fakes.agent_events import artifact, completed, working
from tests.fakes.agent_push import FORMS, pushed
from tests.fakes.agent_rpc import rpc_error
from tests.fakes.agent_tasks import AgentTask

SECRET = "secret-of-the-first-task"
PUSH = Push("push-1", "https://desk.example/a2a/push/push-1", SECRET)


# ---------------------------------------------------------------------------------------------- telling the agent


@pytest.mark.parametrize("name", NAMES)
async def test_where_to_push_goes_along_with_the_message(connect: Connect, name: str) -> None:
    async with ScriptedAgent(speaks=[name], streaming=False, pushes=True) as agent:
        remote = connect(agent.card_url)
        assert await remote.push_way() == "send"
        await heard(remote.send(ask(push=PUSH)))
        [config] = agent.push_configs.values()
    shown = {"scheme": "Bearer", "credentials": SECRET}
    assert config == {"id": "push-1", "url": PUSH.url, "token": SECRET, "authentication": shown}


@pytest.mark.parametrize("name", NAMES)
async def test_where_to_push_is_told_and_taken_back_by_calls_of_their_own(connect: Connect, name: str) -> None:
    async with ScriptedAgent(speaks=[name], pushes=True) as agent:
        remote = connect(agent.card_url)
        assert await remote.push_way() == "call"
        task = ref_of((await heard(remote.send(ask())))[0])
        await remote.register_push(task, PUSH)
        [config] = agent.push_configs.values()
        assert (config["url"], config["token"], config["taskId"]) == (PUSH.url, SECRET, task.task_id)
        await remote.unregister_push(task, PUSH.id)
        assert agent.push_configs == {}


@pytest.mark.parametrize(
    ("wished", "pushes", "streaming", "way"),
    [
        ("auto", True, True, "call"),
        ("auto", True, False, "send"),
        ("auto", False, False, ""),
        (True, True, True, "send"),
        (True, False, True, ""),
        (False, True, False, ""),
    ],
)
async def test_push_is_asked_for_as_set_and_offered(
    connect: Connect, wished: object, pushes: bool, streaming: bool, way: str
) -> None:
    async with ScriptedAgent(pushes=pushes, streaming=streaming) as agent:
        remote = connect(agent.card_url, push=wished)
        assert await remote.push_way() == way
        warnings = (await remote.discover()).warnings
        assert any("push is true" in warning for warning in warnings) == (wished is True and not pushes)


async def test_an_agent_that_refuses_push_after_all_gets_the_message_without(connect: Connect) -> None:
    async with ScriptedAgent(streaming=False, pushes=True) as agent:
        remote = connect(agent.card_url)
        agent.fault("SendMessage", respond=rpc_error(-32003))
        [said] = await heard(remote.send(ask(push=PUSH)))
        assert isinstance(said, Snapshot)
        assert agent.push_configs == {}
        assert await remote.push_way() == ""
        agent.pushes = False
        assert isinstance(await failure(remote.register_push(ref_of(said), PUSH)), Declined)


async def test_a_secret_stands_in_no_repr() -> None:
    assert SECRET not in repr(PUSH)
    assert SECRET not in repr(ask(push=PUSH))


# ---------------------------------------------------------------------------------------------- the door


class Door:
    """The receiver on a socket, with two tasks that agents push to."""

    def __init__(self) -> None:
        self.book = PushBook(MemoryStore(), "http://desk")
        self.taken: list[tuple[str, TaskEvent]] = []
        self.refused: list[str] = []
        self.busy = False
        self.port = 0
        for number in ("1", "2"):
            digest = hashlib.sha256(f"secret-{number}".encode()).digest()
            self.book.keep(PushTarget(f"push-{number}", "agent", f"turn-{number}", digest, f"task-{number}"))
        self.book.is_loaded = True

    def take(self, target: PushTarget, event: TaskEvent) -> None:
        if self.busy:
            raise Busy("full", retry_after=5.0)
        self.taken.append((target.id, event))

    async def post(self, body: Any, *, id: str = "push-1", **headers: str) -> int:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) else json.dumps(body)
        url = f"http://127.0.0.1:{self.port}/a2a/push/{id}"
        sent.setdefault("Content-Type", "application/json")
        async with aiohttp.ClientSession() as http, http.post(url, data=data, headers=sent) as answer:
            self.body = await answer.text()
            return answer.status


@asynccontextmanager
async def opened() -> AsyncIterator[Door]:
    door, app = Door(), web.Application()
    ingress = Ingress(IngressLimits(), on_refusal=lambda _, refusal: door.refused.append(refusal.reason))
    app.add_routes(PushDoor(door.book, door.take).routes(ingress))
    async with Listener(app, host="127.0.0.1", port=0, limits=IngressLimits()) as listener:
        door.port = listener.port
        yield door


TASK = AgentTask("task-1", "context-1")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("content_type", ["application/json", "application/a2a+json"])
async def test_every_form_in_which_agents_push_a_whole_task_is_read(form: str, content_type: str) -> None:
    done = AgentTask("task-1", "context-1")
    done.apply(artifact("the answer"))
    done.apply(completed())
    async with opened() as door:
        body = pushed(done, form=form)
        assert await door.post(body, X_A2A_Notification_Token="secret-1", Content_Type=content_type) == 200
        [(_, event)] = door.taken
    assert isinstance(event, Snapshot)
    assert (event.task_id, event.state, words(event)) == ("task-1", TaskState.COMPLETED, "the answer")


@pytest.mark.parametrize("form", ["StreamResponse 1.0", "event 0.3"])
async def test_statuses_and_artifacts_are_read_in_both_versions(form: str) -> None:
    async with opened() as door:
        for event in (working("on it"), artifact("half", last=True)):
            assert await door.post(pushed(TASK, event, form=form), A2A_Notification_Token="secret-1") == 200
        (_, status), (_, part) = door.taken
    assert isinstance(status, StatusUpdate)
    assert words(status) == "on it"
    assert isinstance(part, ArtifactUpdate)
    assert (words(part), part.last) == ("half", True)


async def test_a_bare_message_says_nothing_of_a_task() -> None:
    async with opened() as door:
        body = {"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]}}
        assert await door.post(body, A2A_Notification_Token="secret-1") == 200
        assert door.taken == []


@pytest.mark.parametrize(
    "headers",
    [
        {"X_A2A_Notification_Token": "secret-1"},
        {"A2A_Notification_Token": "secret-1"},
        {"Authorization": "Bearer secret-1"},
        {
            "X_A2A_Notification_Token": "secret-1",
            "A2A_Notification_Token": "secret-1",
            "Authorization": "bearer secret-1",
        },
    ],
)
async def test_the_secret_is_taken_by_either_token_header_and_as_a_bearer(headers: dict[str, str]) -> None:
    async with opened() as door:
        assert await door.post(pushed(TASK), **headers) == 200
        assert len(door.taken) == 1


@pytest.mark.case("T35")
@pytest.mark.case("T37")
@pytest.mark.case("A2A-25")
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X_A2A_Notification_Token": ""},
        {"X_A2A_Notification_Token": "secret-"},
        {"X_A2A_Notification_Token": "secret-1 x"},
        {"X_A2A_Notification_Token": "SECRET-1"},
        {"X_A2A_Notification_Token": "secret-2"},
        {"X_A2A_Notification_Token": "secret-1", "A2A_Notification_Token": "secret-2"},
        {"X_A2A_Notification_Token": "secret-1", "Authorization": "Bearer secret-2"},
        {"Authorization": "Basic secret-1"},
        {"Authorization": "Bearer"},
    ],
)
async def test_a_push_without_its_own_secret_is_refused(headers: dict[str, str]) -> None:
    async with opened() as door:
        assert await door.post(pushed(TASK), **headers) == 401
        assert door.taken == []
        assert await door.post(pushed(TASK), A2A_Notification_Token="secret-1") == 200


@pytest.mark.case("T35")
@pytest.mark.parametrize("path", ["/a2a/push/push-1?token=secret-1", "/a2a/push/push-1"])
async def test_a_forged_push_is_refused_before_its_body_is_read(path: str) -> None:
    head = f"POST {path} HTTP/1.1\r\nHost: desk\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n{{"
    async with opened() as door:
        assert parse(await converse(door.port, head.encode())).status == 401


@pytest.mark.case("T36")
@pytest.mark.case("A2A-25")
async def test_a_path_nobody_was_given_is_not_found_without_a_word() -> None:
    async with opened() as door:
        assert await door.post(pushed(TASK), id="push-3", A2A_Notification_Token="secret-1") == 404
        unknown = json.loads(door.body)
        assert await door.post(pushed(TASK), id="x" * 65, A2A_Notification_Token="secret-1") == 404
    assert "detail" not in unknown
    assert door.taken == []


@pytest.mark.case("T36")
@pytest.mark.case("T37")
async def test_what_is_pushed_of_another_task_has_no_effect() -> None:
    async with opened() as door:
        other = AgentTask("task-2", "context-2")
        assert await door.post(pushed(other), A2A_Notification_Token="secret-1") == 404
        assert await door.post(pushed(AgentTask("nobody", "c")), A2A_Notification_Token="secret-1") == 404
        assert door.taken == []
        assert door.refused == ["foreign_task", "foreign_task"]


@pytest.mark.case("F13")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html></html>",
        b"[]",
        b"null",
        b"{}",
        b'{"task":',
        b'{"id":"task-1"}',
        b'{"id":"task-1","status":"done"}',
        b'{"kind":"task"}',
        b'{"kind":"surprise","id":"task-1"}',
        b'{"statusUpdate":{"taskId":"task-1","status":{"state":"TASK_STATE_DONE"}}}',
        b'{"task":{"id":"","status":{"state":"TASK_STATE_WORKING"}}}',
        b'{"task":{"id":"task-1","id":"task-2","status":{"state":"TASK_STATE_WORKING"}}}',
        b'{"kind":"task","id":"task-1","status":{"state":"\\ud800"}}',
        b"[" * 100_000,
        b'{"n":NaN}',
    ],
)
async def test_what_is_no_push_is_refused_and_changes_nothing(body: bytes) -> None:
    async with opened() as door:
        assert await door.post(body, A2A_Notification_Token="secret-1") == 400
        assert door.taken == []


async def test_pushes_are_put_off_while_too_many_wait_or_the_gateway_starts() -> None:
    async with opened() as door:
        door.busy = True
        assert await door.post(pushed(TASK), A2A_Notification_Token="secret-1") == 503
        door.busy, door.book.is_loaded = False, False
        assert await door.post(pushed(TASK), A2A_Notification_Token="secret-1") == 503
        door.book.is_loaded = True
        assert await door.post(pushed(TASK), A2A_Notification_Token="secret-1") == 200


def test_both_spellings_of_the_token_header_are_known() -> None:
    assert set(TOKEN_HEADERS) == {"X-A2A-Notification-Token", "A2A-Notification-Token"}
