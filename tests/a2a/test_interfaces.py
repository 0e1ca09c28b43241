"""Over which interface a call goes: the task's own, the preferred one, and another one only where that is allowed."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from a2a import RemoteAgent
from a2a.card_keeping import SECOND_LOOK
from a2a.interfaces import PASSED_OVER
from core.agent import Snapshot, TaskRef
from core.errors import Declined, InterfaceGone, NotAccepted, OutcomeUnknown, TaskEnded, TaskUnknown, Unreachable
from tests.a2a.asking import ask, failure, heard, ref_of
from tests.a2a.conftest import Connect
from tests.doubles.clock import ManualClock
from tests.doubles.events import Events
from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_bindings import NAMES
from tests.fakes.agent_rpc import CALL, rpc_error
from tests.fakes.agent_scripts import ask_then_answer, working_until
from tests.fakes.scripting import Exchange, Respond, cut_after_accepting, cut_before, http_status


def used(agent: ScriptedAgent, method: str) -> list[str]:
    """The bindings by which a method was called, in order."""
    return [call.binding.name for call in agent.calls_of(method) if call.binding is not None]


def over(responses: Mapping[str, Respond]) -> Respond:
    """Answers by the binding of the call; those of other bindings are let through."""

    async def chosen(exchange: Exchange) -> Any:
        binding = exchange.request[CALL].binding
        respond = responses.get(binding.name) if binding is not None else None
        return await (respond(exchange) if respond else exchange.perform())

    return chosen


def only_over(name: str, respond: Respond) -> Respond:
    return over({name: respond})


@pytest.mark.parametrize("name", NAMES)
async def test_new_work_goes_over_the_first_configured_interface_that_the_card_has(connect: Connect, name: str) -> None:
    async with ScriptedAgent(speaks=NAMES) as agent:
        rest = [other for other in NAMES if other != name]
        await heard(connect(agent.card_url, interfaces=[name, *rest]).send(ask()))
        await heard(connect(agent.card_url, interfaces=[name]).send(ask(message_id="m-2")))
    assert used(agent, "SendStreamingMessage") == [name, name]


async def test_a_task_is_asked_over_the_interface_that_created_it(connect: Connect, clock: ManualClock) -> None:
    async with ScriptedAgent(ask_then_answer(), speaks=["JSONRPC/0.3", "HTTP+JSON/1.0"]) as agent:
        remote = connect(agent.card_url, interfaces=["JSONRPC/1.0", "JSONRPC/0.3", "HTTP+JSON/1.0"])
        task = ref_of((await heard(remote.send(ask())))[0])
        agent.speaks = ("JSONRPC/1.0", "JSONRPC/0.3", "HTTP+JSON/1.0")
        await remote.discover()
        await heard(remote.send(ask(message_id="m-2")))
        await remote.get(task)
        await anext(remote.subscribe(task))
        await heard(remote.send(ask("Friday", message_id="m-3", task=task)))
        assert isinstance(await failure(remote.cancel(task)), TaskEnded)
    assert used(agent, "SendStreamingMessage") == ["JSONRPC/0.3", "JSONRPC/1.0", "JSONRPC/0.3"]
    assert set(used(agent, "GetTask") + used(agent, "SubscribeToTask") + used(agent, "CancelTask")) == {"JSONRPC/0.3"}


async def test_a_task_stays_where_it_is_although_that_fails(connect: Connect) -> None:
    async with ScriptedAgent(working_until(asyncio.Event()), speaks=NAMES) as agent:
        remote = connect(agent.card_url, fallback=True)
        said = remote.send(ask())
        task = ref_of(await anext(said))
        await said.aclose()
        agent.fault("GetTask", respond=rpc_error(-32601), times=None)
        agent.fault("SendStreamingMessage", respond=rpc_error(-32601), times=None)
        assert isinstance(await failure(remote.get(task)), Declined)
        assert isinstance(await failure(remote.send(ask(message_id="m-2", task=task))), Declined)
        agent.forget()
        assert isinstance(await failure(remote.cancel(task)), TaskUnknown)
    assert {*used(agent, "GetTask"), *used(agent, "SendStreamingMessage"), *used(agent, "CancelTask")} == {
        "JSONRPC/1.0"
    }


async def begun_elsewhere(agent: ScriptedAgent, connect: Connect, **responses: Respond) -> tuple[RemoteAgent, TaskRef]:
    """A task that is known over HTTP+JSON alone, and a client that was started anew."""
    task = ref_of((await heard(connect(agent.card_url, interfaces=["HTTP+JSON/1.0"]).send(ask())))[0])
    for method in ("GetTask", "SubscribeToTask", "CancelTask", "SendStreamingMessage"):
        there = {"HTTP+JSON/1.0": responses[method]} if method in responses else {}
        agent.fault(method, respond=over({"JSONRPC/1.0": rpc_error(-32001), **there}), times=None)
    agent.calls.clear()
    return connect(agent.card_url), task


async def test_after_a_restart_a_task_that_the_preferred_interface_does_not_know_is_looked_for(
    connect: Connect,
) -> None:
    async with ScriptedAgent(ask_then_answer(), speaks=["JSONRPC/1.0", "HTTP+JSON/1.0"]) as agent:
        remote, task = await begun_elsewhere(agent, connect)
        assert (await remote.get(task)).task_id == task.task_id
        await remote.get(task)
        await anext(remote.subscribe(task))
        assert used(agent, "GetTask") == ["JSONRPC/1.0", "HTTP+JSON/1.0", "HTTP+JSON/1.0"]
        assert used(agent, "SubscribeToTask") == ["HTTP+JSON/1.0"]


@pytest.mark.parametrize("verb", ["subscribe", "cancel", "send"])
async def test_every_verb_finds_its_task_after_a_restart(connect: Connect, verb: str) -> None:
    async with ScriptedAgent(ask_then_answer(), speaks=["JSONRPC/1.0", "HTTP+JSON/1.0"]) as agent:
        remote, task = await begun_elsewhere(agent, connect)
        if verb == "subscribe":
            assert isinstance(await anext(remote.subscribe(task)), Snapshot)
        elif verb == "cancel":
            assert await remote.cancel(task)
        else:
            assert await heard(remote.send(ask("Friday", message_id="m-2", task=task)))
            assert agent.message_counts["m-2"] == 1
        assert remote.binding_of(task.task_id) == "HTTP+JSON/1.0"


async def test_a_task_that_no_interface_knows_is_unknown(connect: Connect) -> None:
    async with ScriptedAgent(speaks=["JSONRPC/1.0", "HTTP+JSON/1.0"]) as agent:
        remote = connect(agent.card_url)
        assert isinstance(await failure(remote.get(TaskRef("nobody", "c"))), TaskUnknown)
        order = agent.fault("GetTask", respond=only_over("HTTP+JSON/1.0", cut_before()), times=None)
        assert isinstance(await failure(remote.get(TaskRef("nobody", "c"))), TaskUnknown)
        order.stop()
        agent.fault("GetTask", respond=only_over("JSONRPC/1.0", cut_before()), times=None)
        assert isinstance(await failure(remote.get(TaskRef("nobody", "c"))), Unreachable)
        assert used(agent, "GetTask") == ["JSONRPC/1.0", "HTTP+JSON/1.0", "JSONRPC/1.0", "HTTP+JSON/1.0", "JSONRPC/1.0"]


async def test_a_message_about_a_task_that_another_interface_may_have_taken_is_left_open(connect: Connect) -> None:
    async with ScriptedAgent(ask_then_answer(), speaks=["JSONRPC/1.0", "HTTP+JSON/1.0"]) as agent:
        remote, task = await begun_elsewhere(agent, connect, SendStreamingMessage=cut_after_accepting())
        error = await failure(remote.send(ask("Friday", message_id="m-2", task=task)))
        assert isinstance(error, OutcomeUnknown)
        assert agent.message_counts["m-2"] == 1


REFUSALS = [rpc_error(-32009), rpc_error(-32601), http_status(400), http_status(404), http_status(501)]


@pytest.mark.parametrize("respond", REFUSALS)
@pytest.mark.parametrize("streaming", [True, False])
async def test_without_leave_nothing_falls_back(connect: Connect, respond: Respond, streaming: bool) -> None:
    async with ScriptedAgent(speaks=NAMES, streaming=streaming) as agent:
        remote = connect(agent.card_url)
        agent.fault("*", respond=only_over("JSONRPC/1.0", respond), times=None, after=1)
        assert isinstance(await failure(remote.send(ask())), Declined)
        assert len(agent.calls) == 2


@pytest.mark.case("F10")
@pytest.mark.parametrize("respond", REFUSALS)
@pytest.mark.parametrize("streaming", [True, False])
async def test_with_leave_new_work_goes_on_over_the_next_interface_and_that_is_shown(
    connect: Connect, telemetry: Events, clock: ManualClock, respond: Respond, streaming: bool
) -> None:
    method = "SendStreamingMessage" if streaming else "SendMessage"
    async with ScriptedAgent(speaks=["JSONRPC/1.0", "HTTP+JSON/1.0", "JSONRPC/0.3"], streaming=streaming) as agent:
        remote = connect(agent.card_url, interfaces=["JSONRPC/1.0", "JSONRPC/0.3"], fallback=True)
        agent.fault(method, respond=only_over("JSONRPC/1.0", respond), times=2)
        assert await heard(remote.send(ask()))
        assert await heard(remote.send(ask(message_id="m-2")))
        assert used(agent, method) == ["JSONRPC/1.0", "JSONRPC/0.3", "JSONRPC/0.3"]
        [(name, fields)] = telemetry.seen
        assert (name, fields["preferred"], fields["used"]) == ("agent.fallback", "JSONRPC/1.0", "JSONRPC/0.3")
        seen = await remote.discover()
        assert seen.endpoint.binding == "JSONRPC/0.3"
        assert "JSONRPC/1.0 does not serve" in seen.warnings[0]
        clock.time += PASSED_OVER + 1
        assert await heard(remote.send(ask(message_id="m-3")))
        assert used(agent, method)[-1] == "JSONRPC/1.0"
        assert (await remote.discover()).warnings == ()


async def test_an_interface_where_nobody_is_there_is_passed_over(connect: Connect, telemetry: Events) -> None:
    async with ScriptedAgent() as gone, ScriptedAgent(speaks=NAMES) as agent:
        offers = agent.card["supportedInterfaces"]
        agent.card_extra = {"supportedInterfaces": [{**offers[0], "url": gone.url}, *offers[1:]]}
        remote = connect(agent.card_url, fallback=True, allow_origins=[gone.base])
        await gone.go_down()
        assert await heard(remote.send(ask()))
        assert used(agent, "SendStreamingMessage") == ["HTTP+JSON/1.0"]


async def test_an_agent_that_is_gone_is_not_looked_for_at_its_other_interfaces(
    connect: Connect, telemetry: Events
) -> None:
    async with ScriptedAgent(speaks=NAMES) as agent:
        remote = connect(agent.card_url, fallback=True)
        await remote.discover()
        await agent.go_down()
        assert isinstance(await failure(remote.get(TaskRef("t", "c"))), Unreachable)
        assert isinstance(await failure(remote.send(ask())), NotAccepted)
    assert telemetry.seen == []


@pytest.mark.parametrize(
    ("respond", "kind"),
    [
        (http_status(500), OutcomeUnknown),
        (cut_after_accepting(), OutcomeUnknown),
        (http_status(429), NotAccepted),
        (http_status(503, Retry_After="5"), NotAccepted),
        (rpc_error(-32602), Declined),
        (rpc_error(-32005), Declined),
    ],
)
async def test_what_may_have_been_taken_or_is_refused_for_itself_does_not_fall_back(
    connect: Connect, respond: Respond, kind: type[Exception]
) -> None:
    async with ScriptedAgent(speaks=NAMES) as agent:
        agent.fault("SendStreamingMessage", respond=respond)
        assert isinstance(await failure(connect(agent.card_url, fallback=True).send(ask())), kind)
        assert used(agent, "SendStreamingMessage") == ["JSONRPC/1.0"]


async def test_an_outcome_left_open_on_the_way_is_told_whatever_was_refused_before(connect: Connect) -> None:
    async with ScriptedAgent(speaks=NAMES) as agent:
        agent.fault("SendStreamingMessage", respond=rpc_error(-32009))
        agent.fault("SendStreamingMessage", respond=cut_after_accepting())
        assert isinstance(await failure(connect(agent.card_url, fallback=True).send(ask())), OutcomeUnknown)
        assert len(agent.calls_of("SendStreamingMessage")) == 2


async def test_when_no_interface_serves_each_was_tried_once(connect: Connect) -> None:
    async with ScriptedAgent(speaks=NAMES) as agent:
        agent.fault("SendStreamingMessage", respond=rpc_error(-32601), times=None)
        agent.fault("SendMessage", respond=rpc_error(-32601), times=None)
        error = await failure(connect(agent.card_url, fallback=True).send(ask()))
    assert isinstance(error, Declined)
    assert used(agent, "SendStreamingMessage") == list(NAMES)


async def test_a_card_that_changed_its_version_is_followed_without_falling_back(
    connect: Connect, clock: ManualClock
) -> None:
    async with ScriptedAgent(speaks=["JSONRPC/1.0"]) as agent:
        remote = connect(agent.card_url)
        await remote.discover()
        agent.speaks, agent.is_old = ("JSONRPC/0.3",), True
        clock.time += SECOND_LOOK
        assert await heard(remote.send(ask()))
    assert used(agent, "SendStreamingMessage") == ["JSONRPC/1.0", "JSONRPC/0.3"]


async def test_over_a_restart_a_task_is_asked_over_the_interface_it_is_stored_with(connect: Connect) -> None:
    async with ScriptedAgent(ask_then_answer(), speaks=NAMES) as agent:
        first = connect(agent.card_url, interfaces=["HTTP+JSON/0.3"])
        task = ref_of((await heard(first.send(ask())))[0])
        stored = replace(task, binding=first.binding_of(task.task_id))
        agent.calls.clear()
        remote = connect(agent.card_url)
        await remote.get(stored)
        await heard(remote.send(ask("Friday", message_id="m-2", task=stored)))
        assert isinstance(await failure(remote.cancel(stored)), TaskEnded)
        assert isinstance(await failure(remote.subscribe(stored)), TaskEnded | Unreachable)
    assert {call.binding.name for call in agent.calls if call.binding} == {"HTTP+JSON/0.3"}


@pytest.mark.parametrize("is_stored", [True, False])
async def test_a_task_whose_interface_left_the_card_is_out_of_reach_until_it_is_back(
    connect: Connect, clock: ManualClock, is_stored: bool
) -> None:
    async with ScriptedAgent(ask_then_answer(), speaks=["JSONRPC/0.3"], is_old=True) as agent:
        remote = connect(agent.card_url)
        task = ref_of((await heard(remote.send(ask())))[0])
        if is_stored:
            task, remote = replace(task, binding="JSONRPC/0.3"), connect(agent.card_url)
        agent.speaks, agent.is_old = ("JSONRPC/1.0",), False
        await remote.discover()
        error = await failure(remote.get(task))
        assert isinstance(error, InterfaceGone)
        assert "JSONRPC/0.3" in str(error)
        for asked in (remote.subscribe(task), remote.cancel(task)):
            assert isinstance(await failure(asked), InterfaceGone)
        assert isinstance(await failure(remote.send(ask("Friday", message_id="m-2", task=task))), NotAccepted)
        assert used(agent, "GetTask") == []
        agent.speaks, agent.is_old = ("JSONRPC/0.3",), True
        clock.time += SECOND_LOOK
        assert (await remote.get(task)).task_id == task.task_id
