"""Following a task that was started: joining it, looking at it, stopping it, and finding it again."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from a2a.client import LIST_HISTORY
from core.agent import TaskRef, TaskState
from core.errors import (
    AgentError,
    CancelRefused,
    Declined,
    NotAuthorised,
    TaskEnded,
    TaskUnknown,
    Unreachable,
)
from tests.a2a.asking import ask, failure, heard, ref_of, started, words
from tests.a2a.conftest import Connect
from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_events import Event, artifact, completed, cut, end_stream, working
from tests.fakes.agent_rpc import half_json, html_page, rpc_error, wrong_result
from tests.fakes.agent_scripts import Call, ask_then_answer, events, working_until
from tests.fakes.scripting import Respond, cut_after_accepting, cut_before, http_status

NOWHERE = TaskRef("task-nobody-knows", "c")


async def test_a_task_that_is_over_cannot_be_joined(connect: Connect) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url)
        task = ref_of((await heard(remote.send(ask())))[0])
        assert type(await failure(remote.subscribe(task))) is TaskEnded
        assert type(await failure(remote.subscribe(NOWHERE))) is TaskUnknown


async def test_an_agent_that_does_not_stream_is_not_even_asked_to(connect: Connect) -> None:
    async with ScriptedAgent(streaming=False) as agent:
        assert type(await failure(connect(agent.card_url).subscribe(NOWHERE))) is Declined
        assert agent.calls_of("SubscribeToTask") == []


async def test_a_joined_stream_that_breaks_is_a_cut_road_and_one_that_ends_just_ends(connect: Connect) -> None:
    gates = asyncio.Event(), asyncio.Event()

    async def script(_: Call) -> AsyncIterator[Event]:
        yield working()
        for gate, ending in zip(gates, (cut(), end_stream()), strict=True):
            await gate.wait()
            yield ending

    async with ScriptedAgent(script) as agent:
        remote = connect(agent.card_url)
        task = await started(remote)
        said = remote.subscribe(task)
        await anext(said)
        gates[0].set()
        assert type(await failure(said)) is Unreachable
        said = remote.subscribe(task)
        await anext(said)
        gates[1].set()
        assert await heard(said) == []


@pytest.mark.case("A2A-07")
async def test_looking_at_a_task_shows_its_question_and_its_artifacts(connect: Connect) -> None:
    async with ScriptedAgent(ask_then_answer("Which day?")) as agent:
        remote = connect(agent.card_url)
        task = ref_of((await heard(remote.send(ask("book"))))[0])
        asked = await remote.get(task)
        assert asked.state is TaskState.INPUT_REQUIRED
        assert asked.time is not None
        await heard(remote.send(ask("Friday", message_id="m-2", task=task)))
        answered = await remote.get(task)
        assert (answered.state, words(answered)) == (TaskState.COMPLETED, "Booked for Friday")
        assert agent.calls_of("GetTask")[0].params == {"id": task.task_id, "historyLength": 0}


async def test_a_task_without_context_keeps_the_one_it_is_known_by(connect: Connect) -> None:
    bare = {"id": "t", "contextId": "", "status": {"state": "TASK_STATE_WORKING"}}
    async with ScriptedAgent() as agent:
        agent.fault("GetTask", respond=wrong_result(bare))
        assert (await connect(agent.card_url).get(TaskRef("t", "c"))).context_id == "c"


TRANSIENT = [
    cut_before(),
    cut_after_accepting(),
    http_status(500),
    http_status(503, Retry_After="5"),
    http_status(429),
    http_status(404),
    http_status(400, body="bad"),
    html_page(),
    half_json(),
    wrong_result(None),
    wrong_result({"id": "t", "status": {"state": "TASK_STATE_UNSPECIFIED"}}),
    rpc_error(-32603),
]


@pytest.mark.case("F13")
@pytest.mark.parametrize("respond", TRANSIENT)
async def test_a_read_without_a_usable_answer_may_be_repeated(connect: Connect, respond: Respond) -> None:
    async with ScriptedAgent(working_until(asyncio.Event()), on_cancel="ignored") as agent:
        remote = connect(agent.card_url)
        task = await started(remote)
        for method in ("GetTask", "CancelTask", "SubscribeToTask"):
            agent.fault(method, respond=respond)
        assert type(await failure(remote.get(task))) is Unreachable
        assert type(await failure(remote.cancel(task))) is Unreachable
        assert type(await failure(remote.subscribe(task))) is Unreachable
        assert (await remote.get(task)).task_id == task.task_id


@pytest.mark.parametrize("respond", [http_status(401), http_status(403)])
async def test_reads_with_refused_credentials_need_an_operator(connect: Connect, respond: Respond) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url)
        agent.fault("*", respond=respond, times=None)
        for read in (remote.get(NOWHERE), remote.cancel(NOWHERE), remote.find("c", "m"), remote.subscribe(NOWHERE)):
            assert type(await failure(read)) is NotAuthorised


@pytest.mark.parametrize("code", [-32602, -32601, -32004, -32009])
async def test_a_look_that_the_agent_refuses_by_the_protocol_is_declined(connect: Connect, code: int) -> None:
    async with ScriptedAgent() as agent:
        agent.fault("GetTask", respond=rpc_error(code))
        error = await failure(connect(agent.card_url).get(NOWHERE))
    assert type(error) is Declined
    assert error.code == code


@pytest.mark.case("A2A-15")
async def test_a_cancel_without_effect_is_not_taken_for_one(connect: Connect) -> None:
    async with ScriptedAgent(working_until(asyncio.Event()), on_cancel="ignored") as agent:
        remote = connect(agent.card_url)
        task = await started(remote)
        await agent.wait_for_state("WORKING")
        after = await remote.cancel(task)
    assert after is not None
    assert after.state is TaskState.WORKING


@pytest.mark.case("A2A-15")
async def test_an_agent_that_cannot_cancel_refuses(connect: Connect) -> None:
    async with ScriptedAgent(working_until(asyncio.Event()), on_cancel="unsupported") as agent:
        remote = connect(agent.card_url)
        assert type(await failure(remote.cancel(await started(remote)))) is CancelRefused


@pytest.mark.case("A2A-15")
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (-32001, TaskUnknown),
        (-32002, TaskEnded),
        (-32003, CancelRefused),
        (-32004, CancelRefused),
        (-32601, CancelRefused),
        (-32602, CancelRefused),
        (-32000, CancelRefused),
        (-32603, Unreachable),
    ],
)
async def test_each_refusal_to_cancel_is_told_by_its_code(connect: Connect, code: int, kind: type[AgentError]) -> None:
    async with ScriptedAgent() as agent:
        agent.fault("CancelTask", respond=rpc_error(code))
        assert type(await failure(connect(agent.card_url).cancel(NOWHERE))) is kind


async def test_optional_methods_that_are_missing_do_not_make_the_card_doubtful(connect: Connect) -> None:
    async with ScriptedAgent(lists_tasks=False) as agent:
        remote = connect(agent.card_url)
        agent.fault("CancelTask", respond=rpc_error(-32601))
        await failure(remote.cancel(NOWHERE))
        await failure(remote.find("c", "m"))
    assert len(agent.calls_of("card")) == 1


async def test_a_message_is_found_by_its_id_with_the_artifacts_of_its_task(connect: Connect) -> None:
    async with ScriptedAgent(events(artifact("made"), completed())) as agent:
        remote = connect(agent.card_url)
        task = ref_of((await heard(remote.send(ask(message_id="m-1"))))[0])
        await heard(remote.send(ask(message_id="m-2")))
        for context_id in (task.context_id, None):
            found = await remote.find(context_id, "m-1")
            assert found is not None
            assert (ref_of(found), words(found)) == (task, "made")
        assert await remote.find(task.context_id, "m-3") is None


async def test_a_message_that_continued_a_task_is_found_in_it(connect: Connect) -> None:
    async with ScriptedAgent(ask_then_answer()) as agent:
        remote = connect(agent.card_url)
        task = ref_of((await heard(remote.send(ask(message_id="m-1"))))[0])
        await heard(remote.send(ask("Friday", message_id="m-2", task=task)))
        found = await remote.find(task.context_id, "m-2")
    assert found is not None
    assert ref_of(found) == task


async def test_an_agent_without_a_listing_declines(connect: Connect) -> None:
    async with ScriptedAgent(lists_tasks=False) as agent:
        error = await failure(connect(agent.card_url).find("c", "m"))
    assert type(error) is Declined
    assert error.code == -32601


@pytest.mark.parametrize(
    ("respond", "kind"),
    [
        (rpc_error(-32004), Declined),
        (rpc_error(-32001), Declined),
        (http_status(404), Declined),
        (http_status(501), Declined),
        (rpc_error(-32603), Unreachable),
        (http_status(502), Unreachable),
        (wrong_result({"tasks": "none"}), Unreachable),
    ],
)
async def test_a_listing_that_fails_is_declined_or_tried_later(
    connect: Connect, respond: Respond, kind: type[AgentError]
) -> None:
    async with ScriptedAgent() as agent:
        agent.fault("ListTasks", respond=respond)
        assert type(await failure(connect(agent.card_url).find("c", "m"))) is kind


def listed(history: int, *, token: str = "") -> Respond:
    said = [{"messageId": f"x-{n}", "role": "ROLE_USER", "parts": [{"text": "x"}]} for n in range(history)]
    task = {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}, "history": said}
    return wrong_result({"tasks": [task], "nextPageToken": token, "pageSize": 100, "totalSize": 1})


@pytest.mark.parametrize("history", [0, LIST_HISTORY])
async def test_a_listing_without_whole_histories_proves_nothing(connect: Connect, history: int) -> None:
    async with ScriptedAgent() as agent:
        agent.fault("ListTasks", respond=listed(history))
        assert type(await failure(connect(agent.card_url).find("c", "m"))) is Declined


async def test_a_listing_is_read_to_its_end_and_an_endless_one_is_given_up(connect: Connect) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url)
        for token in ("2", "3", ""):
            agent.fault("ListTasks", respond=listed(1, token=token))
        assert await remote.find("c", "m") is None
        assert [call.params.get("pageToken") for call in agent.calls_of("ListTasks")] == [None, "2", "3"]
        agent.fault("ListTasks", respond=listed(1, token="again"), times=None)
        assert type(await failure(remote.find("c", "m"))) is Declined
    assert len(agent.calls_of("ListTasks")) == 3 + 5
