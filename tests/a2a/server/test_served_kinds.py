"""Local agents behind the server side: all that one can say, as a calling agent gets it, and what the kits expect."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import cast

import pytest

from a2a.server.port import Message, Role, Send, ServedEvent, ServedTask
from core.agent import ArtifactUpdate, TaskState
from core.clock import SystemClock
from core.parts import Data, File, Part, Text, text_of
from core.plugin import PluginState
from core.store import Store
from gateway.agents import Failed, Parts, Question, Rejected, Reply, Step, Task, Words, Working
from gateway.agents.local import LocalAgent
from tests.a2a.server.desk import ANN, Desk, desk, each, lines, shown
from tests.conformance.agent import FILE, Conformant


class Scripted:
    """Says what it is given, step by step."""

    def __init__(self, *steps: Step, resumable: bool = True) -> None:
        self.steps, self.resumable, self.tasks = steps, resumable, list[Task]()

    async def work(self, task: Task) -> AsyncIterator[Step]:
        self.tasks.append(task)
        for step in self.steps:
            yield step


@asynccontextmanager
async def local(store: Store, agent: Working) -> AsyncIterator[Desk]:
    """A desk whose agent is this one."""
    async with asyncio.TaskGroup() as tasks:
        made = LocalAgent("agent", agent, cast(PluginState, store), SystemClock(), tasks)
        async with desk(store, made) as there:
            yield there


async def said(there: Desk, id: str, *, task: str = "") -> list[ServedEvent]:
    request = Send(Message(id, Role.USER, (Text("TCK"),), task_id=task))
    return [event async for event in each(there.tasks.stream(ANN, request))]


def parts(events: list[ServedEvent]) -> list[tuple[Part, ...]]:
    return [event.artifact.parts for event in events if isinstance(event, ArtifactUpdate)]


@pytest.mark.parametrize("resumable", [True, False])
async def test_files_and_data_of_a_local_agent_are_artifacts(store: Store, resumable: bool) -> None:
    made = (File("a.bin", "x/y", size=2, content=b"\x00\xff"), Data([1, None]))
    agent = Scripted(Words("Here: "), Parts(made, "both"), Words("done"), resumable=resumable)
    async with local(store, agent) as there:
        done = await there.send("hello")

        assert [artifact.parts for artifact in done.artifacts] == [(Text("Here: done"),), made]
        assert done.artifacts[1].name == "both"
        assert done == await there.tasks.get(ANN, done.id)


@pytest.mark.parametrize(
    ("step", "state"), [(Failed("broken"), TaskState.FAILED), (Rejected("never"), TaskState.REJECTED)]
)
async def test_a_local_agent_says_how_its_task_ends(store: Store, step: Step, state: TaskState) -> None:
    async with local(store, Scripted(step)) as there:
        done = await there.send("hello")

        assert done.state is state
        assert done.message is not None
        assert text_of(done.message.parts) in ("broken", "never")


@pytest.mark.parametrize("resumable", [True, False])
async def test_a_reply_of_a_local_agent_is_a_bare_message(store: Store, resumable: bool) -> None:
    agent = Scripted(Reply("hello"), resumable=resumable)
    async with local(store, agent) as there:
        answer = await there.tasks.send(ANN, Send(there.message("hi")))

        assert isinstance(answer, Message)
        assert answer.parts == (Text("hello"),)


async def test_a_local_agent_gets_the_files_and_the_name_of_the_message(store: Store) -> None:
    agent = Scripted(Words("ok"))
    async with local(store, agent) as there:
        await there.send("", id="wire-1", parts=(FILE, Text("see")))

        (task,) = agent.tasks
        assert (task.parts, task.message_id, task.text) == ((FILE, Text("see")), "wire-1", "see")


async def test_an_artifact_outlives_the_question_behind_it(store: Store) -> None:
    class Asks:
        resumable = True

        async def work(self, task: Task) -> AsyncIterator[Step]:
            if not task.state:
                yield Parts((FILE,), "draft", "draft")
                yield Question("Good?", {"asked": True})
            else:
                yield Words("Sent.")

    async with local(store, Asks()) as there:
        asked = await there.send("write")
        done = await there.send("yes", task=asked.id)

        assert [artifact.id for artifact in asked.artifacts] == ["draft"]
        assert {artifact.name or text_of(artifact.parts) for artifact in done.artifacts} == {"draft", "Sent."}


# ------------------------------------------------------------------ what the kits expect (reference, section 7)


def kit(store: Store) -> AbstractAsyncContextManager[Desk]:
    return local(store, Conformant())


@pytest.mark.parametrize("prefix", ["tck-complete-task", "tck-anything"])
async def test_the_kits_task_is_completed_with_a_status_message(store: Store, prefix: str) -> None:
    async with kit(store) as there:
        done = await there.tasks.send(ANN, Send(Message(f"{prefix}-1", Role.USER, (Text("x"),))))

        assert isinstance(done, ServedTask)
        assert (done.state, done.message and text_of(done.message.parts)) == (TaskState.COMPLETED, "Hello from TCK")


@pytest.mark.parametrize(
    ("prefix", "part"),
    [
        ("tck-artifact-text", Text("Generated text content")),
        ("tck-artifact-file", FILE),
        ("tck-artifact-file-url", File("output.txt", "text/plain", "https://example.com/output.txt")),
        ("tck-artifact-data", Data({"key": "value", "count": 42})),
    ],
)
async def test_the_kits_artifacts_are_made(store: Store, prefix: str, part: Part) -> None:
    async with kit(store) as there:
        events = await said(there, f"{prefix}-1")

        assert parts(events) == [(part,)]
        assert lines(events)[-1] == "completed"


async def test_the_kits_chunks_come_as_chunks(store: Store) -> None:
    async with kit(store) as there:
        events = await said(there, "tck-stream-artifact-chunked-1")
        updates = [event for event in events if isinstance(event, ArtifactUpdate)]

        assert lines(events) == ["submitted", "working", "chunk-1 ", "chunk-2", "completed"]
        assert [(update.append, update.last) for update in updates] == [(False, False), (True, True)]


async def test_the_kits_stream_without_artifacts_is_just_completed(store: Store) -> None:
    async with kit(store) as there:
        assert lines(await said(there, "tck-stream-002-1")) == ["submitted", "working", "completed"]


async def test_the_kits_bare_message_is_no_task(store: Store) -> None:
    async with kit(store) as there:
        assert [type(event) for event in await said(there, "tck-message-response-1")] == [Message]


async def test_the_kits_question_is_answered_with_the_tasks_id_alone(store: Store) -> None:
    async with kit(store) as there:
        events = await said(there, "tck-input-required-1")
        assert isinstance(events[0], ServedTask)
        answered = await there.send("x", id="follow-up", task=events[0].id)

        assert lines(events)[-1] == "input-required"
        assert (answered.state, shown(answered)) == (TaskState.COMPLETED, [])


async def test_the_kits_rejection_is_one(store: Store) -> None:
    async with kit(store) as there:
        assert lines(await said(there, "tck-reject-task-1"))[-1] == "rejected"


async def test_the_old_kits_tasks_stay_open_and_can_be_cancelled(store: Store) -> None:
    async with kit(store) as there:
        asked = await there.send("x", id="test-1")
        assert asked.state is TaskState.INPUT_REQUIRED
        assert (await there.tasks.cancel(ANN, asked.id)).state is TaskState.CANCELED
