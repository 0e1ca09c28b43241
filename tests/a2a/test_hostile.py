"""A hostile or broken agent, over the real client and the whole line: one delivered result, or one honest state.

Whatever it does, nothing is said twice, nothing is invented, the memory stays bounded and the next message is answered.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest
from aiohttp import web

from tests.a2a.conftest import Connect
from tests.a2a.hostility import (
    ANSWER,
    BY_AGENT,
    DECLINED,
    EMPTY,
    FAILED,
    GIVEN_UP,
    LOST,
    NOT_LET_IN,
    SILENT,
    UNKNOWN,
    memory,
    outcomes_in,
)
from tests.doubles.agent import FakeAgent
from tests.doubles.store import MemoryStore
from tests.doubles.world import SOON, World, world
from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_events import (
    Event,
    artifact,
    artifact_parts,
    canceled,
    completed,
    end_stream,
    failed,
    only_stored,
    only_streamed,
    raw_bytes,
    task,
    with_ids,
    working,
)
from tests.fakes.agent_rpc import half_json, html_page, rpc_error, wrong_content_type
from tests.fakes.agent_scripts import Call
from tests.fakes.scripting import (
    Exchange,
    Respond,
    cut_after_accepting,
    cut_before,
    http_status,
)
from tests.waiting import until

MOST = 96 << 20  # bytes that the process may grow by, under 100 MB and more of what an agent sends
PATIENCE = replace(SOON, stale=1.0, look=0.3, give_up=0.5)
HURRY: dict[str, Any] = {"send_timeout": 1.0, "idle_timeout": 1.0, "read_timeout": 2.0, "max_event": 65_536}


@dataclass(frozen=True)
class Hostile:
    outcome: str
    script: Callable[[Call], AsyncIterator[Event]] | None = None
    faults: tuple[tuple[str, Respond], ...] = ()  # of every call of a method, once for "once METHOD"
    streaming: bool = True
    lists: bool = True


# ---------------------------------------------------------------------------------------------- what it does


async def answers(_call: Call) -> AsyncIterator[Event]:
    yield working()
    yield artifact(ANSWER, last=True)
    yield completed()


async def closes(_call: Call) -> AsyncIterator[Event]:
    for event in (working(), end_stream(), artifact(ANSWER, last=True), completed()):
        yield event


async def goes_back(_call: Call) -> AsyncIterator[Event]:
    yield artifact(ANSWER, last=True)
    yield completed()
    yield only_streamed(working("again"))


async def works_for_ever(_call: Call) -> AsyncIterator[Event]:
    yield working()
    await asyncio.Event().wait()


async def floods(_call: Call) -> AsyncIterator[Event]:
    """Heartbeats and equal statuses without an end, on a stream that never closes."""
    yield working("on it")
    yield only_stored(artifact(ANSWER, last=True))
    yield only_stored(completed())
    while True:
        yield only_streamed(working("on it"))
        yield raw_bytes(b": still here\n\n")
        await asyncio.sleep(0)


async def talks_for_ever(_call: Call) -> AsyncIterator[Event]:
    """Chunks beyond every bound; its task says what was meant."""
    yield working()
    yield only_stored(artifact(ANSWER, "short", last=True))
    yield only_stored(completed())
    for number in range(2000):
        yield only_streamed(artifact("x" * 30_000, "long", append=number > 0))
        await asyncio.sleep(0)
    await asyncio.Event().wait()


async def many_artifacts(_call: Call) -> AsyncIterator[Event]:
    yield working()
    for number in range(500):
        yield only_streamed(artifact("y", f"a{number}"))
    yield only_stored(artifact(ANSWER, last=True))
    yield completed()


async def huge_frame(_call: Call) -> AsyncIterator[Event]:
    yield working()
    yield only_stored(artifact(ANSWER, last=True))
    yield only_stored(completed())
    yield raw_bytes(b"data: " + b"z" * (8 << 20) + b"\n\n")


async def garbage(_call: Call) -> AsyncIterator[Event]:
    yield working()
    yield raw_bytes(b"data: <html>sorry</html>\n\n")
    yield artifact(ANSWER, last=True)
    yield completed()


async def another_task(_call: Call) -> AsyncIterator[Event]:
    yield working()
    yield only_streamed(artifact("of somebody else"), task_id="task-of-another", context_id="c")
    yield only_streamed(completed("of somebody else"), task_id="task-of-another", context_id="c")
    yield with_ids(artifact(ANSWER, last=True), context_id="")
    yield completed()


async def empty(_call: Call) -> AsyncIterator[Event]:
    yield working()
    yield completed()


async def only_a_link(_call: Call) -> AsyncIterator[Event]:
    """An artifact that cannot be had by anybody is passed on as what it is: an address."""
    yield artifact_parts([{"text": f"{ANSWER}: "}, {"url": "http://127.0.0.1:9/gone.pdf", "filename": "gone.pdf"}])
    yield completed()


async def fails(_call: Call) -> AsyncIterator[Event]:
    yield failed()


async def stops_by_itself(_call: Call) -> AsyncIterator[Event]:
    yield working()
    yield canceled()


async def unheard(_call: Call) -> AsyncIterator[Event]:
    """The task is there, and whatever is asked about it is answered with rubbish."""
    yield task()
    yield working()
    yield end_stream()


def endless_answers(count: int = 1600) -> Respond:
    """A task of 100 MB as one answer."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(exchange.request)
        for _ in range(count):
            await response.write(b"[" * 65_536)
        return response

    return respond


