"""The official SDK on the other side: every verb over every binding, as the protocol's authors read them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from a2a import RemoteAgent
from a2a.card import SPOKEN
from core.agent import ArtifactUpdate, Snapshot, StatusUpdate, TaskRef, TaskState
from core.errors import Declined, NotAccepted, OutcomeUnknown, TaskEnded, TaskUnknown, Unreachable
from tests.a2a.asking import ask, failure, heard, ref_of, words
from tests.a2a.conftest import Connect
from tests.peers.processes import SdkAgent

pytestmark = pytest.mark.peer("a2a-sdk")


@pytest.fixture
async def sdk() -> AsyncIterator[SdkAgent]:
    async with SdkAgent() as agent:
        yield agent


class Over:
    """The SDK's agent over one binding."""

    def __init__(self, sdk: SdkAgent, connect: Connect, binding: str) -> None:
        self.binding = binding
        self._sdk, self._connect = sdk, connect

    def __call__(self, **settings: Any) -> RemoteAgent:
        return self._connect(self._sdk.url, interfaces=[self.binding], **settings)


@pytest.fixture(params=SPOKEN)
def over(sdk: SdkAgent, connect: Connect, request: pytest.FixtureRequest) -> Over:
    return Over(sdk, connect, request.param)


async def test_it_is_discovered_with_all_its_interfaces(sdk: SdkAgent, connect: Connect) -> None:
    card = await connect(sdk.url).discover()
    assert (card.name, card.endpoint.url, card.endpoint.streaming) == ("sdk-agent", sdk.url, True)
    assert tuple(each.binding for each in card.interfaces) == SPOKEN
    assert card.warnings == ()


async def test_its_card_is_revalidated(sdk: SdkAgent, connect: Connect) -> None:
    remote = connect(sdk.url)
    assert await remote.discover() == await remote.discover()


async def test_it_is_asked_and_read(over: Over) -> None:
    remote = over()
    said = await heard(remote.send(ask("echo good morning to you")))
    task = ref_of(said[0])
    chunks = [event for event in said if isinstance(event, ArtifactUpdate)]
    assert "".join(map(words, chunks)) == "good morning to you"
    assert (chunks[0].append, chunks[-1].append, chunks[-1].last) == (False, True, True)
    assert isinstance(said[-1], StatusUpdate)
    assert said[-1].state is TaskState.COMPLETED
    got = await remote.get(task)
    assert (words(got), got.time) == ("good morning to you", said[-1].time)


@pytest.mark.parametrize("binding", [name for name in SPOKEN if name.endswith("/1.0")])
async def test_a_message_is_found_in_its_listing(sdk: SdkAgent, connect: Connect, binding: str) -> None:
    remote = connect(sdk.url, interfaces=[binding])
    task = ref_of((await heard(remote.send(ask("echo good morning to you"))))[0])
    got = await remote.get(task)
    assert await remote.find(task.context_id, "m-1") == got
    assert await remote.find(None, "m-1") == got
    assert await remote.find(task.context_id, "m-2") is None


@pytest.mark.case("A2A-01")
async def test_its_question_is_answered_in_the_same_task_and_its_failure_says_why(over: Over) -> None:
    remote = over()
    said = await heard(remote.send(ask("book a table")))
    task = ref_of(said[0])
    assert words(said[-1]) == "Which day?"
    assert words(await remote.get(task)) == ""
    said = await heard(remote.send(ask("Tuesday", message_id="m-2", task=task)))
    assert {ref_of(event) for event in said} == {task}
    assert words(await remote.get(task)) == "Booked for Tuesday"
    error = await failure(remote.send(ask("and Friday?", message_id="m-3", task=task)))
    # Over HTTP+JSON of 0.3 the SDK begins a stream and breaks it off instead of an answer.
    assert isinstance(error, OutcomeUnknown if over.binding == "HTTP+JSON/0.3" else TaskEnded)
    said = await heard(remote.send(ask("fail now", message_id="m-4")))
    assert isinstance(said[-1], StatusUpdate)
    assert (said[-1].state, words(said[-1])) == (TaskState.FAILED, "It went wrong")


async def test_a_running_task_is_left_joined_and_finished(sdk: SdkAgent, over: Over) -> None:
    remote = over()
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
    assert "".join(words(event) for event in rest if isinstance(event, ArtifactUpdate)) == "2 3 "
    assert words(await remote.get(task)) == "1 2 3 "
    joined = remote.subscribe(task)
    if over.binding.endswith("/0.3"):  # refused too late to count: the task itself has come before
        assert await anext(joined) == await remote.get(task)
    assert isinstance(await failure(joined), TaskEnded | Unreachable)


async def test_a_running_task_answers_at_once_is_looked_at_and_cancelled(sdk: SdkAgent, over: Over) -> None:
    remote = over(max_streams=0)
    [said] = await heard(remote.send(ask("hold 3")))
    assert isinstance(said, Snapshot)
    assert not said.state.is_terminal
    task = ref_of(said)
    await sdk.held()
    assert words(await remote.get(task)) == "1 "
    after = await remote.cancel(task)
    assert after is not None
    assert after.state is TaskState.CANCELED
    assert isinstance(await failure(remote.cancel(task)), TaskEnded)
    for asked in (remote.get(TaskRef("nobody", "c")), remote.cancel(TaskRef("nobody", "c"))):
        assert isinstance(await failure(asked), TaskUnknown)


@pytest.mark.parametrize("binding", [name for name in SPOKEN if name.endswith("/0.3")])
async def test_what_0_3_cannot_list_is_declined(sdk: SdkAgent, connect: Connect, binding: str) -> None:
    error = await failure(connect(sdk.url, interfaces=[binding]).find("c", "m-1"))
    assert type(error) is Declined


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
