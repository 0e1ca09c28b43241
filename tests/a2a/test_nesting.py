"""Nested data on its way through gateways: what one takes, the next one takes too, as a message and as an answer."""

from typing import Any

import pytest

from a2a import bindings, translate
from a2a.nesting import DEEPEST
from a2a.server.encoding import dumps
from a2a.server.faults import Fault
from a2a.server.operation import Operation
from a2a.server.port import Message, Role, ServedTask, TaskPage
from a2a.server.reading import Reader, View
from a2a.server.settings import LimitSettings
from a2a.server.spelling import V03, V03_PROTO, V10, Spelling
from a2a.server.writing import Writer10
from a2a.wire import Verb
from core.agent import Artifact, Ask, TaskState
from core.doors.strict_json import MAX_DEPTH, BadJson, check_json_bytes
from core.parts import Attached, Data, Text
from tests.a2a.server.site import Json, message, message_03

BINDINGS = bindings.bindings()
SPELLINGS = {"1.0": V10, "0.3": V03, "0.3 proto": V03_PROTO}


def nested(depth: int) -> Any:
    """Lists and objects inside each other, the outermost an object."""
    value: Any = 1
    for level in range(depth):
        value = {"in": value} if level % 2 or level == depth - 1 else [value]
    return value


def sending(spelling: Spelling, *, data: int = 1, metadata: int = 1, request: int = 1) -> Json:
    part, said = {"data": nested(data)}, {"metadata": nested(metadata)}
    if spelling is V10:
        return {**message("x", parts=[part], **said), "metadata": nested(request)}
    if spelling is V03:
        return {**message_03("x", parts=[{"kind": "data", **part}], **said), "metadata": nested(request)}
    inner = {"messageId": "m", "role": "ROLE_USER", "content": [{"data": part}], **said}
    return {"message": inner, "metadata": nested(request)}


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize(
    ("field", "path"),
    [("data", "message.parts[0].data"), ("metadata", "message.metadata"), ("request", "metadata")],
)
def test_what_is_nested_too_deep_to_be_handed_on_is_refused_with_its_field(name: str, field: str, path: str) -> None:
    spelling, reader = SPELLINGS[name], Reader(LimitSettings())
    reader.send(spelling.params(Operation.SEND, sending(spelling, **{field: DEEPEST})))
    with pytest.raises(Fault) as refused:
        reader.send(spelling.params(Operation.SEND, sending(spelling, **{field: DEEPEST + 1})))
    (violation,) = refused.value.rpc()["data"][1]["fieldViolations"]
    assert violation == {"field": path, "description": f"is nested deeper than {DEEPEST} levels"}


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_message_with_the_deepest_that_is_taken_is_taken_by_the_next_gateway(binding: str) -> None:
    deepest = nested(DEEPEST)
    for data in (deepest, [deepest["in"]]):  # 0.3 wraps what is no object
        ask = Ask("m", (Data(data),), metadata=deepest, request_metadata=deepest)
        params = translate.send_params(ask, streaming=False)
        request = BINDINGS[binding].request("http://agent/a2a", "tenant", Verb.SEND, params, "1")
        assert request.body is not None
        check_json_bytes(request.body)


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_task_with_the_deepest_that_is_taken_is_taken_by_the_calling_gateway(name: str) -> None:
    deepest = nested(DEEPEST)
    data, beside = Data([deepest["in"]]), Attached(deepest)
    said = Message("m", Role.USER, (data,), "c", "t", deepest)
    task = ServedTask("t", "c", TaskState.WORKING, 1.0, said, (Artifact("a", (data,), "", beside),), (said,), deepest)
    told = SPELLINGS[name].writer.task(task, View())
    listed = Writer10().page(TaskPage((task,), "", 1), View(), 1) if name == "1.0" else told
    for result in (told, {"task": told}, listed):
        check_json_bytes(dumps({"jsonrpc": "2.0", "id": "1", "result": result}))


def test_without_that_bound_an_answer_would_be_too_deep() -> None:
    said = Message("m", Role.USER, (), "c", "t", nested(MAX_DEPTH - 4))  # as deep as a message comes in over HTTP+JSON
    task = ServedTask("t", "c", TaskState.WORKING, 1.0, None, (), (said,))
    with pytest.raises(BadJson, match="too_deep"):
        check_json_bytes(dumps({"jsonrpc": "2.0", "id": "1", "result": {"task": Writer10().task(task, View())}}))


def test_of_what_an_agent_nests_too_deep_only_that_it_was_there_is_handed_on() -> None:
    deep = nested(DEEPEST + 1)
    task = {
        "id": "t",
        "status": {"state": "TASK_STATE_WORKING"},
        "artifacts": [{"artifactId": "a", "parts": [{"data": deep}, {"data": nested(DEEPEST)}]}],
        "metadata": {"deep": deep, "flat": 1},
    }
    read = translate.snapshot(bindings.TASK["1.0"](dumps(task)), passes=frozenset({"deep", "flat"}))
    assert read.artifacts[0].parts == (Text(translate.TOO_DEEP), Data(nested(DEEPEST)))
    assert read.metadata == {"flat": 1}