CASES = {
    "closes the stream cleanly in the middle": Hostile(ANSWER, closes),
    "goes on after its end": Hostile(ANSWER, goes_back),
    "works for ever": Hostile(SILENT, works_for_ever),
    "works for ever, polled": Hostile(SILENT, works_for_ever, streaming=False),
    "floods the stream with nothing new": Hostile(ANSWER, floods),
    "talks beyond every bound": Hostile(ANSWER, talks_for_ever),
    "makes an artifact of every letter": Hostile(ANSWER, many_artifacts),
    "sends a frame of 8 MB": Hostile(ANSWER, huge_frame),
    "sends garbage in the stream": Hostile(ANSWER, garbage),
    "speaks of another task": Hostile(ANSWER, another_task),
    "completes without a word": Hostile(EMPTY, empty),
    "completes with an artifact that nobody can fetch": Hostile(ANSWER, only_a_link),
    "fails": Hostile(FAILED, fails),
    "cancels by itself": Hostile(BY_AGENT, stops_by_itself),
    "answers HTML 502": Hostile(UNKNOWN, faults=(("SendStreamingMessage", html_page(502)),)),
    "answers half JSON, and has the task": Hostile(
        ANSWER, answers, faults=(("once SendMessage", half_json()),), streaming=False
    ),
    "answers under a wrong type": Hostile(
        ANSWER, answers, faults=(("SendMessage", wrong_content_type()),), streaming=False
    ),
    "sends 100 MB for each question about the task": Hostile(
        SILENT, unheard, faults=(("GetTask", endless_answers()), ("SubscribeToTask", http_status(500)))
    ),
    "takes the message and cuts": Hostile(
        ANSWER, answers, faults=(("once SendStreamingMessage", cut_after_accepting()),)
    ),
    "takes the message, cuts and lists nothing": Hostile(
        UNKNOWN, answers, faults=(("once SendStreamingMessage", cut_after_accepting()),), lists=False
    ),
    "cuts before it takes anything": Hostile(UNKNOWN, faults=(("SendStreamingMessage", cut_before()),)),
    "is too busy for ever": Hostile(GIVEN_UP, faults=(("SendStreamingMessage", http_status(429)),)),
    "does not know us": Hostile(NOT_LET_IN, faults=(("SendStreamingMessage", http_status(403)),)),
    "refuses": Hostile(DECLINED, faults=(("SendStreamingMessage", rpc_error(-32602)),)),
}


