"""Handing a message to an agent: what it says comes through as it says it, and every failure is told for what it is."""

import asyncio
from typing import Any

import pytest

from a2a.credentials import Credential
from a2a.security import Scheme
from core.agent import ArtifactUpdate, Ask, Reply, Snapshot, StatusUpdate, TaskRef, TaskState
from core.doors.outbound import GuardedClient, OutboundPolicy, Refused
from core.errors import Declined, NotAccepted, NotAuthorised, OutcomeUnknown, TaskEnded, TaskUnknown, Unreachable
from core.parts import Data, File, Text
from tests.a2a.asking import ask, failure, heard, ref_of, words
from tests.a2a.conftest import Connect
from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_card import BearerAuth
from tests.fakes.agent_events import (
    artifact,
    artifact_parts,
    completed,
    cut,
    end_stream,
    raw_bytes,
    status,
    task,
    with_ids,
    working,
)
from tests.fakes.agent_rpc import half_json, html_page, rpc_error, wrong_content_type, wrong_result
from tests.fakes.agent_scripts import ask_then_answer, echo_message, events, stream_echo, working_until
from tests.fakes.scripting import Respond, cut_after_accepting, cut_before, http_status
from tests.fakes.serving import PATIENCE
from tests.waiting import within

STREAMING = pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "plain"])
METHOD = {True: "SendStreamingMessage", False: "SendMessage"}


@pytest.mark.case("A2A-08")
async def test_a_stream_is_told_event_by_event_with_its_append_marks(connect: Connect) -> None:
    async with ScriptedAgent(stream_echo(["Hello, ", "world!"])) as agent:
        said = await heard(connect(agent.card_url).send(ask()))
    assert isinstance(said[0], Snapshot)
    assert [(e.append, e.last, words(e)) for e in said if isinstance(e, ArtifactUpdate)] == [
        (False, False, "Hello, "),
        (True, True, "world!"),
    ]
    assert isinstance(said[-1], StatusUpdate)
    assert said[-1].state is TaskState.COMPLETED


async def test_an_agent_that_does_not_stream_is_asked_not_to_wait(connect: Connect) -> None:
    gate = asyncio.Event()
    async with ScriptedAgent(working_until(gate), streaming=False) as agent:
        [said] = await heard(connect(agent.card_url).send(ask()))
        assert isinstance(said, Snapshot)
        assert not said.state.is_terminal
        assert agent.calls_of("SendMessage")[0].params["configuration"]["returnImmediately"] is True


@STREAMING
async def test_a_bare_message_is_the_whole_answer(connect: Connect, streaming: bool) -> None:
    async with ScriptedAgent(echo_message, streaming=streaming) as agent:
        [said] = await heard(connect(agent.card_url).send(ask()))
    assert isinstance(said, Reply)
    assert (words(said), said.message_id.startswith("agent-")) == ("echo: hello", True)


