"""Whatever a caller sends is read or refused in the protocol's words; nothing else ever happens."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a.server import reading_03
from a2a.server.faults import Fault, Kind
from a2a.server.operation import Operation
from a2a.server.reading import Reader
from a2a.server.settings import LimitSettings
from a2a.server.spelling import V03, V03_PROTO, V10, Spelling
from tests.a2a.server.site import message, message_03

READER = Reader(LimitSettings())
PUSH = {
    "url": "https://example.com",
    "id": "p",
    "token": "t",
    "authentication": {"scheme": "Bearer", "schemes": ["Bearer"]},
}
FILE = {"kind": "file", "file": {"bytes": "AAEC", "name": "n", "mimeType": "a/b"}, "raw": "AAEC", "filename": "n"}
WHOLE = {
    "message": {
        **message_03("hello")["message"],
        **message("hello")["message"],
        "contextId": "c",
        "taskId": "t",
        "metadata": {"a": 1},
        "extensions": ["urn:x"],
        "referenceTaskIds": ["t0"],
        "parts": [{"kind": "text", "text": "x"}, FILE, {"kind": "data", "data": {"a": 1}}],
    },
    "configuration": {
        "acceptedOutputModes": ["text/plain"],
        "historyLength": 1,
        "blocking": True,
        "taskPushNotificationConfig": PUSH,
        "pushNotificationConfig": PUSH,
    },
    "metadata": {},
    "pushNotificationConfig": PUSH,
    "pushNotificationConfigId": "p",
    "config": {"pushNotificationConfig": PUSH},
    **PUSH,
    "id": "t",
    "taskId": "t",
    "status": "TASK_STATE_WORKING",
    "pageSize": 5,
    "statusTimestampAfter": "2026-05-26T09:30:00Z",
    "includeArtifacts": True,
}
scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=20)
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)
READ: dict[Operation, Callable[[dict[str, Any]], Any]] = {
    Operation.SEND: READER.send,
    Operation.GET: READER.task,
    Operation.LIST: READER.list,
    Operation.SET_PUSH: READER.push,
    Operation.GET_PUSH: READER.push_id,
    Operation.LIST_PUSHES: READER.pushes,
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in the value, the whole left out."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [(*path, step) for step, _ in inner]
    return found + [place for step, each in inner for place in places(each, (*path, step))]


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    if not path:
        return by
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], by)
    return copy


@pytest.mark.parametrize("operation", READ)
@pytest.mark.parametrize("spelling", [V10, V03, V03_PROTO], ids=["1.0", "0.3", "0.3 proto"])
@given(place=st.sampled_from(places(WHOLE)), by=json_values)
def test_one_wrong_value_anywhere_is_read_or_refused(
    spelling: Spelling, operation: Operation, place: tuple[Any, ...], by: Any
) -> None:
    params = replaced(WHOLE, place, by)
    fault = refusal(lambda: READ[operation](spelling.params(operation, params)))
    assert fault is None or (fault.kind is Kind.INVALID_PARAMS and fault.rpc()["data"][1]["fieldViolations"])


def refusal(read: Callable[[], Any]) -> Fault | None:
    try:
        read()
    except Fault as fault:
        return fault
    return None


@given(params=st.dictionaries(st.sampled_from(sorted(WHOLE)), json_values))
def test_any_parameters_at_all_can_be_upgraded(params: dict[str, Any]) -> None:
    for upgrades in (reading_03.JSON_RPC, reading_03.HTTP_JSON):
        for upgrade in upgrades.values():
            assert isinstance(upgrade(params), dict)


@pytest.mark.parametrize("raw", ["AAEC", "AAEC==", "_-8", "/+8=", ""])
def test_base64_is_taken_in_either_alphabet_with_or_without_padding(raw: str) -> None:
    send, _ = READER.send(message("x", parts=[{"raw": raw}]))
    (file,) = send.message.parts
    assert getattr(file, "content", None) is not None
    assert getattr(file, "size", None) == len(getattr(file, "content", b""))


def test_only_so_many_violations_are_told() -> None:
    with pytest.raises(Fault) as refused:
        READER.send(message("x", parts=[{"text": 5}] * 50))
    assert len(refused.value.violations) == 10