@asynccontextmanager
async def line(agent: ScriptedAgent, connect: Connect) -> AsyncIterator[World]:
    remote = connect(agent.card_url, max_streams=256 if agent.streaming else 0, **HURRY)
    async with world(MemoryStore(), cast("FakeAgent", remote), patience=PATIENCE) as desk:
        yield desk


def outcomes(desk: World) -> list[str]:
    return outcomes_in(desk.plugin.shown())


@pytest.mark.case("F13")
@pytest.mark.case("F14")
@pytest.mark.case("F16")
@pytest.mark.case("F17")
@pytest.mark.case("F19")
@pytest.mark.parametrize("name", CASES)
async def test_whatever_an_agent_does_there_is_one_result_or_one_honest_state(connect: Connect, name: str) -> None:
    case = CASES[name]
    async with ScriptedAgent(streaming=case.streaming, lists_tasks=case.lists) as agent, line(agent, connect) as desk:
        if case.script is not None:
            agent.behave(case.script)
        for method, respond in case.faults:
            agent.fault(method.removeprefix("once "), respond=respond, times=1 if "once " in method else None)
        before = memory("self")
        await desk.says("do it")
        await until(lambda: outcomes(desk), seconds=20)
        await until(lambda: desk.outbox.at_work == 0)
        assert outcomes(desk) == [case.outcome]
        assert max(agent.message_counts.values(), default=0) <= 1
        assert memory("self") - before < MOST
        assert desk.events.of("turn.failed") == []


@pytest.mark.case("F18")
@pytest.mark.parametrize("when", ["SubscribeToTask", "GetTask"])
async def test_an_agent_that_forgets_is_shown_as_that_once_and_asked_nothing_more(connect: Connect, when: str) -> None:
    async with ScriptedAgent() as agent, line(agent, connect) as desk:
        agent.behave(unheard)
        if when == "GetTask":
            agent.fault("SubscribeToTask", respond=rpc_error(-32004), times=None)
        await desk.says("do it")
        await agent.wait_for_calls(when)
        agent.forget()
        await until(lambda: outcomes(desk) == [LOST])
        await until(lambda: desk.tracker.at_work == 0)
        asked = len(agent.calls)
        await desk.says("/status")
        await until(lambda: "Nothing is being worked on." in desk.plugin.shown())
        assert (len(agent.calls), sum(agent.message_counts.values())) == (asked, 1)


@pytest.mark.case("F11")
async def test_an_agent_that_hangs_for_one_chat_does_not_hold_up_another(connect: Connect) -> None:
    async with ScriptedAgent() as agent, line(agent, connect) as desk:
        agent.behave(works_for_ever)
        await desk.says("hang", "ann")
        await agent.wait_for_state("WORKING")
        await desk.says("quick", "bob")
        assert await desk.plugin.until(1, "bob") == ["echo: quick"]


@pytest.mark.case("A2A-17")
async def test_cancel_all_reaches_every_task_of_the_chat(connect: Connect) -> None:
    remote: Callable[[ScriptedAgent], Any] = lambda agent: connect(agent.card_url, **HURRY)  # noqa: E731
    async with (
        ScriptedAgent(works_for_ever) as agent,
        world(MemoryStore(), remote(agent), patience=replace(PATIENCE, foreground=0.01, stale=60.0)) as desk,
    ):
        for text in ("one", "two"):
            await desk.says(text)
            await until(lambda text=text: sum(known.state == "WORKING" for known in agent.tasks) == (text == "two") + 1)  # type: ignore[misc]
            await until(lambda: desk.lanes.running == 0)
        await desk.says("/cancel all")
        calls = await agent.wait_for_calls("CancelTask", 2)
        assert {call.params["id"] for call in calls} == {known.id for known in agent.tasks}
