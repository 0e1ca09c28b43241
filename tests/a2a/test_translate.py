"""What agents say on the wire, and what it becomes."""

import json
from base64 import b64encode
from typing import Any

import pytest

from a2a import bindings, translate, wire, wire_03
from core.agent import Artifact, ArtifactUpdate, Ask, Reply, Snapshot, StatusUpdate, TaskState
from core.parts import Attached, Data, File, Text


def response(**members: Any) -> wire.StreamResponse:
    return bindings.EVENT["1.0"](json.dumps(members).encode())


def parts(*given: dict[str, Any]) -> tuple[Any, ...]:
    said = response(message={"messageId": "m", "parts": list(given)})
    event = translate.EventReader()(said)
    assert isinstance(event, Reply)
    return event.parts


STATUS: dict[str, Any] = {"state": "TASK_STATE_WORKING", "timestamp": "2026-05-26T10:00:00.250Z"}


def test_a_task_becomes_a_snapshot_with_its_artifacts_and_the_question_of_its_status() -> None:
    question = {"messageId": "q", "role": "ROLE_AGENT", "parts": [{"text": "Which day?"}], "contextId": "other"}
    task = {
        "id": "t",
        "contextId": "c",
        "status": {"state": "TASK_STATE_INPUT_REQUIRED", "message": question},
        "artifacts": [{"artifactId": "a", "name": "list", "parts": [{"text": "1"}]}],
        "history": [question],
        "kind": "task",
    }
    assert translate.EventReader()(response(task=task)) == Snapshot(
        task_id="t",
        context_id="c",
        state=TaskState.INPUT_REQUIRED,
        message=(Text("Which day?"),),
        artifacts=(Artifact("a", (Text("1"),), "list"),),
    )


def test_updates_carry_what_they_say() -> None:
    read = translate.EventReader()
    update = {"taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": [{"text": "!"}]}}
    assert read(response(statusUpdate={"taskId": "t", "contextId": "c", "status": STATUS})) == StatusUpdate(
        "t", "c", TaskState.WORKING, time=1779789600.25
    )
    assert read(response(artifactUpdate={**update, "append": True, "lastChunk": True})) == ArtifactUpdate(
        "t", "c", Artifact("a", (Text("!"),)), append=True, last=True
    )
    assert read(response(artifactUpdate=update)) == ArtifactUpdate("t", "c", Artifact("a", (Text("!"),)))


@pytest.mark.parametrize("state", translate.STATES)
def test_every_state_of_the_protocol_is_known(state: str) -> None:
    event = translate.EventReader()(response(task={"id": "t", "status": {"state": state}}))
    assert isinstance(event, Snapshot)
    assert event.state.value == state.removeprefix("TASK_STATE_").lower().replace("_", "-")


@pytest.mark.parametrize("state", ["TASK_STATE_UNSPECIFIED", "TASK_STATE_PONDERING", "completed", ""])
def test_a_state_nobody_knows_is_against_the_protocol(state: str) -> None:
    with pytest.raises(wire.OffProtocol, match="state"):
        translate.EventReader()(response(task={"id": "t", "status": {"state": state}}))


@pytest.mark.parametrize(
    "members",
    [{}, {"task": None}, {"task": {"id": "", "status": STATUS}}, {"statusUpdate": {"taskId": "", "status": STATUS}}],
    ids=["nothing", "null", "a task without id", "an update without task"],
)
def test_an_event_that_names_no_task_is_against_the_protocol(members: dict[str, Any]) -> None:
    with pytest.raises(wire.OffProtocol):
        translate.EventReader()(response(**members))


def test_an_empty_context_is_that_of_the_known_task_and_of_no_other() -> None:
    read = translate.EventReader()
    seen = [
        read(response(task={"id": "t", "contextId": "c", "status": STATUS})),
        read(response(statusUpdate={"taskId": "t", "contextId": "", "status": STATUS})),
        read(response(statusUpdate={"taskId": "other", "status": STATUS})),
    ]
    assert [event.context_id for event in seen] == ["c", "c", ""]


def test_a_first_event_without_context_belongs_to_the_context_asked_in() -> None:
    event = translate.EventReader(context_id="c")(response(statusUpdate={"taskId": "t", "status": STATUS}))
    assert event.context_id == "c"


