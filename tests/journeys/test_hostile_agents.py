"""Agents that misbehave in every way at once, behind a whole gateway: each chat gets one answer or one honest word."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from aiohttp import web

from a2a.card import SPOKEN
from tests.a2a.hostility import ANSWER, LOST, UNKNOWN, memory, outcomes_in
from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_events import Event, artifact, completed, cut, end_stream, only_stored, only_streamed, working
from tests.fakes.agent_rpc import CALL, endless_line, html_page, huge_body
from tests.fakes.agent_scripts import Call, echo
from tests.fakes.scripting import Exchange, hang_after_accepting, http_status
from tests.fakes.telegram import FakeTelegram
from tests.journeys.process import GatewayProcess, doctor, look
from tests.journeys.setting import between, words_said


async def cuts(_call: Call) -> AsyncIterator[Event]:
    for event in (working(), cut(), artifact(ANSWER, last=True), cut(), completed()):
        yield event


async def repeats(_call: Call) -> AsyncIterator[Event]:
    for event in (working(), artifact(ANSWER, last=True)):
        for _ in range(5):
            yield event
    for _ in range(5):
        yield only_streamed(completed())
    yield completed()


async def reorders(_call: Call) -> AsyncIterator[Event]:
    yield only_stored(artifact(ANSWER, last=True))
    yield only_streamed(completed())
    yield only_streamed(artifact("late words"))
    yield only_streamed(working())
    yield only_stored(completed())


async def says_nothing_more(_call: Call) -> AsyncIterator[Event]:
    yield working()
    yield only_stored(artifact(ANSWER, last=True))
    yield only_stored(completed())
    await asyncio.Event().wait()


MOST = 48 << 20  # bytes that the process may grow by, under 200 MB of what an agent sends
SCRIPTS = {
    "cuts": cuts,
    "hangs": says_nothing_more,
    "repeats": repeats,
    "reorders": reorders,
    "hangs before it answers": says_nothing_more,
}
ANSWERS = {
    "answers HTML": html_page(),
    "sends 100 MB": huge_body(),
    "sends 100 MB in a line": endless_line(100 << 20),
    "hangs before it answers": hang_after_accepting(),
}
SAID = {
    "cuts": ANSWER,
    "hangs": ANSWER,
    "repeats": ANSWER,
    "reorders": ANSWER,
    "forgets": LOST,
    "answers HTML": UNKNOWN,
    "sends 100 MB": UNKNOWN,
    "sends 100 MB in a line": UNKNOWN,
    "hangs before it answers": ANSWER,  # found by ListTasks, which 0.3 does not have
}


def misbehaving(agent: ScriptedAgent) -> None:
    """Lets it do with each message what the message says."""
    forgetful = set()

    async def script(call: Call) -> AsyncIterator[Event]:
        if call.text == "forgets":
            forgetful.add(call.task_id)
            yield working()
            yield end_stream()
            return
        async for event in SCRIPTS.get(call.text, echo)(call):
            yield event

    async def sends(exchange: Exchange) -> web.StreamResponse:
        respond = ANSWERS.get(exchange.request[CALL].text)
        return await (exchange.perform() if respond is None else respond(exchange))

    async def asked_about(exchange: Exchange) -> web.StreamResponse:
        if (id := exchange.request[CALL].params["id"]) in forgetful:
            agent.tasks.by_id.pop(id, None)
        return await exchange.perform()

    agent.behaviour = script
    for method in ("SendStreamingMessage", "SendMessage"):
        agent.fault(method, respond=sends, times=None)
    for method in ("GetTask", "SubscribeToTask"):
        agent.fault(method, respond=asked_about, times=None)


@pytest.mark.case("F12")
@pytest.mark.case("F13")
@pytest.mark.case("F14")
@pytest.mark.case("F15")
@pytest.mark.case("F16")
@pytest.mark.case("F18")
@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "polled"])
@pytest.mark.parametrize("binding", SPOKEN)
async def test_whatever_an_agent_does_a_chat_gets_one_answer_or_one_honest_word_in_bounded_memory(
    tmp_path: Path, telegram: FakeTelegram, binding: str, streaming: bool
) -> None:
    is_old = binding.endswith("/0.3")
    async with ScriptedAgent(speaks=[binding], is_old=is_old, streaming=streaming) as agent:
        misbehaving(agent)
        async with between(
            tmp_path / "desk", telegram, agent.card_url, said=lambda: words_said(telegram) - set(SAID)
        ) as gateway:
            gateway.configure("agents.remote", interfaces=[binding], send_timeout=2, idle_timeout=1, read_timeout=2)
            await gateway.start()
            telegram.user_says(100, "hello before all")
            await telegram.wait_for_text(100, "echo: hello before all")
            before = memory(gateway.pid)
            for chat, fault in enumerate(SAID, 101):
                telegram.user_says(chat, fault)

            async def told() -> dict[str, list[str]] | None:
                found = {fault: outcomes_in(telegram.texts(chat)) for chat, fault in enumerate(SAID, 101)}
                return found if all(found.values()) else None

            await look(told, seconds=60.0, what="every chat to be told something")
            await gateway.at_rest()
            expected = {fault: [outcome] for fault, outcome in SAID.items()}
            if is_old:
                expected["hangs before it answers"] = [UNKNOWN]
            assert await told() == expected
            assert max(agent.message_counts.values()) == 1
            assert memory(gateway.pid, peak=True) - before < MOST
            samples = [str(error["sample"]) for error in recorded_errors(gateway.database)]
            assert any(sample.startswith("<html") for sample in samples)
            assert max(map(len, samples)) <= 500


def recorded_errors(database: Path) -> list[dict[str, object]]:
    """What the inbox keeps of what agents did against the protocol."""
    with closing(sqlite3.connect(database)) as db:
        return [json.loads(body) for (body,) in db.execute("SELECT body FROM inbox WHERE kind = 'error'")]


@pytest.mark.case("F10")
async def test_an_agent_that_refuses_connections_is_tried_again_until_it_is_there_and_others_are_not_held_up(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    async with ScriptedAgent() as other:
        gateway.configure("agents.other", kind="a2a", card=other.card_url, allow_private_network=True)
        gateway.configure("plugins.support", routes=[{"command": "ask", "agent": "other"}])
        gateway.configure("gateway", foreground_patience=1)
        await gateway.start()
        telegram.user_says(100, "hello before all")
        await telegram.wait_for_text(100, "echo: hello before all")
        await agent.go_down()
        for chat in range(101, 111):
            telegram.user_says(chat, f"is anybody there, asks {chat}?")
        first = await gateway.event("submission.not_accepted")
        await gateway.event("submission.not_accepted", n=2, turn=first["turn"])
        await look(lambda: are_waiting(gateway, 10), what="the turns to wait")
        telegram.user_says(101, "/ask the other one")
        telegram.user_says(200, "/ask the other one too")
        await telegram.wait_for_text(101, "echo: /ask the other one")
        await telegram.wait_for_text(200, "echo: /ask the other one too")
        submissions = (await gateway.summary())["submissions"]
        assert (submissions["intended"], submissions["submitted"]) == (10, 3)
        await agent.come_up()
        for chat in range(101, 111):
            await telegram.wait_for_text(chat, f"echo: is anybody there, asks {chat}?")
        await gateway.at_rest()
        assert (len(agent.message_counts), set(agent.message_counts.values())) == (11, {1})


@pytest.mark.case("F10")
async def test_an_agent_that_is_away_is_asked_by_one_probe_at_a_time_and_the_doctor_says_since_when(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    """Behind a proxy that still answers: there the calls that reach it can be counted."""
    await gateway.start()
    telegram.user_says(100, "hello before all")
    await telegram.wait_for_text(100, "echo: hello before all")
    await gateway.at_rest()
    agent.calls.clear()
    faults = agent.fault("SendStreamingMessage", respond=http_status(503, Retry_After="0"), times=None)
    probes = agent.fault("GetTask", respond=http_status(503), times=None)
    for chat in range(101, 111):
        telegram.user_says(chat, f"is anybody there, asks {chat}?")
    await gateway.event("agent.away", agent="remote", error="answered HTTP 503")
    await agent.wait_for_calls("GetTask")
    code, said, complained = await doctor(gateway)
    assert (code, "away" in said) == (1, True)
    assert complained.startswith("frontdesk: agent remote is away (JSONRPC/1.0 since ")
    async with gateway.http.get(f"{gateway.base}/metrics") as answer:
        assert 'frontdesk_agent_ready{agent="remote"} 0.0' in await answer.text()
    assert len(agent.calls_of("SendStreamingMessage")) <= 15  # of those under way when it was found to be away
    faults.stop()
    probes.stop()
    await gateway.api("agents/remote:test", "POST")
    await gateway.event("agent.back", agent="remote")
    for chat in range(101, 111):
        await telegram.wait_for_text(chat, f"echo: is anybody there, asks {chat}?")
    await gateway.at_rest()
    assert (len(agent.message_counts), set(agent.message_counts.values())) == (11, {1})
    assert (await gateway.api("agents/remote"))["connection"]["away"] == []


async def are_waiting(gateway: GatewayProcess, count: int) -> bool:
    turns = (await gateway.summary())["turns"]
    return bool(turns.get("waiting") == count)
