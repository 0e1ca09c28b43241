"""The official SDK on the other side: every verb, as the protocol's authors read it."""

from collections.abc import AsyncIterator

import pytest

from core.agent import ArtifactUpdate, Snapshot, StatusUpdate, TaskRef, TaskState
from core.errors import NotAccepted, OutcomeUnknown, TaskEnded, TaskUnknown, Unreachable
from tests.a2a.asking import ask, failure, heard, ref_of, words
from tests.a2a.conftest import Connect
from tests.peers.processes import SdkAgent

pytestmark = pytest.mark.peer("a2a-sdk")


@pytest.fixture
async def sdk() -> AsyncIterator[SdkAgent]:
    async with SdkAgent() as agent:
        yield agent


async def test_it_is_discovered_asked_read_and_found(sdk: SdkAgent, connect: Connect) -> None:
    remote = connect(sdk.url)
    card = await remote.discover()
    assert (card.name, card.endpoint.url, card.endpoint.streaming) == ("sdk-agent", sdk.url, True)
    said = await heard(remote.send(ask("echo good morning to you")))
    task = ref_of(said[0])
    chunks = [event for event in said if isinstance(event, ArtifactUpdate)]
    assert "".join(map(words, chunks)) == "good morning to you"
    assert (chunks[0].append, chunks[-1].append, chunks[-1].last) == (False, True, True)
    assert isinstance(said[-1], StatusUpdate)
    assert said[-1].state is TaskState.COMPLETED
    got = await remote.get(task)
    assert (words(got), got.time) == ("good morning to you", said[-1].time)
    assert await remote.find(task.context_id, "m-1") == got
    assert await remote.find(None, "m-1") == got
    assert await remote.find(task.context_id, "m-2") is None


@pytest.mark.case("A2A-01")
async def test_its_question_is_answered_in_the_same_task(sdk: SdkAgent, connect: Connect) -> None:
    remote = connect(sdk.url)
    said = await heard(remote.send(ask("book a table")))
    task = ref_of(said[0])
    assert words(said[-1]) == "Which day?"
    assert words(await remote.get(task)) == ""
    said = await heard(remote.send(ask("Tuesday", message_id="m-2", task=task)))
    assert {ref_of(event) for event in said} == {task}
    assert words(await remote.get(task)) == "Booked for Tuesday"
    error = await failure(remote.send(ask("and Friday?", message_id="m-3", task=task)))
    assert isinstance(error, TaskEnded)
    found = await remote.find(task.context_id, "m-2")
    assert found is not None
    assert ref_of(found) == task


async def test_a_running_task_is_left_joined_and_finished(sdk: SdkAgent, connect: Connect) -> None:
    remote = connect(sdk.url)
    said = remote.send(ask("hold 3"))
    task = ref_of(await anext(said))
    await sdk.held()
    await said.aclose()
    joined = remote.subscribe(task)
    first = await anext(joined)
    assert isinstance(first, Snapshot)
    assert (first.state, words(first)) == (TaskState.WORKING, "1 ")
    await sdk.release()
    rest = await heard(joined)
    assert "".join(map(words, rest)) == "2 3 "
    assert isinstance(await failure(remote.subscribe(task)), TaskEnded)


async def test_a_running_task_is_cancelled_once(sdk: SdkAgent, connect: Connect) -> None:
    remote = connect(sdk.url)
    said = remote.send(ask("hold 3"))
    task = ref_of(await anext(said))
    await sdk.held()
    await said.aclose()
    after = await remote.cancel(task)
    assert after is not None
    assert after.state is TaskState.CANCELED
    assert isinstance(await failure(remote.cancel(task)), TaskEnded)


async def test_without_a_free_stream_it_answers_at_once_and_is_read_later(sdk: SdkAgent, connect: Connect) -> None:
    remote = connect(sdk.url, max_streams=0)
    [said] = await heard(remote.send(ask("hold 2")))
    assert isinstance(said, Snapshot)
    assert not said.state.is_terminal
    await sdk.held()
    assert words(await remote.get(ref_of(said))) == "1 "


async def test_a_task_that_fails_says_why(sdk: SdkAgent, connect: Connect) -> None:
    said = await heard(connect(sdk.url).send(ask("fail now")))
    assert isinstance(said[-1], StatusUpdate)
    assert (said[-1].state, words(said[-1])) == (TaskState.FAILED, "It went wrong")


@pytest.mark.case("F18")
async def test_killed_in_a_stream_and_started_anew_it_has_forgotten_the_task(sdk: SdkAgent, connect: Connect) -> None:
    remote = connect(sdk.url)
    said = remote.send(ask("hold 3"))
    task = ref_of(await anext(said))
    await sdk.held()
    await sdk.kill()
    assert isinstance(await failure(said), Unreachable)
    assert isinstance(await failure(remote.get(task)), Unreachable)
    assert isinstance(await failure(remote.send(ask(message_id="m-2"))), NotAccepted | OutcomeUnknown)
    await sdk.start()
    assert isinstance(await failure(remote.get(task)), TaskUnknown)
    assert isinstance(await failure(remote.cancel(TaskRef("nobody", "c"))), TaskUnknown)
    assert await remote.find(task.context_id, "m-1") is None
