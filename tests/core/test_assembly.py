"""What is known of a task never goes back, whatever arrives in whatever order, how often and by which road."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.agent import Artifact, ArtifactUpdate, Reply, Snapshot, StatusUpdate, TaskEvent, TaskState
from core.assembly import ASSEMBLED_CAP, Assembly, Change
from core.parts import Text, text_of


def chunk(text: str, *, artifact: str = "a1", append: bool = False, last: bool = False) -> ArtifactUpdate:
    return ArtifactUpdate("t1", "c1", Artifact(artifact, (Text(text),)), append, last)


def says(state: TaskState, time: float | None = None) -> StatusUpdate:
    return StatusUpdate("t1", "c1", state, time)


def whole(state: TaskState, *texts: str, time: float | None = None) -> Snapshot:
    return Snapshot("t1", "c1", state, time, (), tuple(Artifact(f"a{n}", (Text(t),)) for n, t in enumerate(texts, 1)))


def assembled(*events: TaskEvent) -> Assembly:
    assembly = Assembly()
    assembly.begin_stream(from_the_start=True)
    for event in events:
        assembly.apply(event)
    return assembly


def text(assembly: Assembly, artifact: str = "a1") -> str:
    return text_of(assembly.artifacts[artifact].parts)


@pytest.mark.case("A2A-08")
def test_the_first_chunk_is_not_doubled() -> None:
    assert text(assembled(chunk("Hello, "), chunk("world!", append=True, last=True))) == "Hello, world!"


@pytest.mark.case("A2A-09")
def test_chunks_replace_or_append_by_artifact_id() -> None:
    task = assembled(chunk("A"), chunk("Z", artifact="a2"), chunk("B", append=True), chunk("AB!"))
    assert (text(task), text(task, "a2")) == ("AB!", "Z")


def test_an_append_to_an_unknown_artifact_creates_it() -> None:
    assert text(assembled(chunk("only", append=True))) == "only"


def test_a_snapshot_replaces_what_was_assembled() -> None:
    assert text(assembled(chunk("half"), whole(TaskState.WORKING, "the whole"))) == "the whole"


def test_chunks_do_not_count_after_a_cut_until_a_snapshot_came() -> None:
    task = assembled(chunk("Hello"))
    task.cut()
    task.begin_stream(from_the_start=False)
    assert task.apply(chunk(" lost", append=True)) is Change.STALE
    task.apply(whole(TaskState.WORKING, "Hello there"))
    task.apply(chunk(", world", append=True))
    assert text(task) == "Hello there, world"


@pytest.mark.case("T39a")
@pytest.mark.case("F16")
@pytest.mark.parametrize("end", [TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED])
def test_nothing_moves_a_terminal_task(end: TaskState) -> None:
    task = assembled(whole(end, "final", time=5.0))
    for late in (says(TaskState.WORKING, 9.0), chunk("late"), whole(TaskState.WORKING, "late", time=9.0)):
        assert task.apply(late) is Change.LATE
    assert (task.state, text(task)) == (end, "final")


@pytest.mark.case("T39a")
def test_an_end_that_is_told_otherwise_is_a_contradiction_and_told_again_or_with_less_is_none() -> None:
    task = assembled(whole(TaskState.COMPLETED, "final", time=5.0))
    assert task.apply(whole(TaskState.COMPLETED, "other", time=6.0)) is Change.LATE
    again = whole(TaskState.COMPLETED, "final", time=6.0)
    for same in (again, replace(again, artifacts=())):
        assert task.apply(same) is Change.UNCHANGED
    assert text(task) == "final"


def test_an_older_status_is_ignored() -> None:
    task = assembled(says(TaskState.WORKING, 5.0))
    assert task.apply(says(TaskState.SUBMITTED, 4.0)) is Change.STALE
    assert task.state is TaskState.WORKING


def test_of_two_statuses_of_one_time_the_later_state_wins() -> None:
    for first, second in [(TaskState.INPUT_REQUIRED, TaskState.WORKING), (TaskState.WORKING, TaskState.SUBMITTED)]:
        task = assembled(says(first, 5.0))
        assert task.apply(says(second, 5.0)) is Change.STALE
        assert task.state is first


@pytest.mark.case("F17")
def test_another_task_s_or_context_s_event_changes_nothing() -> None:
    task = assembled(whole(TaskState.WORKING))
    assert task.apply(StatusUpdate("t2", "c1", TaskState.COMPLETED)) is Change.FOREIGN
    assert task.apply(StatusUpdate("t1", "c2", TaskState.COMPLETED)) is Change.FOREIGN
    assert task.state is TaskState.WORKING


def test_an_event_without_a_context_id_is_taken_when_its_task_matches() -> None:
    task = assembled(whole(TaskState.WORKING))
    assert task.apply(StatusUpdate("t1", "", TaskState.COMPLETED)) is Change.APPLIED
    assert task.context_id == "c1"


def test_a_bare_end_is_not_confirmed_and_a_whole_task_is() -> None:
    task = assembled(whole(TaskState.WORKING), chunk("x"), says(TaskState.COMPLETED))
    bare = (task.is_over, task.is_confirmed)
    assert task.apply(whole(TaskState.COMPLETED, "the truth")) is Change.APPLIED
    assert (bare, task.is_confirmed) == ((True, False), True)
    assert text(task) == "the truth"


def test_the_question_that_is_being_answered_is_not_a_new_one() -> None:
    task = Assembly(answered=3.0)
    assert task.apply(says(TaskState.INPUT_REQUIRED, 3.0)) is Change.STALE
    old = task.rests
    assert task.apply(says(TaskState.INPUT_REQUIRED, 4.0)) is Change.APPLIED
    assert (old, task.rests) == (False, True)


def test_a_bare_message_ends_it_once() -> None:
    task = assembled(Reply("m1", "c1", (Text("hi"),)))
    assert task.is_over
    assert task.apply(Reply("m2", "c1", (Text("again"),))) is Change.LATE


@pytest.mark.case("F14")
def test_what_is_assembled_is_bounded() -> None:
    task = assembled(chunk("x" * ASSEMBLED_CAP))
    assert task.apply(chunk("x", append=True)) is Change.STALE
    assert len(text(task)) == ASSEMBLED_CAP


def test_the_preview_shows_artifacts_and_else_the_agent_s_word_of_its_progress() -> None:
    assert assembled(StatusUpdate("t1", "c1", TaskState.WORKING, None, (Text("looking"),))).words() == "looking"
    assert assembled(chunk("a"), chunk("b", artifact="a2")).words() == "a\n\nb"


def test_what_is_said_beside_a_task_joins_what_was_and_is_news_once() -> None:
    task = assembled(StatusUpdate("t1", "c1", TaskState.WORKING, metadata={"a": 1, "b": 1}))
    more = Snapshot("t1", "c1", TaskState.WORKING, metadata={"b": 2})
    assert [task.apply(more), task.apply(more)] == [Change.APPLIED, Change.UNCHANGED]
    assert task.apply(StatusUpdate("t1", "c1", TaskState.WORKING, metadata={"a": 1})) is Change.UNCHANGED
    assert task.metadata == {"a": 1, "b": 2}


EVENTS = (
    says(TaskState.SUBMITTED, 1.0),
    says(TaskState.WORKING, 2.0),
    whole(TaskState.WORKING, "half", time=2.0),
    says(TaskState.COMPLETED, 3.0),
    whole(TaskState.COMPLETED, "final", time=3.0),
)


@pytest.mark.case("F15")
@pytest.mark.case("F16")
@given(st.permutations(EVENTS * 2))
def test_in_any_order_and_however_often_repeated_the_end_is_the_same(events: list[TaskEvent]) -> None:
    task = assembled(*events)
    assert (task.state, text(task), task.is_confirmed) == (TaskState.COMPLETED, "final", True)


def test_hearing_what_is_known_already_is_no_news() -> None:
    """Or a silent task that is asked would never be shown as silent."""
    task = assembled(whole(TaskState.WORKING), chunk("half"))
    assert task.apply(whole(TaskState.WORKING, "half")) is Change.UNCHANGED
    assert task.apply(whole(TaskState.WORKING, "half and more")) is Change.APPLIED
