"""Streams: what every reader of a task hears, in which order, and when it ends."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from a2a.server.port import Message, Send, ServedEvent, ServedTask, StatusChange, Unsupported
from a2a.server.served_live import READER_BOUND, Live, Reader
from core.agent import Artifact, ArtifactUpdate, Ask, Reply, StatusUpdate, TaskEvent, TaskState
from core.parts import Attached, Text
from core.store import Store
from tests.a2a.server.desk import ANN, Desk, desk, each, lines, shown
from tests.doubles.agent import FakeAgent, context, status, task, task_id
from tests.waiting import until


def chunk(ask: Ask, text: str, *, id: str = "a1", append: bool = False, last: bool = False) -> ArtifactUpdate:
    return ArtifactUpdate(task_id(ask), context(ask), Artifact(id, (Text(text),)), append=append, last=last)


class Slow:
    """An agent that says one event for each word it is given leave to."""

    def __init__(self) -> None:
        self.words: asyncio.Queue[TaskEvent | None] = asyncio.Queue()
        self.ask: Ask | None = None

    async def __call__(self, ask: Ask) -> AsyncIterator[TaskEvent]:
        self.ask = ask
        while (event := await self.words.get()) is not None:
            yield event


async def streamed(there: Desk, text: str = "hello", *, task: str = "") -> list[ServedEvent]:
    return [event async for event in each(there.tasks.stream(ANN, Send(there.message(text, task=task))))]


async def test_a_stream_is_the_task_and_then_what_happens_to_it(store: Store) -> None:
    async def works(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield status(ask, TaskState.WORKING)
        yield status(ask, TaskState.WORKING, "thinking")
        yield chunk(ask, "Hel")
        yield chunk(ask, "lo", append=True, last=True)
        yield task(ask, TaskState.COMPLETED, "Hello")

    async with desk(store, FakeAgent(works)) as there:
        events = await streamed(there)

        assert lines(events) == ["submitted", "working", "working", "Hel", "lo", "completed"]
        assert {event.id if isinstance(event, ServedTask) else event.task_id for event in events} == {there_id(events)}
        assert shown(await there.tasks.get(ANN, there_id(events))) == ["Hello"]


def there_id(events: list[ServedEvent]) -> str:
    assert isinstance(events[0], ServedTask)
    return events[0].id


async def test_chunks_are_passed_on_as_they_come(store: Store) -> None:
    async with desk(store, FakeAgent(slow := Slow())) as there:
        stream = each(there.tasks.stream(ANN, Send(there.message("hello"))))
        reading = asyncio.ensure_future(anext(stream))
        ask = await until(lambda: slow.ask)
        slow.words.put_nowait(status(ask, TaskState.WORKING))
        slow.words.put_nowait(chunk(ask, "Hel"))
        events = [await reading, await anext(stream), await anext(stream)]
        slow.words.put_nowait(chunk(ask, "lo", append=True))
        events.append(await anext(stream))

        update = events[3]
        assert lines(events) == ["submitted", "working", "Hel", "lo"]
        assert isinstance(update, ArtifactUpdate)
        assert update.append


async def test_a_bare_message_is_the_only_event_of_its_stream(store: Store) -> None:
    async def replies(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield Reply("said", "c", (Text("hello"),))

    async with desk(store, FakeAgent(replies)) as there:
        (event,) = await streamed(there)

        assert isinstance(event, Message)
        assert (event.id, event.task_id) == ("said", "")


async def test_a_stream_ends_when_the_task_asks(store: Store) -> None:
    async def asks(ask: Ask) -> AsyncIterator[TaskEvent]:
        state = TaskState.INPUT_REQUIRED if ask.task_id is None else TaskState.COMPLETED
        yield task(ask, state, message="so")

    async with desk(store, FakeAgent(asks)) as there:
        events = await streamed(there)
        more = await streamed(there, "Tuesday", task=there_id(events))

        assert lines(events) == ["submitted", "working", "input-required"]
        assert lines(more) == ["input-required", "working", "completed"]


async def test_every_reader_hears_the_same_in_the_same_order(store: Store) -> None:
    async with desk(store, FakeAgent(slow := Slow())) as there:
        first = await there.send("hello", waits=False)
        readers = [each(there.tasks.subscribe(ANN, first.id)) for _ in range(3)]
        begun = [await anext(reader) for reader in readers]
        reading = [asyncio.ensure_future(rest(reader)) for reader in readers]
        ask = await until(lambda: slow.ask)
        slow.words.put_nowait(status(ask, TaskState.WORKING, "busy"))
        for n in range(20):
            slow.words.put_nowait(chunk(ask, f"{n} ", append=n > 0))
        slow.words.put_nowait(task(ask, TaskState.COMPLETED, "".join(f"{n} " for n in range(20))))
        heard = await asyncio.gather(*reading)

        assert len(begun) == 3
        assert heard[0] == heard[1] == heard[2]
        assert lines(heard[0])[-1] == "completed"


async def rest(stream: AsyncIterator[ServedEvent]) -> list[ServedEvent]:
    return [event async for event in stream]


async def test_whoever_subscribes_begins_with_the_whole_task_and_misses_nothing_after_it(store: Store) -> None:
    async with desk(store, FakeAgent(slow := Slow())) as there:
        first = await there.send("hello", waits=False)
        ask = await until(lambda: slow.ask)
        slow.words.put_nowait(chunk(ask, "Hel"))
        await until(lambda: has_artifact(there, first.id))
        stream = each(there.tasks.subscribe(ANN, first.id))
        whole = await anext(stream)
        slow.words.put_nowait(chunk(ask, "lo", append=True, last=True))
        added = await anext(stream)

        assert isinstance(whole, ServedTask)
        assert (shown(whole), lines([added])) == (["Hel"], ["lo"])


async def has_artifact(there: Desk, task_id: str) -> bool:
    return bool((await there.tasks.get(ANN, task_id)).artifacts)


async def test_a_subscription_of_a_task_that_asks_stays_open_and_hears_the_answer_worked_on(store: Store) -> None:
    async def asks(ask: Ask) -> AsyncIterator[TaskEvent]:
        state = TaskState.INPUT_REQUIRED if ask.task_id is None else TaskState.COMPLETED
        yield task(ask, state, message="so")

    async with desk(store, FakeAgent(asks)) as there:
        asked = await there.send("book")
        stream = each(there.tasks.subscribe(ANN, asked.id))
        whole = await anext(stream)
        listening = asyncio.ensure_future(rest(stream))
        await there.send("Tuesday", task=asked.id)

        assert whole == asked
        assert lines(await listening) == ["working", "completed"]


async def test_a_task_that_ended_cannot_be_subscribed_to(store: Store) -> None:
    async with desk(store, FakeAgent()) as there:
        done = await there.send("hello")

        with pytest.raises(Unsupported, match="completed"):
            await anext(each(there.tasks.subscribe(ANN, done.id)))


async def test_leaving_a_stream_changes_nothing_for_others_or_for_the_task(store: Store) -> None:
    async with desk(store, FakeAgent(slow := Slow())) as there:
        first = await there.send("hello", waits=False)
        leaving, staying = each(there.tasks.subscribe(ANN, first.id)), each(there.tasks.subscribe(ANN, first.id))
        await anext(leaving)
        await anext(staying)
        await leaving.aclose()  # type: ignore[attr-defined]
        ask = await until(lambda: slow.ask)
        slow.words.put_nowait(task(ask, TaskState.COMPLETED, "done"))

        assert lines(await rest(staying))[-1] == "completed"


async def test_a_reader_that_falls_too_far_behind_is_cut_off() -> None:
    event = StatusChange("t", "c", TaskState.WORKING, 0.0)
    reader = Reader(event)
    for _ in range(READER_BOUND + 1):
        reader.put(event)

    assert not await reader.next()


async def test_what_waits_for_a_reader_comes_together() -> None:
    event = StatusChange("t", "c", TaskState.WORKING, 0.0)
    reader = Reader(event)
    reader.put(event)
    assert list(await reader.next()) == [event, event]

    coming = asyncio.ensure_future(reader.next())
    await asyncio.sleep(0)
    reader.put(event)
    assert list(await coming) == [event]


async def test_a_sealed_artifact_is_durable_before_it_is_told(store: Store) -> None:
    async with desk(store, FakeAgent(slow := Slow())) as there:
        first = await there.send("hello", waits=False)
        stream = each(there.tasks.subscribe(ANN, first.id))
        await anext(stream)
        ask = await until(lambda: slow.ask)
        slow.words.put_nowait(status(ask, TaskState.WORKING))
        slow.words.put_nowait(chunk(ask, "whole", last=True))
        heard = [event async for event in until_artifact(stream)]

        record = await store.followed(first.id)
        assert record is not None
        assert (lines(heard)[-1], [artifact.id for artifact in record.artifacts]) == ("whole", ["a1"])


async def until_artifact(stream: AsyncIterator[ServedEvent]) -> AsyncIterator[ServedEvent]:
    async for event in stream:
        yield event
        if isinstance(event, ArtifactUpdate):
            return


async def test_what_a_record_already_has_does_not_count_twice_when_it_is_read_late() -> None:
    from core.followed import Followed, Said, Step

    live = Live("t", "ann", "agent")
    live.observed((1, 1), Step(TaskState.WORKING, Said("s1", (Text("one"),))), 1.0, more=False)
    live.observed((1, 2), Step(TaskState.WORKING, Said("s2", (Text("two"),))), 2.0, more=False)
    said = Said("s1", (Text("one"),))
    live.load(Followed("t", "ann", "c", "agent", TaskState.WORKING, 1.0, said, False, (), (), (1, 1)))

    assert [message.id for message in live.task.history] == ["s1"]
    assert live.task.message is not None
    assert live.task.message.id == "s2"


async def test_a_chunk_that_adds_to_what_was_not_seen_is_told_as_the_whole() -> None:
    live = Live("t", "ann", "agent")
    live.begin("c", Message("m", "user", ()), 0.0)  # type: ignore[arg-type]
    reader = live.join()
    update = ArtifactUpdate("remote", "c", Artifact("a", (Text("lo"),)), append=True)
    live.chunk((1, 1), update, Artifact("a", (Text("Hello"),)))

    assert lines(await reader.next())[1:] == ["Hello"]


async def test_a_bare_end_is_told_only_when_the_whole_task_confirms_it(store: Store) -> None:
    async def ends(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield status(ask, TaskState.WORKING)
        agent.tasks[task_id(ask)] = task(ask, TaskState.COMPLETED, "whole")
        yield StatusUpdate(task_id(ask), context(ask), TaskState.COMPLETED)

    async with desk(store, agent := FakeAgent(ends)) as there:
        events = await streamed(there)

        assert lines(events) == ["submitted", "working", "whole", "completed"]


async def test_an_artifact_of_a_task_that_goes_on_is_not_called_complete(store: Store) -> None:
    async def works(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING, "1")
        yield chunk(ask, " 2", append=True)
        yield task(ask, TaskState.COMPLETED, "1 2")

    async with desk(store, FakeAgent(works)) as there:
        updates = [event for event in await streamed(there) if isinstance(event, ArtifactUpdate)]

        assert [(update.append, update.last) for update in updates] == [(False, False), (True, False)]


async def test_what_stands_beside_words_and_artifacts_is_in_every_event_and_in_the_record(store: Store) -> None:
    beside = Attached({"urn:a": 1}, ("urn:a",))

    async def works(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield replace(status(ask, TaskState.WORKING, "thinking"), attached=beside)
        for text in ("Hel", "lo"):
            made = chunk(ask, text, append=text == "lo", last=text == "lo")
            yield replace(made, artifact=replace(made.artifact, attached=beside))
        yield status(ask, TaskState.INPUT_REQUIRED, "Which day?")

    async with desk(store, FakeAgent(works)) as there:
        events = await streamed(there)
        [first] = [event for event in events if isinstance(event, ServedTask)]
        spoken = [event.message for event in events if isinstance(event, StatusChange) and event.message is not None]
        assert [(said.metadata, said.extensions) for said in spoken] == [({"urn:a": 1}, ("urn:a",)), ({}, ())]
        made = [event.artifact for event in events if isinstance(event, ArtifactUpdate)]
        assert [one.attached for one in made] == [beside] * len(made)
        await until(lambda: not there.plugin.health["tasks"])
        read = await there.tasks.get(ANN, first.id)

    assert [one.attached for one in read.artifacts] == [beside]
    assert [dict(said.metadata) for said in read.history[1:]] == [{"urn:a": 1}]


async def test_what_stands_beside_the_task_and_its_events_is_told_once_and_stays_in_the_record(store: Store) -> None:
    async def works(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield replace(status(ask, TaskState.WORKING), metadata={"urn:a": 1, "urn:b": None})
        yield replace(status(ask, TaskState.WORKING), metadata={"urn:a": 2})
        yield replace(status(ask, TaskState.WORKING), metadata={"urn:a": 2})
        yield replace(chunk(ask, "hello", last=True), metadata={"urn:c": 1})
        yield replace(task(ask, TaskState.INPUT_REQUIRED, "hello"), metadata={"urn:d": {"x": [1]}})

    async with desk(store, FakeAgent(works)) as there:
        events = await streamed(there)
        told = [event.metadata for event in events[1:] if isinstance(event, StatusChange | ArtifactUpdate)]
        await until(lambda: not there.plugin.health["tasks"])
        read = await there.tasks.get(ANN, there_id(events))

    assert told == [None, {"urn:a": 1, "urn:b": None}, {"urn:a": 2}, {"urn:c": 1}, {"urn:d": {"x": [1]}}]
    assert read.metadata == {"urn:a": 2, "urn:b": None, "urn:d": {"x": [1]}}


async def test_a_bare_end_does_not_lose_what_was_said_beside_it(store: Store) -> None:
    async def ends(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield status(ask, TaskState.WORKING)
        agent.tasks[task_id(ask)] = task(ask, TaskState.COMPLETED, "whole")
        yield StatusUpdate(task_id(ask), context(ask), TaskState.COMPLETED, metadata={"urn:cost": 3})

    async with desk(store, agent := FakeAgent(ends)) as there:
        last = (await streamed(there))[-1]

        assert isinstance(last, StatusChange)
        assert (last.state, last.metadata) == (TaskState.COMPLETED, {"urn:cost": 3})