def test_a_bare_message_without_an_id_is_named_after_the_question() -> None:
    event = translate.EventReader(message_id="m-1")(response(message={"parts": [{"text": "yes"}]}))
    assert event == Reply("to-m-1", "", (Text("yes"),))


@pytest.mark.case("T28")
def test_a_files_address_is_passed_on_as_it_is_written() -> None:
    said = parts(
        {"url": "file:///etc/hostname", "filename": "h", "mediaType": "text/plain"}, {"url": "http://10.0.0.1/x"}
    )
    assert said == (
        File("h", "text/plain", "file:///etc/hostname"),
        File("", "application/octet-stream", "http://10.0.0.1/x"),
    )


@pytest.mark.parametrize("raw", ["aGVsbG8_", "aGVsbG8/"])
def test_bytes_inside_a_message_are_passed_on(raw: str) -> None:
    assert parts({"raw": raw, "filename": "a.bin", "mediaType": "x/y"}) == (File("a.bin", "x/y", "", 6, b"hello?"),)


def test_bytes_beyond_the_limit_are_told_of_but_not_kept() -> None:
    most = b64encode(bytes(translate.BYTES_MOST)).decode()
    first, second = parts({"raw": most, "filename": "a"}, {"raw": "aGVsbG8=", "filename": "b"})
    assert isinstance(first, File)
    assert first.content == bytes(translate.BYTES_MOST)
    assert second == File("b", "application/octet-stream", "", 5)


def test_bytes_that_are_none_are_told_of() -> None:
    assert parts({"raw": "?!"}) == (File("", "application/octet-stream", "", 1),)


@pytest.mark.parametrize("proto", [True, False])
def test_bytes_go_out_in_every_spelling_and_come_back(proto: bool) -> None:
    given = (File("a.bin", "x/y", "", 6, b"hello?"),)
    params = translate.send_params(Ask("m", given), streaming=True)
    old = wire_03.send_params(params, proto=proto)["message"]
    told = {"kind": "message", "messageId": "m", "parts": old["content" if proto else "parts"]}
    read = bindings.EVENT["0.3"](json.dumps(told).encode())

    assert parts(params["message"]["parts"][0]) == given
    assert translate.EventReader()(read) == Reply("m", "", given)


def test_bytes_that_are_too_many_go_out_as_the_word_that_they_were_there() -> None:
    (part,) = translate.parts_out((File("big", "x/y", content=bytes(translate.SENT_MOST + 1)),))
    assert part == {"text": "[file without content: big, x/y]"}


def test_the_extensions_of_a_message_go_out_with_it() -> None:
    params = translate.send_params(Ask("m", (Text("hi"),), extensions=("urn:x",)), streaming=True)
    assert params["message"]["extensions"] == ["urn:x"]


def test_data_may_be_null_and_parts_of_a_kind_nobody_knows_are_left_out() -> None:
    assert parts({"data": None}, {"hologram": "x"}, {"data": {"n": [1]}}, {"text": ""}) == (
        Data(None),
        Data({"n": [1]}),
        Text(""),
    )


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("2026-05-26T10:00:00Z", 1779789600.0),
        ("2026-05-26T12:00:00+02:00", 1779789600.0),
        ("2026-05-26T10:00:00.123456789Z", 1779789600.123456),
        ("2026-05-26T10:00:00", 1779789600.0),
        ("0001-01-01T00:00:00+23:00", None),
        ("yesterday", None),
        ("", None),
        (None, None),
    ],
)
def test_a_time_is_rfc_3339_or_none(written: str | None, seconds: float | None) -> None:
    assert translate.instant(written) == pytest.approx(seconds, abs=1e-6) if seconds else seconds is None


def test_a_question_carries_both_ids_when_it_continues_a_task() -> None:
    params = translate.send_params(Ask("m", (Text("Tuesday"),), "c", "t", {"from": "desk"}), streaming=True)
    assert params["message"] == {
        "messageId": "m",
        "role": "ROLE_USER",
        "parts": [{"text": "Tuesday"}],
        "contextId": "c",
        "taskId": "t",
        "metadata": {"from": "desk"},
    }
    assert "returnImmediately" not in params["configuration"]