async def test_an_answer_given_plainly_to_a_streaming_call_is_taken(connect: Connect) -> None:
    plain = {"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}}
    async with ScriptedAgent() as agent:
        agent.fault("SendStreamingMessage", respond=wrong_result(plain))
        assert await heard(connect(agent.card_url).send(ask())) == [Snapshot("t", "c", TaskState.COMPLETED)]


@pytest.mark.case("A2A-01")
@STREAMING
async def test_the_answer_to_a_question_goes_to_exactly_that_task(connect: Connect, streaming: bool) -> None:
    async with ScriptedAgent(ask_then_answer(), streaming=streaming) as agent:
        remote = connect(agent.card_url)
        asked = ref_of((await heard(remote.send(ask("book a table"))))[0])
        await agent.wait_for_state("INPUT_REQUIRED")
        said = await heard(remote.send(ask("Tuesday", message_id="m-2", task=asked)))
        assert {ref_of(event) for event in said} == {asked}
        message = agent.calls_of(METHOD[streaming])[1].message
        assert (message["taskId"], message["contextId"]) == (asked.task_id, asked.context_id)
        assert agent.only_task.id == asked.task_id


async def test_events_with_an_empty_context_get_that_of_their_task(connect: Connect) -> None:
    script = events(task(), with_ids(working(), context_id=""), completed())
    async with ScriptedAgent(script) as agent:
        said = await heard(connect(agent.card_url).send(ask()))
    assert len({ref_of(event) for event in said}) == 1
    assert ref_of(said[1]).context_id


@pytest.mark.case("T28")
async def test_an_address_in_an_answer_is_not_fetched(connect: Connect) -> None:
    async with ScriptedAgent() as canary:
        script = events(artifact_parts([{"url": canary.card_url}, {"data": {"a": [1]}}, {"text": "x"}]), completed())
        async with ScriptedAgent(script) as agent:
            said = await heard(connect(agent.card_url).send(ask()))
        assert canary.calls == []
    update = next(event for event in said if isinstance(event, ArtifactUpdate))
    assert update.artifact.parts == (
        File("", "application/octet-stream", canary.card_url),
        Data({"a": [1]}),
        Text("x"),
    )


@pytest.mark.case("T28")
async def test_an_address_in_an_answer_is_fetched_through_the_guard_alone_by_whoever_is_asked_to(
    connect: Connect, client: GuardedClient
) -> None:
    async with ScriptedAgent() as canary:
        inner = (canary.card_url, "http://169.254.169.254/latest/meta-data/")
        urls = [*inner, "file:///etc/hostname", "ftp://files.example/x", "//no.scheme/x"]
        script = events(artifact_parts([{"url": url} for url in urls]), completed())
        async with ScriptedAgent(script) as agent:
            said = await heard(connect(agent.card_url).send(ask()))
        update = next(event for event in said if isinstance(event, ArtifactUpdate))
        found = [part.url for part in update.artifact.parts if isinstance(part, File)]
        assert found == urls
        for url in found:
            with pytest.raises(Refused):
                await client.request("GET", url, policy=OutboundPolicy())
        for url in found[1:]:  # where the operator allows private addresses, these are none
            with pytest.raises(Refused):
                await client.request("GET", url, policy=OutboundPolicy(allow_private=True))
        assert canary.calls == []


NOT_TAKEN: list[tuple[Respond, float | None]] = [
    (http_status(429, Retry_After="7"), 7.0),
    (http_status(429), None),
    (http_status(503, Retry_After="120"), 120.0),
    (http_status(503, Retry_After="Fri, 01 Jan 2021 00:00:00 GMT"), 0.0),
    (http_status(429, Retry_After="soon"), None),
    (http_status(429, Retry_After="99999999999999"), 86400.0),
]


@STREAMING
@pytest.mark.parametrize(("respond", "pause"), NOT_TAKEN)
async def test_a_busy_agent_has_not_taken_the_message(
    connect: Connect, streaming: bool, respond: Respond, pause: float | None
) -> None:
    async with ScriptedAgent(streaming=streaming) as agent:
        agent.fault(METHOD[streaming], respond=respond)
        error = await failure(connect(agent.card_url).send(ask()))
    assert isinstance(error, NotAccepted)
    assert error.retry_after == pause


@pytest.mark.case("F10")
@STREAMING
async def test_an_agent_that_refuses_connections_can_be_asked_again(connect: Connect, streaming: bool) -> None:
    async with ScriptedAgent(streaming=streaming) as agent:
        remote = connect(agent.card_url)
        await remote.discover()
        await agent.go_down()
        assert isinstance(await failure(remote.get(TaskRef("t", "c"))), Unreachable)
        assert isinstance(await failure(remote.send(ask())), NotAccepted)
        await agent.come_up()
        assert await heard(remote.send(ask()))
        assert agent.message_counts == {"m-1": 1}


BOTH_WAYS: list[Respond] = [
    http_status(500),
    http_status(502, body="<html>Bad gateway</html>"),
    http_status(503),
    http_status(504),
    http_status(408),
    http_status(204),
    html_page(),
    half_json(),
    cut_before(),
    cut_after_accepting(),
    wrong_result(None),
    wrong_result({}),
    wrong_result("done"),
    wrong_result({"task": {"id": "t"}}),
    wrong_result({"task": {"id": "t", "status": {"state": "TASK_STATE_PONDERING"}}}),
    wrong_result({"task": {"id": 7, "status": {"state": "TASK_STATE_WORKING"}}}),
    wrong_result({"kind": "task", "id": "t", "status": {"state": "working"}}),
    http_status(200, body='{"jsonrpc":"2.0","id":"another","result":{"message":{"parts":[{"text":"x"}]}}}'),
    http_status(200, body='{"jsonrpc":"2.0","id":null,"result":{"message":{"parts":[{"text":"x"}]}}}'),
    http_status(200, body='{"jsonrpc":"2.0","id":"another","error":{"code":-32602,"message":"x"}}'),
    http_status(200, body='{"result":{"message":{"parts":[{"data":NaN}]}}}'),
    http_status(200, body='{"result":{"message":{"parts":[{"text":"\\ud800"}]}}}'),
    http_status(200, body='{"result":' + "[" * 100 + "]" * 100 + "}"),
    http_status(200, body="[]"),
    http_status(200, content_type="text/event-stream"),
    http_status(200, body="data: half an event", content_type="text/event-stream"),
    http_status(200, body="data: {\n\n", content_type="text/event-stream"),
    http_status(200, body="event: error\ndata: it broke\n\n", content_type="text/event-stream"),
]


@pytest.mark.case("F13")
@STREAMING
@pytest.mark.parametrize("respond", BOTH_WAYS)
async def test_no_usable_answer_means_nobody_knows(connect: Connect, streaming: bool, respond: Respond) -> None:
    async with ScriptedAgent(streaming=streaming) as agent:
        agent.fault(METHOD[streaming], respond=respond)
        error = await failure(connect(agent.card_url).send(ask()))
    assert isinstance(error, OutcomeUnknown)
    assert len(error.sample) <= 500
    assert error.sample.isprintable()


async def test_the_record_of_nonsense_holds_a_piece_of_it_without_the_secret(connect: Connect) -> None:
    async with ScriptedAgent() as agent:
        body = "<html>\x00\x1b[31m your token is t0ken " + "x" * 10_000
        agent.fault("SendStreamingMessage", respond=http_status(200, body=body))
        remote = connect(agent.card_url, auth={"kind": "bearer", "token": "t0ken"})
        error = await failure(remote.send(ask()))
    assert error.sample.startswith("<html>  [31m your token is *** xxx")
    assert len(error.sample) == 500


async def test_a_right_answer_under_a_wrong_content_type_is_still_the_answer(connect: Connect) -> None:
    async with ScriptedAgent(streaming=False) as agent:
        agent.fault("SendMessage", respond=wrong_content_type())
        assert await heard(connect(agent.card_url).send(ask()))


@STREAMING
@pytest.mark.parametrize("status", [400, 404, 413, 415, 301, 501])
async def test_a_definite_no_in_http_is_declined(connect: Connect, streaming: bool, status: int) -> None:
    async with ScriptedAgent(streaming=streaming) as agent:
        agent.fault(METHOD[streaming], respond=http_status(status, body="no"))
        error = await failure(connect(agent.card_url).send(ask()))
    assert type(error) is Declined
    assert (error.code, error.sample) == (None, "no")


@STREAMING
@pytest.mark.parametrize("status", [401, 403])
async def test_refused_credentials_need_an_operator(connect: Connect, streaming: bool, status: int) -> None:
    async with ScriptedAgent(streaming=streaming) as agent:
        agent.fault(METHOD[streaming], respond=http_status(status))
        assert isinstance(await failure(connect(agent.card_url).send(ask())), NotAuthorised)


@STREAMING
@pytest.mark.parametrize("code", [-32001, -32004, -32005, -32009, -32600, -32601, -32602, -32603, -32000, -31999])
async def test_an_error_by_the_protocol_is_declined_with_its_code(connect: Connect, streaming: bool, code: int) -> None:
    async with ScriptedAgent(streaming=streaming) as agent:
        agent.fault(METHOD[streaming], respond=rpc_error(code))
        error = await failure(connect(agent.card_url).send(ask()))
    assert type(error) is Declined
    assert error.code == code


@STREAMING
@pytest.mark.parametrize(("code", "kind"), [(-32001, TaskUnknown), (-32004, TaskEnded), (-32602, Declined)])
async def test_an_error_about_a_continued_task_says_what_became_of_it(
    connect: Connect, streaming: bool, code: int, kind: type[Exception]
) -> None:
    async with ScriptedAgent(streaming=streaming) as agent:
        agent.fault(METHOD[streaming], respond=rpc_error(code))
        error = await failure(connect(agent.card_url).send(ask(task=TaskRef("t", "c"))))
    assert type(error) is kind


def rpc_body(code: int, more: str = "") -> str:
    return f'{{"jsonrpc":"2.0","id":null,"error":{{"code":{code},"message":"no"{more}}}}}'


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (404, rpc_body(-32602), Declined, -32602),
        (500, rpc_body(-32004), Declined, -32004),
        (500, rpc_body(-32000), OutcomeUnknown, None),
        (401, rpc_body(-32000), NotAuthorised, None),
        (503, rpc_body(-32000), OutcomeUnknown, None),
        (200, rpc_body(-32603, ',"data":"text"'), Declined, -32603),
        (200, rpc_body(-32603, ',"data":[7,{"reason":"UNSUPPORTED_OPERATION"}]'), Declined, -32004),
        (404, rpc_body(404, ',"details":[{"reason":"CONTENT_TYPE_NOT_SUPPORTED"}]'), Declined, -32005),
        (502, rpc_body(502), OutcomeUnknown, None),
    ],
)
async def test_code_and_reason_count_before_the_http_status(
    connect: Connect, status: int, body: str, kind: type[Exception], code: int | None
) -> None:
    async with ScriptedAgent(streaming=False) as agent:
        agent.fault("SendMessage", respond=http_status(status, body=body, content_type="application/json"))
        error = await failure(connect(agent.card_url).send(ask()))
    assert type(error) is kind
    assert getattr(error, "code", None) == code


