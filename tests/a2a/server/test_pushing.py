"""Push notifications: every change, in order, to every address that wants them, and never in the way of the task."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from a2a.server.port import Caller, NoSuchTask, PushConfig, PushRefused, Send, ServedTask
from a2a.server.settings import A2AServerSettings
from core.agent import Artifact, ArtifactUpdate, Ask, TaskEvent, TaskState
from core.doors.outbound import GuardedClient
from core.followed import Target
from core.identity import Source
from core.parts import Text
from core.seal import SealBroken
from core.store import Store
from gateway.agents.echo import Echo
from gateway.agents.quick import QuickAgent
from tests.a2a.server.addresses import INNER
from tests.a2a.server.desk import ANN, Desk, desk
from tests.doubles.agent import FakeAgent, context, status, task, task_id
from tests.fakes.push_receiver import PushReceiver
from tests.waiting import until

EXAMPLE = PushConfig("https://example.com/hook")


@pytest.fixture
async def receiver() -> AsyncIterator[PushReceiver]:
    async with PushReceiver() as receiver:
        yield receiver


async def works(ask: Ask) -> AsyncIterator[TaskEvent]:
    yield status(ask, TaskState.WORKING, "thinking")
    artifact = Artifact("a1", (Text("whole"),))
    yield ArtifactUpdate(task_id(ask), context(ask), artifact, last=True)
    yield task(ask, TaskState.COMPLETED, "whole", message="done")


async def asks(ask: Ask) -> AsyncIterator[TaskEvent]:
    yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?")


EVERYTHING = ["working", "working", "whole", "completed"]


async def pushed(there: Desk, config: PushConfig, text: str = "hello") -> ServedTask:
    answer = await there.tasks.send(ANN, Send(there.message(text), push=config))
    assert isinstance(answer, ServedTask)
    return answer


async def test_every_change_is_told_in_order(store: Store, receiver: PushReceiver) -> None:
    async with desk(store, FakeAgent(works), allow_push_private=True) as there:
        done = await pushed(there, PushConfig(f"{receiver.base}/hook"))

        await receiver.changes.until(lambda: receiver.told("/hook") == EVERYTHING)
        assert {one.body["task"] for one in receiver.received} == {done.id}


async def test_of_an_agent_that_is_done_at_once_the_end_is_told_to_the_config_of_its_message(
    store: Store, receiver: PushReceiver
) -> None:
    """One in this process is done before anything else could be stored."""
    async with desk(store, QuickAgent("agent", Echo()), allow_push_private=True) as there:
        for n in range(10):
            config = PushConfig(f"{receiver.base}/{n}")
            await there.tasks.send(ANN, Send(there.message("hello"), waits=False, push=config))

        await receiver.changes.until(lambda: all(receiver.told(f"/{n}")[-1:] == ["completed"] for n in range(10)))


async def test_a_message_with_a_config_too_many_is_not_taken(store: Store) -> None:
    agent = FakeAgent(asks)
    async with desk(store, agent) as there:
        asked = await pushed(there, EXAMPLE)
        for n in range(9):
            await there.tasks.set_push(ANN, replace(EXAMPLE, task_id=asked.id, id=f"c{n}"))
        with pytest.raises(PushRefused):
            await there.tasks.send(ANN, Send(there.message("Tuesday", task=asked.id), push=EXAMPLE))

        assert await there.tasks.get(ANN, asked.id) == asked
        assert len(agent.asks) == 1


@pytest.mark.parametrize("protocol", ["1.0", "0.3"])
async def test_that_a_task_that_asks_is_cancelled_is_told_too(
    store: Store, receiver: PushReceiver, protocol: str
) -> None:
    async with desk(store, FakeAgent(asks), allow_push_private=True) as there:
        asked = await pushed(there, PushConfig(f"{receiver.base}/hook", protocol=protocol))
        await receiver.changes.until(lambda: receiver.told("/hook")[-1:] == ["input-required"])
        await there.tasks.cancel(ANN, asked.id)

        await receiver.changes.until(lambda: receiver.told("/hook")[-1:] == ["canceled"])
        assert {one.body["task"] for one in receiver.received} == {asked.id}


async def test_a_config_of_0_3_without_an_id_is_the_task_s_one_config(store: Store) -> None:
    old = PushConfig("https://example.com/hook", protocol="0.3")
    async with desk(store, FakeAgent(asks)) as there:
        asked = await pushed(there, old)
        again = await there.tasks.set_push(ANN, replace(old, task_id=asked.id, url="https://example.com/other"))

        assert again.id == asked.id
        assert await there.tasks.pushes(ANN, asked.id) == [again]


async def test_a_notification_shows_who_sends_it(store: Store, receiver: PushReceiver) -> None:
    config = PushConfig(f"{receiver.base}/hook", token="tok", scheme="Bearer", credentials="secret")
    async with desk(store, FakeAgent(works), allow_push_private=True) as there:
        await pushed(there, config)
        (first, *_) = await receiver.changes.until(lambda: receiver.received)

        assert first.headers["Authorization"] == "Bearer secret"
        assert first.headers["X-A2A-Notification-Token"] == first.headers["A2A-Notification-Token"] == "tok"
        assert first.headers["Content-Type"] == "application/a2a+json"


async def test_a_config_of_the_old_protocol_is_told_the_whole_task_in_its_words(
    store: Store, receiver: PushReceiver
) -> None:
    async with desk(store, FakeAgent(works), allow_push_private=True) as there:
        done = await pushed(there, PushConfig(f"{receiver.base}/hook", protocol="0.3"))
        await receiver.changes.until(lambda: len(receiver.received) == len(EVERYTHING))

        assert receiver.received[-1].body == {"task": done.id, "state": "completed", "protocol": "0.3"}


async def test_each_config_has_a_lane_of_its_own(store: Store, receiver: PushReceiver) -> None:
    gate = asyncio.Event()

    async def slowly(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield status(ask, TaskState.WORKING)
        await gate.wait()
        async for event in works(ask):
            yield event

    async with PushReceiver() as stuck, desk(store, FakeAgent(slowly), allow_push_private=True) as there:
        stuck.gate = asyncio.Event()
        first = await there.send("hello", waits=False)
        for base, id in ((stuck.base, "stuck"), (receiver.base, "quick")):
            await there.tasks.set_push(ANN, PushConfig(f"{base}/hook", id, first.id))
        gate.set()

        await receiver.changes.until(lambda: receiver.told("/hook") == EVERYTHING)
        assert (await there.tasks.get(ANN, first.id)).state is TaskState.COMPLETED
        assert (stuck.requests, stuck.received) == (1, [])
        stuck.gate.set()
        await stuck.changes.until(lambda: stuck.told("/hook") == EVERYTHING)


async def test_a_receiver_that_is_busy_is_told_again_and_in_order(store: Store, receiver: PushReceiver) -> None:
    receiver.statuses.extend([503, 429])
    async with desk(store, FakeAgent(works), allow_push_private=True) as there:
        await pushed(there, PushConfig(f"{receiver.base}/hook"))

        await receiver.changes.until(lambda: receiver.told("/hook") == EVERYTHING)
        assert receiver.requests == len(EVERYTHING) + 2


@pytest.mark.case("DEL-17")
async def test_in_a_burst_each_change_of_each_task_is_told_once_and_in_order(
    store: Store, receiver: PushReceiver
) -> None:
    """A busy receiver is told again what it refused, and nothing else twice."""
    count = 30
    receiver.statuses.extend([503] * 10)
    async with desk(store, FakeAgent(works), allow_push_private=True) as there:
        config = PushConfig(f"{receiver.base}/hook")
        await asyncio.gather(*(pushed(there, config, f"question {number}") for number in range(count)))

        await receiver.changes.until(lambda: len(receiver.received) == count * len(EVERYTHING))
        tasks = {one.body["task"] for one in receiver.received}
        assert len(tasks) == count
        assert all(receiver.told("/hook", task=task) == EVERYTHING for task in tasks)


async def test_a_receiver_that_is_gone_is_left_alone(store: Store, receiver: PushReceiver) -> None:
    receiver.statuses.extend([410])
    async with desk(store, FakeAgent(works), allow_push_private=True) as there:
        done = await pushed(there, PushConfig(f"{receiver.base}/hook"))
        (target,) = await store.targets_of(done.id)

        await until(lambda: is_empty(store, target.conversation))
        assert receiver.requests == 1


async def is_empty(store: Store, conversation: str) -> bool:
    lanes = [lane for lane, _ in await store.lanes()]
    return conversation not in lanes and not await store.begun()


@pytest.mark.case("T30")
async def test_a_redirect_is_not_followed(store: Store, receiver: PushReceiver) -> None:
    receiver.statuses.extend([302] * len(EVERYTHING))
    receiver.headers["Location"] = f"{receiver.base}/elsewhere"
    async with desk(store, FakeAgent(works), allow_push_private=True) as there:
        done = await pushed(there, PushConfig(f"{receiver.base}/hook"))
        (target,) = await store.targets_of(done.id)
        await until(lambda: is_empty(store, target.conversation))

        assert (receiver.requests, receiver.received) == (len(EVERYTHING), [])


@pytest.mark.case("A2A-24")
@pytest.mark.parametrize("url", INNER)
async def test_a_private_or_odd_address_is_refused_when_it_is_set(store: Store, url: str) -> None:
    async with desk(store, agent := FakeAgent(works)) as there:
        done = await there.send("hello")
        with pytest.raises(PushRefused):
            await there.tasks.set_push(ANN, PushConfig(url, task_id=done.id))
        with pytest.raises(PushRefused):
            await there.tasks.send(ANN, Send(there.message("hello"), push=PushConfig(url)))

        assert len(agent.asks) == 1  # nothing was accepted with it


@pytest.mark.case("T29")
@pytest.mark.case("A2A-24")
async def test_an_address_that_is_refused_when_it_is_set_is_refused_when_it_is_called_too(
    store: Store, receiver: PushReceiver
) -> None:
    """It may stand in the database from before: set while it was allowed, or by an older version."""
    urls = [*INNER, f"{receiver.base}/hook"]
    async with desk(store, FakeAgent(asks)) as there:
        asked = await there.send("book")
        for number, url in enumerate(urls):
            settings = {"url": url, "setter": [ANN.owner, ANN.name]}
            await store.put_target(Target(asked.id, f"c{number}", "", settings), Source("a2a", "desk"))
    async with desk(store, FakeAgent(asks)) as there:
        await there.tasks.cancel(ANN, asked.id)
        attempted = there.world.events
        await until(lambda: len(attempted.of("delivery.attempted")) == len(urls))
        told = [(event["outcome"], str(event["reason"])[:10]) for event in attempted.of("delivery.attempted")]
        assert told == [("rejected", "malformed:")] * len(urls)
        assert receiver.requests == 0


@pytest.mark.case("A2A-24")
async def test_a_name_that_leads_to_a_private_address_is_refused_when_it_is_called(
    store: Store, receiver: PushReceiver
) -> None:
    async def resolves(host: str, port: int) -> list[str]:
        del host, port
        return ["127.0.0.1"]

    async with desk(store, FakeAgent(works)) as there, GuardedClient(resolve=resolves) as client:
        there.plugin._pushes._client = client
        done = await pushed(there, PushConfig(f"http://rebound.example:{receiver.port}/hook"))
        (target,) = await store.targets_of(done.id)
        await until(lambda: is_empty(store, target.conversation))

        reasons = {str(event["reason"]) for event in there.world.events.of("delivery.attempted")}
        assert (receiver.requests, len(reasons)) == (0, 1)
        assert "private_address" in reasons.pop()


@pytest.mark.parametrize(
    "config",
    [
        PushConfig("https://example.com/", token="a\r\nb: c"),
        PushConfig("https://example.com/", scheme="Bearer", credentials="a\nb"),
        PushConfig("https://example.com/", scheme="Bea rer", credentials="a"),
        PushConfig("https://example.com/", credentials="no scheme"),
    ],
)
async def test_what_would_begin_another_header_is_refused(store: Store, config: PushConfig) -> None:
    async with desk(store, FakeAgent(works)) as there:
        with pytest.raises(PushRefused):
            await there.tasks.send(ANN, Send(there.message("hello"), push=config))


async def test_configs_are_kept_told_and_dropped(store: Store) -> None:
    async with desk(store, FakeAgent(works)) as there:
        done = await there.send("hello")
        made = await there.tasks.set_push(ANN, PushConfig(EXAMPLE.url, task_id=done.id, token="t"))
        other = await there.tasks.set_push(ANN, PushConfig("https://example.com/other", "mine", done.id))
        changed = await there.tasks.set_push(ANN, PushConfig("https://example.com/third", "mine", done.id))

        assert made.id
        assert await there.tasks.push(ANN, done.id, made.id) == made
        assert sorted(config.url for config in await there.tasks.pushes(ANN, done.id)) == [made.url, changed.url]
        for _ in range(2):
            await there.tasks.drop_push(ANN, done.id, other.id)
        with pytest.raises(NoSuchTask):
            await there.tasks.push(ANN, done.id, other.id)
        assert [config.id for config in await there.tasks.pushes(ANN, done.id)] == [made.id]


class Reversed:
    """A seal of sorts: it can be broken, and shows what it was given."""

    def __init__(self) -> None:
        self.places: set[str] = set()
        self.is_broken = False

    def close(self, secret: str, place: str) -> str:
        self.places.add(place)
        return secret[::-1]

    def open(self, closed: str, place: str) -> str:
        if self.is_broken or place not in self.places:
            raise SealBroken("another key")
        return closed[::-1]


async def test_the_secrets_of_a_config_are_stored_closed_and_told_as_they_were_set(
    store: Store, receiver: PushReceiver
) -> None:
    config = PushConfig(f"{receiver.base}/hook", "c1", token="tok", scheme="Bearer", credentials="let-me-in")
    async with desk(store, FakeAgent(asks), allow_push_private=True, seal=(seal := Reversed())) as there:
        asked = await pushed(there, config)
        (target,) = await store.targets_of(asked.id)
        await receiver.changes.until(lambda: receiver.told("/hook")[-1:] == ["input-required"])
        (shown,) = await there.tasks.pushes(ANN, asked.id)

        assert "tok" not in str(target.settings)
        assert "let-me-in" not in str(target.settings)
        assert seal.places == {f"push config c1 of {asked.id}"}
        assert (shown.token, shown.credentials) == ("tok", "let-me-in")
        assert {one.headers["Authorization"] for one in receiver.received} == {"Bearer let-me-in"}


async def test_a_config_whose_secrets_cannot_be_read_is_told_nothing_and_says_why(
    store: Store, receiver: PushReceiver
) -> None:
    seal = Reversed()
    async with desk(store, FakeAgent(asks), allow_push_private=True, seal=seal) as there:
        asked = await pushed(there, PushConfig(f"{receiver.base}/hook", "c1", token="tok"))
        await receiver.changes.until(lambda: receiver.told("/hook")[-1:] == ["input-required"])
        seal.is_broken, told = True, receiver.requests
        (shown,) = await there.tasks.pushes(ANN, asked.id)
        await there.tasks.cancel(ANN, asked.id)
        await until(lambda: "secret_key" in str(there.world.events.of("delivery.attempted")))

        assert (shown.url, shown.token, receiver.requests) == (f"{receiver.base}/hook", "", told)
        again = await there.tasks.set_push(ANN, PushConfig(f"{receiver.base}/hook", "c1", asked.id, token="new"))
        assert again.token == "new"


async def test_a_task_has_only_so_many_configs(store: Store) -> None:
    async with desk(store, FakeAgent(works)) as there:
        done = await there.send("hello")
        for n in range(10):
            await there.tasks.set_push(ANN, PushConfig(EXAMPLE.url, str(n), done.id))

        with pytest.raises(PushRefused, match="at most 10"):
            await there.tasks.set_push(ANN, PushConfig(EXAMPLE.url, "another", done.id))


async def test_a_dropped_config_is_told_no_more(store: Store, receiver: PushReceiver) -> None:
    gate = asyncio.Event()

    async def slowly(ask: Ask) -> AsyncIterator[TaskEvent]:
        await gate.wait()
        async for event in works(ask):
            yield event

    async with desk(store, FakeAgent(slowly), allow_push_private=True) as there:
        first = await there.send("hello", waits=False)
        made = await there.tasks.set_push(ANN, PushConfig(f"{receiver.base}/hook", task_id=first.id))
        await there.tasks.drop_push(ANN, first.id, made.id)
        gate.set()
        await until(lambda: is_over(there, first.id))

        assert (receiver.requests, await store.lanes()) == (0, [])


BEN = Caller("a2a:desk:ben", "ben")
ONLY_BEN = A2AServerSettings.model_validate(
    {"agent": "agent", "callers": [{"name": "ben", "key": "a-key-of-a-caller-0"}], "push": True}
)


@pytest.mark.case("T92")
async def test_a_caller_that_is_let_in_no_more_is_told_nothing_more_not_even_what_is_queued(store: Store) -> None:
    gate = asyncio.Event()

    async def slowly(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield status(ask, TaskState.WORKING, "thinking")
        await gate.wait()
        yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?")

    async with (
        PushReceiver() as gone,
        PushReceiver() as stays,
        desk(store, FakeAgent(slowly), allow_push_private=True) as there,
    ):
        gone.statuses.extend([503] * 100)
        first, other = [
            await there.tasks.send(
                caller, Send(there.message("hello"), push=PushConfig(f"{receiver.base}/hook"), waits=False)
            )
            for caller, receiver in ((ANN, gone), (BEN, stays))
        ]
        assert isinstance(first, ServedTask)
        assert isinstance(other, ServedTask)
        await gone.changes.until(lambda: gone.requests)
        there.plugin.change(ONLY_BEN)
        requests = gone.requests
        gate.set()
        await stays.changes.until(lambda: stays.told("/hook")[-1:] == ["input-required"])
        (target,) = await store.targets_of(first.id)
        await until(lambda: is_empty(store, target.conversation))
        await there.tasks.cancel(ANN, first.id)
        await there.tasks.cancel(BEN, other.id)

        await stays.changes.until(lambda: stays.told("/hook")[-1:] == ["canceled"])
        assert gone.requests - requests <= 1  # one that was on its way
        assert "its caller is not let in any more" in str(there.world.events.of("delivery.attempted"))
        assert target.conversation not in [lane for lane, _ in await store.lanes()]


async def is_over(there: Desk, task_id: str) -> bool:
    return (await there.tasks.get(ANN, task_id)).state.is_terminal