def test_a_first_question_invents_no_ids_and_does_not_wait() -> None:
    params = translate.send_params(Ask("m", (Text("hi"),)), streaming=False)
    assert params["message"] == {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    assert params["configuration"]["returnImmediately"] is True


def test_all_kinds_of_parts_go_out_and_never_none() -> None:
    given = (Data({"a": 1}), File("x.pdf", "application/pdf", "https://files.example/x"), File("y.ogg", "audio/ogg"))
    assert translate.parts_out(given) == [
        {"data": {"a": 1}},
        {"url": "https://files.example/x", "filename": "x.pdf", "mediaType": "application/pdf"},
        {"text": "[file without content: y.ogg, audio/ogg]"},
    ]
    assert translate.parts_out(()) == [{"text": ""}]


BESIDE: dict[str, Any] = {"metadata": {"urn:a": 1, "urn:b": 2}, "extensions": ["urn:x", "urn:a"]}
SAID: dict[str, Any] = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "?"}], **BESIDE}
MADE: dict[str, Any] = {"artifactId": "a", "parts": [{"text": "1"}], **BESIDE}


def beside_of(event: object) -> list[Attached | None]:
    match event:
        case Snapshot():
            return [event.attached, *(one.attached for one in event.artifacts)]
        case ArtifactUpdate():
            return [event.artifact.attached]
        case StatusUpdate() | Reply():
            return [event.attached]
    raise AssertionError(event)


@pytest.mark.parametrize(
    "said",
    [
        {"task": {"id": "t", "status": STATUS | {"message": SAID}, "artifacts": [MADE]}},
        {"statusUpdate": {"taskId": "t", "status": STATUS | {"message": SAID}}},
        {"artifactUpdate": {"taskId": "t", "artifact": MADE}},
        {"message": SAID},
    ],
    ids=lambda said: next(iter(said)),
)
def test_what_stands_beside_an_agents_words_is_read_as_far_as_it_is_handed_on(said: dict[str, Any]) -> None:
    passes = frozenset({"urn:a"})
    found = beside_of(translate.EventReader(passes=passes)(response(**said)))
    assert found == [Attached({"urn:a": 1}, ("urn:a",))] * len(found)
    assert beside_of(translate.EventReader()(response(**said))) == [None] * len(found)
    assert beside_of(translate.EventReader(passes=frozenset({"urn:c"}))(response(**said))) == [None] * len(found)


@pytest.mark.parametrize(
    "said",
    [
        {"task": {"id": "t", "status": STATUS}},
        {"statusUpdate": {"taskId": "t", "status": STATUS}},
        {"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "a", "parts": [{"text": "1"}]}}},
    ],
    ids=lambda said: next(iter(said)),
)
def test_what_stands_beside_a_task_or_an_event_is_read_as_far_as_it_is_handed_on(said: dict[str, Any]) -> None:
    ((member, body),) = said.items()
    whole = response(**{member: body | {"metadata": {"urn:a": 1, "urn:b": 2}}})
    read = [translate.EventReader(passes=frozenset(names))(whole) for names in (["urn:a", "urn:c"], ["urn:c"], [])]
    odd = translate.EventReader(passes=frozenset({"urn:a"}))(response(**{member: body | {"metadata": ["urn:a"]}}))

    assert not any(isinstance(event, Reply) for event in read)
    assert [getattr(event, "metadata", "") for event in (*read, odd)] == [{"urn:a": 1}, None, None, None]


def test_what_stands_beside_a_message_goes_out_in_every_version() -> None:
    params = translate.send_params(Ask("m", (Text("hi"),), request_metadata={"urn:a": [1]}), streaming=False)
    old = [wire_03.send_params(params, proto=proto) for proto in (True, False)]
    bare = translate.send_params(Ask("m", (Text("hi"),)), streaming=False)

    assert [said.get("metadata") for said in (params, *old)] == [{"urn:a": [1]}] * 3
    assert "metadata" not in bare | wire_03.send_params(bare, proto=True)


@pytest.mark.parametrize("odd", [{"metadata": [1], "extensions": "urn:a"}, {"metadata": "x", "extensions": [{}, None]}])
def test_what_stands_beside_in_no_known_form_is_left(odd: dict[str, Any]) -> None:
    said = response(message=SAID | odd)
    assert beside_of(translate.EventReader(passes=frozenset({"urn:a"}))(said)) == [None]