BROKEN_STREAMS: list[tuple[str, Any]] = [
    ("cut", cut()),
    ("not json", raw_bytes(b"data: <html>sorry</html>\n\n")),
    ("an error frame", raw_bytes(b"event: error\ndata: out of memory\n\n")),
    ("an error by the protocol", raw_bytes(b"data: " + rpc_body(-32603).encode() + b"\n\n")),
    ("another request", raw_bytes(b'data: {"id":"x","result":{"message":{"parts":[{"text":"x"}]}}}\n\n')),
    ("an unknown state", status("PONDERING")),
]


@pytest.mark.case("F13")
@pytest.mark.parametrize("fault", [event for _, event in BROKEN_STREAMS], ids=[name for name, _ in BROKEN_STREAMS])
async def test_a_stream_that_breaks_after_its_first_event_is_a_cut_road(connect: Connect, fault: Any) -> None:
    async with ScriptedAgent(events(working(), artifact("so far"), fault, completed())) as agent:
        said = connect(agent.card_url).send(ask())
        assert [words(await anext(said)) for _ in range(3)] == ["", "", "so far"]
        error = await failure(said)
    assert type(error) is Unreachable


@pytest.mark.case("A2A-05")
async def test_a_stream_that_ends_cleanly_just_ends(connect: Connect) -> None:
    async with ScriptedAgent(events(working(), end_stream())) as agent:
        said = await heard(connect(agent.card_url).send(ask()))
    assert isinstance(said[-1], StatusUpdate)
    assert said[-1].state is TaskState.WORKING


