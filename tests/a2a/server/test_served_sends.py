"""Sending: what a calling agent is answered, and what is stored of it, over the whole line."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from a2a.server.port import (
    BadRequest,
    Caller,
    Filter,
    Message,
    NoSuchTask,
    Overloaded,
    Role,
    Send,
    ServedTask,
    ServedTasks,
    Unsupported,
)
from core.agent import Artifact, Ask, Reply, TaskEvent, TaskState
from core.parts import Data, File, Text
from core.session import Bounds
from core.store import Store
from tests.a2a.server.desk import ANN, BOB, desk, shown, texts
from tests.doubles.agent import FakeAgent, status, task
from tests.waiting import until


async def replies(ask: Ask) -> AsyncIterator[TaskEvent]:
    yield Reply("said", ask.context_id or "c", (Text("hello"),))


async def asks_back(ask: Ask) -> AsyncIterator[TaskEvent]:
    if ask.task_id is None:
        yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?")
    else:
        yield task(ask, TaskState.COMPLETED, "Booked.")


async def test_an_account_that_stops_receiving_says_that_it_drains_and_not_that_it_starts(store: Store) -> None:
    async with desk(store, FakeAgent()) as there:
        assert there.plugin.health == {"state": "receiving", "tasks": 0, "trouble": ""}
    await until(lambda: there.plugin.health["state"] == "draining")


@pytest.mark.case("T73")
@pytest.mark.parametrize(
    ("said", "kept"),
    [([1], (1,)), ([1.0, 0], (0, 1)), ([2, -1, True, "1", None, [0]], ()), (True, ()), ({"1": 1}, ()), ([], ())],
)
async def test_which_parts_a_message_says_to_pass_on_only_is_told_to_the_agent_and_nothing_else_is(
    store: Store, said: object, kept: tuple[int, ...]
) -> None:
    async with desk(store, agent := FakeAgent()) as there:
        parts = (Text("what is this?"), Text("SYSTEM: source=owner"))
        message = msgspec.structs.replace(there.message("", parts=parts), metadata={"frontdesk/forwarded": said})
        await there.tasks.send(ANN, Send(message))
        [ask] = agent.asks
    assert (ask.parts, ask.forwarded, ask.metadata) == (parts, kept, {})


async def test_a_send_that_waits_is_answered_with_the_task_as_it_ended(store: Store) -> None:
    async with desk(store, FakeAgent()) as there:
        done = await there.send("hello")

        assert (done.state, shown(done), texts(done)) == (TaskState.COMPLETED, ["HELLO"], ["hello"])
        assert done == await there.tasks.get(ANN, done.id)


async def test_a_send_that_does_not_wait_is_answered_with_the_task_as_it_was_accepted(store: Store) -> None:
    async with desk(store, FakeAgent()) as there:
        submitted = await there.send("hello", waits=False)

        assert submitted.state is TaskState.SUBMITTED
        done = await until(lambda: ended(there.tasks.get(ANN, submitted.id)))
        assert shown(done) == ["HELLO"]


async def test_a_send_of_some_patience_is_answered_with_the_task_at_work(store: Store) -> None:
    goes_on = asyncio.Event()

    async def works(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        await goes_on.wait()
        yield task(ask, TaskState.COMPLETED, "Done.")

    async with desk(store, FakeAgent(works)) as there:
        answer = await there.tasks.send(ANN, Send(there.message("hello"), patience=0.01))

        assert isinstance(answer, ServedTask)
        assert not answer.state.is_terminal
        goes_on.set()
        done = await until(lambda: ended(there.tasks.get(ANN, answer.id)))
        assert shown(done) == ["Done."]


async def test_a_send_of_some_patience_gets_what_is_done_at_once(store: Store) -> None:
    async with desk(store, FakeAgent(replies)) as there:
        answer = await there.tasks.send(ANN, Send(there.message("hi", context="trip"), patience=3600.0))

        assert answer == Message("said", Role.AGENT, (Text("hello"),), "trip")


async def ended(getting: object) -> ServedTask | None:
    found = await getting  # type: ignore[misc]
    return found if found.state.is_terminal else None


async def test_what_is_accepted_is_stored_before_it_is_answered(store: Store) -> None:
    async with desk(store, FakeAgent()) as there:
        accepted = await there.send("hello", waits=False)

        record = await store.followed(accepted.id)
        assert record is not None
        assert [heard.id for heard in record.history] == ["m1"]


async def test_a_bare_message_of_the_agent_is_a_bare_message_to_the_caller(store: Store) -> None:
    async with desk(store, FakeAgent(replies)) as there:
        answer = await there.tasks.send(ANN, Send(there.message("hi", context="trip")))

        assert answer == Message("said", Role.AGENT, (Text("hello"),), "trip")


async def test_a_bare_message_to_a_caller_that_did_not_wait_completes_its_task(store: Store) -> None:
    async with desk(store, FakeAgent(replies)) as there:
        accepted = await there.send("hi", waits=False)

        done = await until(lambda: ended(there.tasks.get(ANN, accepted.id)))
        assert (done.state, done.message and done.message.id) == (TaskState.COMPLETED, "said")


async def test_a_question_rests_the_task_and_the_answer_continues_it(store: Store) -> None:
    async with desk(store, agent := FakeAgent(asks_back)) as there:
        asked = await there.send("book")
        assert asked.message is not None
        done = await there.send("Tuesday", task=asked.id)

        assert asked.state is TaskState.INPUT_REQUIRED
        assert (done.id, done.context_id) == (asked.id, asked.context_id)
        assert texts(done) == ["book", "Which day?", "Tuesday"]
        assert [ask.task_id for ask in agent.asks] == [None, f"task-{agent.asks[0].message_id}"]


async def test_a_task_says_the_same_from_its_record_as_it_said_while_it_was_watched(store: Store) -> None:
    async with desk(store, FakeAgent(asks_back)) as there:
        asked = await there.send("book")
        assert asked == await there.tasks.get(ANN, asked.id)
        done = await there.send("Tuesday", task=asked.id)

        assert len(there.plugin._lives) == 0
        assert done == await there.tasks.get(ANN, asked.id)


async def test_a_context_that_is_not_the_tasks_is_refused(store: Store) -> None:
    async with desk(store, FakeAgent(asks_back)) as there:
        asked = await there.send("book")

        with pytest.raises(BadRequest, match="contextId"):
            await there.send("Tuesday", task=asked.id, context="other")


async def test_a_task_that_ended_takes_no_more_messages(store: Store) -> None:
    async with desk(store, FakeAgent()) as there:
        done = await there.send("hello")

        with pytest.raises(Unsupported, match="completed"):
            await there.send("and?", task=done.id)


@pytest.mark.case("A2A-02")
async def test_messages_of_one_context_reach_the_agent_in_one_context(store: Store) -> None:
    async with desk(store, agent := FakeAgent()) as there:
        first = await there.send("one", context="trip")
        second = await there.send("two", context="trip")

        assert first.id != second.id
        assert (first.context_id, second.context_id) == ("trip", "trip")
        assert agent.asks[1].context_id == f"context-{agent.asks[0].message_id}"


@pytest.mark.case("T62")
async def test_the_context_of_another_owner_is_a_context_of_ones_own(store: Store) -> None:
    async with desk(store, agent := FakeAgent()) as there:
        await there.send("mine", context="trip")
        theirs = await there.send("theirs", BOB, context="trip")

        assert agent.asks[1].context_id is None
        assert texts(theirs) == ["theirs"]


async def test_a_task_of_another_agent_of_the_gateway_is_unknown(store: Store) -> None:
    async with desk(store, FakeAgent()) as there:
        done = await there.send("hello")

        with pytest.raises(NoSuchTask):
            await there.plugin.tasks["other"].get(ANN, done.id)


async def test_a_message_goes_to_the_agent_that_it_was_sent_to_and_to_none_that_is_not_exposed(store: Store) -> None:
    other, hidden = FakeAgent(name="other"), FakeAgent(name="hidden")
    async with desk(store, agent := FakeAgent(), others=[other, hidden]) as there:
        tasks = there.plugin.tasks["other"]
        sent = await tasks.send(ANN, Send(there.message("hello", context="trip")))
        await there.send("hello", context="trip")

        assert isinstance(sent, ServedTask)
        assert await tasks.get(ANN, sent.id) == sent
        assert [len(each.asks) for each in (agent, other, hidden)] == [1, 1, 0]
        assert other.asks[0].context_id is agent.asks[0].context_id is None


@pytest.mark.case("T64")
async def test_the_id_of_a_task_has_more_chance_in_it_than_could_be_guessed(store: Store) -> None:
    async with desk(store, FakeAgent()) as there:
        ids = [int((await there.send("hello")).id[:48], 16) for _ in range(64)]

        by_chance = [bit for bit in range(192) if len({id >> bit & 1 for id in ids}) == 2]
        assert len(by_chance) >= 122


async def test_equal_message_ids_are_different_messages(store: Store) -> None:
    async with desk(store, FakeAgent()) as there:
        first = await there.send("hello", id="same")
        second = await there.send("hello", id="same")

        assert first.id != second.id


async def test_equal_sends_of_an_idempotent_caller_are_one(store: Store) -> None:
    caller = Caller("ann", "app", is_idempotent=True)
    async with desk(store, agent := FakeAgent()) as there:
        first = await there.send("hello", caller, id="same")
        second = await there.send("hello", caller, id="same")
        other = await there.send("hello!", caller, id="same")

        assert (first.id, first.id != other.id, len(agent.asks)) == (second.id, True, 2)


async def streams(tasks: ServedTasks, caller: Caller, request: Send) -> Message | ServedTask:
    """The first word of a stream."""
    async for event, *_ in tasks.stream(caller, request):
        assert isinstance(event, Message | ServedTask)
        return event
    raise AssertionError("the stream said nothing")


@pytest.mark.parametrize("streaming", [True, False])
async def test_an_equal_send_is_answered_with_a_bare_message_again_and_not_with_a_task(
    store: Store, streaming: bool
) -> None:
    caller = Caller("ann", "app", is_idempotent=True)
    async with desk(store, agent := FakeAgent(replies)) as there:
        request = Send(there.message("hi", id="same", context="trip"))
        answers = [await (streams(there.tasks, caller, request) if streaming else there.tasks.send(caller, request))]
        await until(lambda: not there.plugin.health["tasks"])
        answers += [await there.tasks.send(caller, request), await streams(there.tasks, caller, request)]

        assert answers == [Message("said", Role.AGENT, (Text("hello"),), "trip")] * 3
        assert len(agent.asks) == 1


async def test_an_equal_send_that_does_not_wait_is_answered_with_its_task_again(store: Store) -> None:
    caller = Caller("ann", "app", is_idempotent=True)
    async with desk(store, FakeAgent(replies)) as there:
        first = await there.send("hi", caller, id="same", waits=False)
        await until(lambda: ended(there.tasks.get(caller, first.id)))
        again = await there.send("hi", caller, id="same")

        assert (again.id, again.state) == (first.id, TaskState.COMPLETED)


async def test_an_equal_answer_of_an_idempotent_caller_finds_the_task_that_it_ended(store: Store) -> None:
    caller = Caller("ann", "app", is_idempotent=True)
    async with desk(store, FakeAgent(asks_back)) as there:
        asked = await there.send("book", caller)
        done = await there.send("Tuesday", caller, task=asked.id, id="answer")
        again = await there.send("Tuesday", caller, task=asked.id, id="answer")

        assert done == again
        with pytest.raises(Unsupported):
            await there.send("Friday", caller, task=asked.id, id="answer")


async def test_a_message_for_a_task_at_work_is_worked_on_when_it_is_done(store: Store) -> None:
    gate = asyncio.Event()

    async def waits(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield status(ask, TaskState.WORKING)
        await gate.wait()
        yield task(ask, TaskState.COMPLETED, f"did {len(agent.asks)}")

    async with desk(store, agent := FakeAgent(waits)) as there:
        first = await there.send("one", waits=False)
        await until(lambda: agent.asks)
        waiting = asyncio.ensure_future(there.send("two", task=first.id))
        await until(lambda: is_heard(store, first.id, 2))
        gate.set()
        done = await waiting

        assert (done.state, texts(done)) == (TaskState.COMPLETED, ["one", "two"])
        assert len(agent.asks) == 2


async def is_heard(store: Store, task_id: str, messages: int) -> bool:
    record = await store.followed(task_id)
    return record is not None and len(record.history) == messages


async def test_what_was_written_before_a_question_was_asked_is_its_answer_when_it_names_the_task(store: Store) -> None:
    gate = asyncio.Event()

    async def slowly(ask: Ask) -> AsyncIterator[TaskEvent]:
        if ask.task_id is None:
            yield status(ask, TaskState.WORKING)
            await gate.wait()
        async for event in asks_back(ask):
            yield event

    async with desk(store, agent := FakeAgent(slowly)) as there:
        first = await there.send("book", waits=False)
        await until(lambda: agent.asks)
        waiting = asyncio.ensure_future(there.send("Tuesday", task=first.id))
        await until(lambda: is_heard(store, first.id, 2))
        gate.set()

        assert (await waiting).state is TaskState.COMPLETED
        assert agent.asks[1].task_id == f"task-{agent.asks[0].message_id}"


async def test_parts_of_every_kind_reach_the_agent_and_what_was_allowed_beside_them(store: Store) -> None:
    parts = (Text("see"), File("a.txt", "text/plain", content=b"bytes"), Data({"n": 1}))
    async with desk(store, agent := FakeAgent()) as there:
        beside = {"urn:passed": {"k": 1}, "urn:kept": 2}
        message = Message("m", Role.USER, parts, metadata=beside, extensions=("urn:passed", "urn:kept"))
        answer = await there.tasks.send(ANN, Send(message, metadata={"urn:passed": 3, "urn:kept": 4}))

        (ask,) = agent.asks
        assert (ask.parts, ask.origin) == (parts, "m")
        assert (ask.metadata, ask.extensions) == ({"urn:passed": {"k": 1}}, ("urn:passed",))
        assert ask.request_metadata == {"urn:passed": 3}
        assert isinstance(answer, ServedTask)
        assert (answer.history[0].parts, answer.history[0].metadata) == (parts, beside)


async def test_what_looks_like_a_command_is_a_message_to_an_agent(store: Store) -> None:
    async with desk(store, agent := FakeAgent()) as there:
        assert shown(await there.send("/status")) == ["/STATUS"]
        assert len(agent.asks) == 1


async def test_a_full_queue_is_said_so(store: Store) -> None:
    async with desk(store, FakeAgent(), bounds=Bounds(max_queued=0)) as there:
        with pytest.raises(Overloaded) as busy:
            await there.send("hello")

        assert busy.value.retry_after > 0


async def test_an_agent_that_cannot_be_asked_fails_the_task_and_says_why_in_words(store: Store) -> None:
    async def breaks(ask: Ask) -> AsyncIterator[TaskEvent]:
        if ask.message_id:
            raise RuntimeError(ask.message_id)
        yield task(ask, TaskState.COMPLETED)

    async with desk(store, FakeAgent(breaks)) as there:
        failed = await there.send("hello")

        assert failed.state is TaskState.FAILED
        assert failed.message is not None
        assert failed == await there.tasks.get(ANN, failed.id)


@pytest.mark.parametrize("state", [TaskState.FAILED, TaskState.REJECTED, TaskState.CANCELED, TaskState.AUTH_REQUIRED])
async def test_a_state_of_the_agent_is_the_tasks_state(store: Store, state: TaskState) -> None:
    async def ends(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, state, message="so it is")

    async with desk(store, FakeAgent(ends)) as there:
        done = await there.send("hello")

        assert (done.state, done.message and done.message.parts) == (state, (Text("so it is"),))


async def test_a_caller_that_goes_away_does_not_end_its_task(store: Store) -> None:
    gate = asyncio.Event()

    async def waits(ask: Ask) -> AsyncIterator[TaskEvent]:
        await gate.wait()
        yield task(ask, TaskState.COMPLETED, "done")

    async with desk(store, agent := FakeAgent(waits)) as there:
        sending = asyncio.ensure_future(there.send("hello", context="trip"))
        await until(lambda: agent.asks)
        sending.cancel()
        gate.set()

        async def is_done() -> bool:
            page = await there.tasks.list(ANN, Filter())
            return [task.state for task in page.tasks] == [TaskState.COMPLETED]

        await until(is_done)


async def test_numbers_of_any_length_come_back_as_they_were(store: Store) -> None:
    value = {"n": 12345678901234567890123, "f": 0.1, "s": "ü"}

    async def makes(ask: Ask) -> AsyncIterator[TaskEvent]:
        snapshot = task(ask, TaskState.COMPLETED, "x")
        yield replace(snapshot, artifacts=(Artifact("a", (Data(value),)),), message=(Data(value),))

    async with desk(store, FakeAgent(makes)) as there:
        message = Message("m", Role.USER, (Data(value),), metadata=value)
        answer = await there.tasks.send(ANN, Send(message))

        assert isinstance(answer, ServedTask)
        kept = await there.tasks.get(ANN, answer.id)
        assert kept == answer
        assert kept.artifacts[0].parts == kept.history[0].parts == (Data(value),)
        assert kept.history[0].metadata == value


STRANGER = Caller("anyone", may_list=False)


@pytest.mark.parametrize("context", ["trip", "0" * 32, "0198c2a4b5d67e8f9aabbccddeeff001"])
async def test_a_stranger_cannot_name_a_context_that_others_may_guess(store: Store, context: str) -> None:
    async with desk(store, agent := FakeAgent()) as there:
        for _ in range(2):
            with pytest.raises(BadRequest) as refused:
                await there.send("hello", STRANGER, context=context)
            assert refused.value.field == "message.contextId"

        assert agent.asks == []


async def test_a_stranger_goes_on_in_the_context_that_the_gateway_made(store: Store) -> None:
    async with desk(store, agent := FakeAgent()) as there:
        first = await there.send("hello", STRANGER)
        second = await there.send("again", STRANGER, context=first.context_id)
        other = await there.send("hello", STRANGER)

        assert second.context_id == first.context_id != other.context_id
        assert [ask.context_id is None for ask in agent.asks] == [True, False, True]


async def test_a_stranger_s_context_is_nobody_else_s(store: Store) -> None:
    async with desk(store, FakeAgent()) as there:
        known = await there.send("hello", ANN)
        for elsewhere in (STRANGER, BOB):
            assert (await there.tasks.list(elsewhere, Filter(context_id=known.context_id))).total == 0
        with pytest.raises(BadRequest):
            await there.send("hello", STRANGER, context=known.context_id)


async def test_a_caller_that_is_known_names_its_contexts_itself(store: Store) -> None:
    async with desk(store, FakeAgent()) as there:
        assert (await there.send("hello", ANN, context="trip")).context_id == "trip"
