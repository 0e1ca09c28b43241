"""A slow, silent or flooding agent costs a bounded wait and bounded memory, and only its own."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from core.agent import StatusUpdate, TaskRef, TaskState
from core.errors import NotAccepted, OutcomeUnknown, TaskUnknown, Unreachable
from tests.a2a.asking import ask, failure, heard, ref_of
from tests.a2a.conftest import Connect
from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_events import Event, completed, raw_bytes, working
from tests.fakes.agent_rpc import endless_line, huge_body
from tests.fakes.agent_scripts import Call, events, silent_until, working_until
from tests.fakes.scripting import delay, hang_after_accepting, hang_before

SHORT = 0.2  # seconds; long enough for a loopback call, short enough to wait for
MEMORY = 24 << 20  # bytes; far below the 100 MiB that are sent


@pytest.mark.case("F11")
@pytest.mark.parametrize("streaming", [True, False])
async def test_a_send_that_is_never_answered_ends_in_nobody_knows(connect: Connect, streaming: bool) -> None:
    async with ScriptedAgent(streaming=streaming) as agent:
        remote = connect(agent.card_url, send_timeout=SHORT)
        agent.fault("*", respond=hang_after_accepting(), after=1)
        assert isinstance(await failure(remote.send(ask())), OutcomeUnknown)
        assert agent.message_counts == {"m-1": 1}


@pytest.mark.case("F11")
async def test_reads_have_a_deadline_of_their_own(connect: Connect) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url, read_timeout=SHORT)
        agent.fault("GetTask", respond=hang_before())
        agent.fault("CancelTask", respond=hang_before())
        assert isinstance(await failure(remote.get(TaskRef("t", "c"))), Unreachable)
        assert isinstance(await failure(remote.cancel(TaskRef("t", "c"))), Unreachable)


@pytest.mark.case("F11")
async def test_only_so_many_calls_are_under_way_and_each_gives_its_place_back(connect: Connect) -> None:
    gate = asyncio.Event()
    async with ScriptedAgent(streaming=False) as agent:
        remote = connect(agent.card_url, max_calls=3)
        await remote.discover()
        agent.fault("SendMessage", respond=delay(gate), times=None)
        async with asyncio.TaskGroup() as group:
            for number in range(100):
                group.create_task(heard(remote.send(ask(message_id=f"m-{number}"))))
            await agent.wait_for_calls("SendMessage", 3)
            assert isinstance(await failure(connect(agent.card_url).get(TaskRef("t", "c"))), TaskUnknown)
            assert len(agent.calls_of("SendMessage")) == 3
            gate.set()
    assert len(agent.message_counts) == 100


@pytest.mark.case("F11")
async def test_whoever_waits_too_long_for_a_place_was_not_sent(connect: Connect) -> None:
    async with ScriptedAgent(streaming=False) as agent:
        remote = connect(agent.card_url, max_calls=1, send_timeout=1.0, read_timeout=SHORT)
        await remote.discover()
        agent.fault("SendMessage", respond=hang_before(), times=None)
        async with asyncio.TaskGroup() as group:
            first = group.create_task(failure(remote.send(ask(message_id="m-1"))))
            await agent.wait_for_calls("SendMessage")
            assert isinstance(await failure(remote.get(TaskRef("t", "c"))), Unreachable)
        assert isinstance(first.result(), OutcomeUnknown)
    assert agent.calls_of("GetTask") == []


async def test_when_all_streams_are_taken_a_message_goes_without_one(connect: Connect) -> None:
    gate = asyncio.Event()
    async with ScriptedAgent(working_until(gate)) as agent:
        remote = connect(agent.card_url, max_streams=1)
        listened = remote.send(ask(message_id="m-1"))
        await anext(listened)
        [said] = await heard(remote.send(ask(message_id="m-2")))
        assert isinstance(await failure(remote.subscribe(ref_of(said))), Unreachable)
        assert [call.message_id for call in agent.calls_of("SendMessage")] == ["m-2"]
        await listened.aclose()
        assert ref_of(await anext(remote.subscribe(ref_of(said)))) == ref_of(said)


@pytest.mark.case("F12")
async def test_a_stream_that_falls_silent_is_a_cut_road(connect: Connect) -> None:
    async with ScriptedAgent(working_until(asyncio.Event())) as agent:
        said = connect(agent.card_url, idle_timeout=SHORT).send(ask())
        await anext(said)
        assert isinstance(await failure(said), Unreachable)
        assert not agent.only_task.is_terminal


@pytest.mark.case("F12")
async def test_a_stream_that_is_silent_from_the_first_leaves_nobody_knowing(connect: Connect) -> None:
    async with ScriptedAgent(silent_until(asyncio.Event())) as agent:
        error = await failure(connect(agent.card_url, idle_timeout=SHORT).send(ask()))
    assert isinstance(error, OutcomeUnknown)


@pytest.mark.case("A2A-20")
async def test_heartbeats_keep_a_stream_alive_beyond_every_other_limit(connect: Connect) -> None:
    """A stream without them, begun later under the same limits, is given up while this one goes on."""
    is_given_up = asyncio.Event()

    async def beats(_: Call) -> AsyncIterator[Event]:
        yield working()
        while not is_given_up.is_set():
            yield raw_bytes(b": ping\n\n")
            with suppress(TimeoutError):
                await asyncio.wait_for(is_given_up.wait(), SHORT / 20)
        yield completed()

    limits = {"idle_timeout": 2 * SHORT, "send_timeout": SHORT, "read_timeout": SHORT}
    async with ScriptedAgent(beats) as agent, ScriptedAgent(working_until(asyncio.Event())) as still:
        said = connect(agent.card_url, **limits).send(ask())
        await anext(said)
        assert isinstance(await failure(connect(still.card_url, **limits).send(ask())), Unreachable)
        is_given_up.set()
        last = (await heard(said))[-1]
    assert isinstance(last, StatusUpdate)
    assert last.state is TaskState.COMPLETED


@pytest.mark.case("F14")
@pytest.mark.parametrize("streaming", [True, False])
async def test_a_huge_body_is_cut_at_the_limit(connect: Connect, streaming: bool) -> None:
    async with ScriptedAgent(streaming=streaming) as agent:
        remote = connect(agent.card_url, max_body=1 << 20)
        await remote.discover()
        agent.fault("*", respond=huge_body(), times=None)
        tracemalloc.start()
        try:
            assert isinstance(await failure(remote.send(ask())), OutcomeUnknown)
            assert isinstance(await failure(remote.get(TaskRef("t", "c"))), Unreachable)
            assert tracemalloc.get_traced_memory()[1] < MEMORY
        finally:
            tracemalloc.stop()


@pytest.mark.case("F14")
async def test_an_event_without_end_is_cut_at_the_limit(connect: Connect) -> None:
    async with ScriptedAgent() as agent:
        agent.fault("SendStreamingMessage", respond=endless_line())
        error = await failure(connect(agent.card_url, max_event=1 << 20).send(ask()))
    assert isinstance(error, OutcomeUnknown)
    assert "max_event" in str(error)


@pytest.mark.case("F14")
async def test_a_large_event_within_the_limit_comes_through_whole(connect: Connect) -> None:
    async with ScriptedAgent(events(working("x" * 900_000), completed())) as agent:
        said = await heard(connect(agent.card_url).send(ask()))
    assert len(said) == 3


async def test_a_slow_agent_delays_no_other(connect: Connect) -> None:
    async with ScriptedAgent(streaming=False) as slow, ScriptedAgent() as quick:
        stuck = connect(slow.card_url, max_calls=1, send_timeout=1.0)
        slow.fault("SendMessage", respond=hang_before(), times=None)
        async with asyncio.TaskGroup() as group:
            first = group.create_task(failure(stuck.send(ask(message_id="m-1"))))
            second = group.create_task(failure(stuck.send(ask(message_id="m-2"))))
            await slow.wait_for_calls("SendMessage")
            assert await heard(connect(quick.card_url).send(ask()))
    assert {type(first.result()), type(second.result())} <= {OutcomeUnknown, NotAccepted}