async def test_whoever_stops_listening_closes_the_stream_and_not_the_task(connect: Connect) -> None:
    gate = asyncio.Event()
    async with ScriptedAgent(working_until(gate)) as agent:
        said = connect(agent.card_url, max_streams=1).send(ask())
        task_id = ref_of(await anext(said)).task_id
        await said.aclose()
        async with within(PATIENCE):
            while agent.tasks.open_streams(task_id):  # noqa: ASYNC110 - a fake's stream leaves without a word
                await asyncio.sleep(0)
        assert not agent.only_task.is_terminal


async def test_a_message_that_is_no_json_is_declined_and_not_sent(connect: Connect) -> None:
    async with ScriptedAgent() as agent:
        error = await failure(connect(agent.card_url).send(Ask("m-1", (Data({1, 2}),))))
        assert isinstance(error, Declined)
        assert agent.message_counts == {}


class TwoTokens:
    """A source whose first token has run out."""

    def __init__(self) -> None:
        self.valid = "old"

    def suits(self, scheme: Scheme) -> bool:
        return scheme.kind == "bearer"

    async def current(self) -> Credential:
        return Credential({"Authorization": f"Bearer {self.valid}"}, secrets=(self.valid,))

    async def refused(self, credential: Credential) -> bool:
        was, self.valid = self.valid, "new"
        return was != self.valid


@STREAMING
async def test_a_source_with_another_credential_gets_one_more_try(connect: Connect, streaming: bool) -> None:
    async with ScriptedAgent(streaming=streaming, auth=BearerAuth("new")) as agent:
        assert await heard(connect(agent.card_url, source=TwoTokens()).send(ask()))
        assert len(agent.calls_of(METHOD[streaming])) == 2
        agent.auth = BearerAuth("newer")
        error = await failure(connect(agent.card_url, source=TwoTokens()).send(ask(message_id="m-2")))
    assert isinstance(error, NotAuthorised)
    assert len(agent.calls_of(METHOD[streaming])) == 4
