"""What an agent says, in whatever pieces and by whatever road, is one answer."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from core.agent import Artifact, ArtifactUpdate, Ask, Reply, TaskEvent, TaskState
from core.parts import Text, text_of
from core.plugin import Accepted
from core.store import Store
from tests.doubles.agent import FakeAgent, context, status, task, task_id
from tests.doubles.world import SOON, world
from tests.waiting import until


async def test_an_agent_whose_answer_grows_is_heard_of_and_not_silent(store: Store) -> None:
    more = asyncio.Event()

    async def grows(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        await more.wait()
        yield ArtifactUpdate(task_id(ask), context(ask), Artifact("a1", (Text("one, "),)))
        await asyncio.Event().wait()

    async with world(store, FakeAgent(grows)) as desk:
        admission = await desk.says("count to a hundred")
        assert isinstance(admission, Accepted)
        first = await until(lambda: desk.tracker.heard(admission.thread))
        more.set()
        await until(lambda: (desk.tracker.heard(admission.thread) or 0) > first + 0.01)
        assert desk.tracker.heard("another") is None
        (turn,) = desk.tracker._pursuits
        assert (desk.tracker.heard_in(turn) or 0) > first
        assert desk.tracker.heard_in("another") is None


@pytest.mark.case("A2A-05")
async def test_a_stream_that_closes_cleanly_while_working_is_not_the_end(store: Store) -> None:
    async def closes(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)

    agent = FakeAgent(closes)
    async with world(store, agent) as desk:
        await desk.says("hello")
        await until(lambda: agent.gets)
        agent.tasks[task_id(agent.asks[0])] = task(agent.asks[0], TaskState.COMPLETED, "at last")
        assert await desk.plugin.until(1) == ["at last"]


@pytest.mark.case("A2A-08")
@pytest.mark.case("A2A-09")
async def test_a_bare_end_is_confirmed_and_the_task_s_own_artifacts_are_delivered(store: Store) -> None:
    async def streams(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        yield ArtifactUpdate(task_id(ask), context(ask), Artifact("a1", (Text("Hello, "),)))
        yield ArtifactUpdate(task_id(ask), context(ask), Artifact("a1", (Text("world!"),)), append=True, last=True)
        agent.tasks[task_id(ask)] = task(ask, TaskState.COMPLETED, "Hello, world!")
        yield status(ask, TaskState.COMPLETED)

    agent = FakeAgent(streams)
    async with world(store, agent) as desk:
        await desk.says("hi")
        assert await desk.plugin.until(1) == ["Hello, world!"]
        assert set(agent.gets) == {task_id(agent.asks[0])}


async def test_what_was_assembled_is_delivered_marked_when_the_task_is_gone_before_it_was_confirmed(
    store: Store,
) -> None:
    async def forgets(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        yield ArtifactUpdate(task_id(ask), context(ask), Artifact("a1", (Text("Hello"),)), last=True)
        agent.tasks.clear()
        yield status(ask, TaskState.COMPLETED)

    agent = FakeAgent(forgets)
    async with world(store, agent, patience=replace(SOON, quiet=30.0)) as desk:  # nobody asks before the stream's end
        await desk.says("hi")
        shown = await desk.plugin.until(3)
        assert shown[0] == "Hello"
        assert "".join(shown[1:]).startswith("(The agent could not confirm")


async def test_a_bare_message_is_a_whole_answer(store: Store) -> None:
    async def replies(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield Reply("r1", context(ask), (Text("just this"),))

    async with world(store, FakeAgent(replies)) as desk:
        await desk.says("hi")
        assert await desk.plugin.until(1) == ["just this"]


@pytest.mark.case("A2A-12")
async def test_an_answer_that_comes_as_status_message_and_as_artifact_is_shown_once(store: Store) -> None:
    async def twice(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.COMPLETED, "the answer", message="the answer")

    async with world(store, FakeAgent(twice)) as desk:
        await desk.says("hi")
        await until(lambda: desk.events.of("turn.finished"))
        await desk.says("/status")
        await until(lambda: any("Nothing" in text for text in desk.plugin.shown()))
        assert desk.plugin.shown().count("the answer") == 1


@pytest.mark.case("A2A-12")
@pytest.mark.parametrize("artifact_first", [True, False])
async def test_an_answer_that_one_stream_says_in_two_events_is_shown_once(store: Store, artifact_first: bool) -> None:
    async def twice(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING, time=1.0)
        agent.tasks[task_id(ask)] = task(ask, TaskState.COMPLETED, "the answer", message="the answer", time=2.0)
        made = ArtifactUpdate(task_id(ask), context(ask), Artifact("a1", (Text("the answer"),)), last=True)
        if artifact_first:
            yield made
            yield status(ask, TaskState.COMPLETED, "the answer", time=2.0)
        else:
            yield status(ask, TaskState.WORKING, "the answer", time=1.5)
            yield made
            yield status(ask, TaskState.COMPLETED, time=2.0)

    async with world(store, agent := FakeAgent(twice)) as desk:
        await desk.says("hi")
        await until(lambda: desk.events.of("turn.finished"))
        await desk.says("/status")
        await until(lambda: any("Nothing" in text for text in desk.plugin.shown()))
        assert desk.plugin.shown().count("the answer") == 1


@pytest.mark.case("A2A-11")
@pytest.mark.parametrize("streaming", [True, False])
async def test_an_artifact_for_each_token_is_one_answer(store: Store, streaming: bool) -> None:
    async def tokens(ask: Ask) -> AsyncIterator[TaskEvent]:
        whole = task(ask, TaskState.COMPLETED, *(f"{n} " for n in range(200)))
        agent.tasks[task_id(ask)] = whole
        for made in whole.artifacts if streaming else ():
            yield ArtifactUpdate(whole.task_id, whole.context_id, made, last=True)
        yield status(ask, TaskState.COMPLETED) if streaming else whole

    async with world(store, agent := FakeAgent(tokens)) as desk:
        await desk.says("hi")
        whole = "".join(f"{n} " for n in range(200)).strip()
        shown = await desk.plugin.until(-(-len(whole) // 40))
        assert "".join(shown) == whole


@pytest.mark.case("TG-16")
@pytest.mark.parametrize("empty", ["  \n", "\x00\x07", "\u200b\ufeff"])
async def test_an_empty_answer_is_one_notice_and_the_turn_is_closed(store: Store, empty: str) -> None:
    """So is one of nothing that a chat would show."""

    async def nothing(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.COMPLETED, empty)

    async with world(store, FakeAgent(nothing)) as desk:
        await desk.says("hi")
        shown = await desk.plugin.until(2)
        assert "".join(shown) == "The agent finished without saying anything."
        assert not await store.unfinished()


@pytest.mark.parametrize("late", ["progress", "question", "artifact"])
async def test_what_an_agent_says_after_its_turn_ended_is_recorded_and_ends_nothing(store: Store, late: str) -> None:
    said = asyncio.Event()

    async def talks_on(ask: Ask) -> AsyncIterator[TaskEvent]:
        if text_of(ask.parts) == "next":
            yield task(ask, TaskState.COMPLETED, "NEXT")
            return
        yield task(ask, TaskState.INPUT_REQUIRED if late == "question" else TaskState.COMPLETED, "one", time=1.0)
        if late == "progress":
            yield status(ask, TaskState.WORKING, time=2.0)
        elif late == "question":
            yield status(ask, TaskState.INPUT_REQUIRED, "and?", time=2.0)
        else:
            yield ArtifactUpdate(task_id(ask), context(ask), Artifact("a2", (Text("late"),)), last=True)
        said.set()

    async with world(store, FakeAgent(talks_on)) as desk:
        await desk.says("hi")
        await said.wait()
        await desk.says("next", sender="bob")
        assert await desk.plugin.until(1, "bob") == ["NEXT"]
        assert "late" not in desk.plugin.shown()


async def test_a_task_whose_agent_s_clock_stepped_back_still_ends(store: Store) -> None:
    async def steps_back(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING, time=100.0)
        agent.tasks[task_id(ask)] = task(ask, TaskState.COMPLETED, "done", time=50.0)

    agent = FakeAgent(steps_back)
    async with world(store, agent) as desk:
        await desk.says("hi")
        assert await desk.plugin.until(1) == ["done"]
