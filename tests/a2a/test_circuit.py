"""An interface that is away is asked by one at a time, and whoever waits hears at once that it is back."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web

from a2a import RemoteAgent
from a2a.circuit import FIRST_PAUSE, MOST_ASKED, MOST_PAUSE, OPENS_AFTER, REMEMBERED, Called, Circuits
from core.agent import TaskRef
from core.doors.outbound import Refused
from core.errors import AgentError, Declined, NotAccepted, NotAuthorised, OutcomeUnknown, TaskUnknown, Unreachable
from core.telemetry import Silent
from tests.a2a.asking import ask, failure, heard, started
from tests.a2a.conftest import Connect
from tests.a2a.test_interfaces import only_over, used
from tests.doubles.clock import ManualClock
from tests.doubles.events import Events
from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_rpc import html_page, huge_body, rpc_error
from tests.fakes.agent_scripts import working_until
from tests.fakes.scripting import Exchange, Respond, cut_before, delay, hang_before, http_status

TASK = TaskRef("t", "c")
LONGEST = 1.2  # of a pause, by chance


async def refused(asked: Callable[[], Awaitable[object] | AsyncIterator[object]], times: int) -> list[AgentError]:
    return [await failure(asked()) for _ in range(times)]  # type: ignore[arg-type]


async def away(agent: ScriptedAgent, remote: RemoteAgent, respond: Respond | None = None) -> None:
    """As many calls as it takes were not taken: nobody is there, or every call is answered by `respond`."""
    await remote.discover()
    if respond is None:
        await agent.go_down()
    else:
        agent.fault("GetTask", respond=respond, times=None)
    await refused(lambda: remote.get(TASK), OPENS_AFTER)
    agent.calls.clear()


@pytest.mark.case("F10")
@pytest.mark.parametrize("streaming", [True, False])
async def test_an_agent_that_is_away_is_left_alone_until_its_time_and_nothing_is_taken_as_sent(
    connect: Connect, clock: ManualClock, streaming: bool
) -> None:
    async with ScriptedAgent(streaming=streaming) as agent:
        remote = connect(agent.card_url)
        await remote.discover()
        await agent.go_down()
        await failure(remote.get(TASK))
        for error in await refused(lambda: remote.send(ask()), OPENS_AFTER - 1):
            assert (type(error), error.retry_after) == (NotAccepted, None)  # type: ignore[attr-defined]
        await agent.come_up()
        agent.calls.clear()
        error = await failure(remote.send(ask()))
        assert isinstance(error, NotAccepted)
        assert error.retry_after is not None
        assert "away" in str(error)
        assert FIRST_PAUSE <= error.retry_after <= FIRST_PAUSE * LONGEST
        assert isinstance(await failure(remote.get(TASK)), Unreachable)
        assert agent.calls == []
        clock.time += error.retry_after
        assert await heard(remote.send(ask()))
        assert [call.method for call in agent.calls] == [
            "GetTask",
            "SendStreamingMessage" if streaming else "SendMessage",
        ]
        assert agent.message_counts == {"m-1": 1}


@pytest.mark.case("F10")
async def test_it_is_said_once_when_an_agent_goes_away_and_once_when_it_is_back(
    connect: Connect, clock: ManualClock, telemetry: Events
) -> None:
    backs: list[float] = []
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url, on_back=lambda: backs.append(clock.time))
        await away(agent, remote)
        gone = clock.time
        [seen] = remote.connection.report().away
        assert (seen.interface, seen.since, remote.connection.report().is_ready) == ("JSONRPC/1.0", gone, False)
        assert gone < seen.again <= gone + FIRST_PAUSE * LONGEST
        assert "no connection" in seen.why
        clock.time = seen.again
        await refused(lambda: remote.get(TASK), 2)
        await agent.come_up()
        clock.time += MOST_PAUSE
        assert isinstance(await failure(remote.get(TASK)), TaskUnknown)
        assert (remote.connection.report().away, backs) == ((), [clock.time])
    [left] = telemetry.of("agent.away")
    [back] = telemetry.of("agent.back")
    assert (left["agent"], left["interface"], left["error"]) == ("desk", "JSONRPC/1.0", seen.why)
    assert back["duration"] == round(clock.time - gone, 3)


@pytest.mark.case("F10")
async def test_the_pauses_between_probes_grow_to_a_bound(connect: Connect, clock: ManualClock) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url)
        await away(agent, remote, http_status(503))
        for expected in [1, 2, 4, 8, 16, 30, 30]:
            [seen] = remote.connection.report().away
            assert 0.8 * expected <= seen.again - clock.time <= LONGEST * expected
            clock.time = seen.again - 0.01
            await failure(remote.get(TASK))
            clock.time = seen.again
            await failure(remote.get(TASK))
        assert len(agent.calls) == 7


@pytest.mark.case("F10")
async def test_one_probe_is_under_way_at_a_time_and_no_message_is_risked_on_it(
    connect: Connect, clock: ManualClock
) -> None:
    release = asyncio.Event()
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url)
        await away(agent, remote)
        await agent.come_up()
        agent.fault("GetTask", respond=delay(release))
        clock.time += MOST_PAUSE
        first = asyncio.ensure_future(heard(remote.send(ask())))
        await agent.wait_for_calls("GetTask")
        errors = await refused(lambda: remote.send(ask(message_id="m-2")), 3)
        assert {type(error) for error in errors} == {NotAccepted}
        assert [call.method for call in agent.calls] == ["GetTask"]
        release.set()
        assert await first
        assert await heard(remote.send(ask(message_id="m-2")))
        assert agent.message_counts == {"m-1": 1, "m-2": 1}


async def test_a_probe_that_is_given_up_leaves_its_place_to_the_next_call(connect: Connect, clock: ManualClock) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url)
        await away(agent, remote)
        await agent.come_up()
        agent.fault("GetTask", respond=hang_before())
        clock.time += MOST_PAUSE
        probe = asyncio.ensure_future(remote.get(TASK))
        await agent.wait_for_calls("GetTask")
        probe.cancel()
        await asyncio.wait([probe])
        assert isinstance(await failure(remote.get(TASK)), TaskUnknown)


async def test_a_probe_that_gets_no_answer_in_time_has_failed(connect: Connect, clock: ManualClock) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url, read_timeout=1.0)
        await away(agent, remote)
        await agent.come_up()
        agent.fault("GetTask", respond=hang_before())
        clock.time += MOST_PAUSE
        await failure(remote.get(TASK))
        [seen] = remote.connection.report().away
        assert seen.again > clock.time
        assert "no whole answer" in seen.why


@pytest.mark.case("F10")
@pytest.mark.parametrize("respond", [http_status(502), http_status(503), http_status(504), cut_before()])
async def test_a_proxy_without_an_agent_behind_it_and_a_cut_count_as_nobody_there(
    connect: Connect, clock: ManualClock, respond: Respond
) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url)
        await away(agent, remote, respond)
        assert isinstance(await failure(remote.send(ask())), NotAccepted)
        clock.time += MOST_PAUSE
        assert isinstance(await failure(remote.send(ask())), NotAccepted)
        assert (len(agent.calls), agent.message_counts) == (1, {})


@pytest.mark.parametrize(("asked_for", "least"), [("120", 120.0), ("86400", MOST_ASKED)])
async def test_an_agent_s_own_wish_for_a_pause_is_kept_within_bounds(
    connect: Connect, clock: ManualClock, asked_for: str, least: float
) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url)
        await away(agent, remote, http_status(503, Retry_After=asked_for))
        [seen] = remote.connection.report().away
        assert seen.again - clock.time == least


THERE: list[tuple[Respond, type[AgentError]]] = [
    (http_status(500), OutcomeUnknown),
    (http_status(429), NotAccepted),
    (http_status(401), NotAuthorised),
    (http_status(404), Declined),
    (rpc_error(-32603), Declined),
    (rpc_error(-32005), Declined),
    (html_page(), OutcomeUnknown),
]


@pytest.mark.case("F10")
@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize(("respond", "kind"), THERE)
async def test_an_answer_of_any_other_kind_says_that_somebody_is_there(
    connect: Connect, telemetry: Events, streaming: bool, respond: Respond, kind: type[AgentError]
) -> None:
    async with ScriptedAgent(streaming=streaming) as agent:
        remote = connect(agent.card_url)
        await remote.discover()
        agent.fault("SendStreamingMessage" if streaming else "SendMessage", respond=respond, times=2 * OPENS_AFTER)
        errors = await refused(lambda: remote.send(ask()), 2 * OPENS_AFTER)
        assert {type(error) for error in errors} == {kind}
        assert await heard(remote.send(ask()))
    assert telemetry.of("agent.away") == []


async def test_only_calls_in_a_row_count(connect: Connect, telemetry: Events) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url)
        await remote.discover()
        for _ in range(3):
            agent.fault("GetTask", respond=http_status(503), times=OPENS_AFTER - 1)
            await refused(lambda: remote.get(TASK), OPENS_AFTER - 1)
            assert isinstance(await failure(remote.get(TASK)), TaskUnknown)
    assert telemetry.of("agent.away") == []


def cut_when_begun() -> Respond:
    async def respond(exchange: Exchange) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(exchange.request)
        return exchange.cut()

    return respond


async def test_a_stream_that_breaks_is_no_refusal(connect: Connect, telemetry: Events) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url)
        agent.fault("SendStreamingMessage", respond=cut_when_begun(), times=2 * OPENS_AFTER)
        errors = await refused(lambda: remote.send(ask()), 2 * OPENS_AFTER)
        assert {type(error) for error in errors} == {OutcomeUnknown}
        assert await heard(remote.send(ask()))
    assert telemetry.of("agent.away") == []


async def test_a_slow_agent_is_not_away(connect: Connect, telemetry: Events) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url, read_timeout=1.0)
        await remote.discover()
        agent.fault("GetTask", respond=hang_before(), times=None)
        await asyncio.gather(*(failure(remote.get(TASK)) for _ in range(2 * OPENS_AFTER)))
        await agent.wait_for_calls("GetTask", 2 * OPENS_AFTER)
    assert telemetry.of("agent.away") == []


@pytest.mark.case("F10")
async def test_another_interface_of_an_agent_is_not_affected(connect: Connect) -> None:
    async with ScriptedAgent(working_until(asyncio.Event()), speaks=["JSONRPC/1.0", "HTTP+JSON/1.0"]) as agent:
        task = await started(connect(agent.card_url, interfaces=["HTTP+JSON/1.0"]))
        remote = connect(agent.card_url, interfaces=["JSONRPC/1.0", "HTTP+JSON/1.0"])
        await away(agent, remote, only_over("JSONRPC/1.0", http_status(502)))
        assert await remote.get(TaskRef(task.task_id, task.context_id, "HTTP+JSON/1.0"))
        assert used(agent, "GetTask") == ["HTTP+JSON/1.0"]
        assert [each.interface for each in remote.connection.report().away] == ["JSONRPC/1.0"]


@pytest.mark.case("F10")
async def test_where_another_interface_may_stand_in_new_work_goes_there_while_one_is_away(connect: Connect) -> None:
    async with ScriptedAgent() as gone, ScriptedAgent(speaks=["JSONRPC/1.0", "HTTP+JSON/1.0"]) as agent:
        offers = agent.card["supportedInterfaces"]
        agent.card_extra = {"supportedInterfaces": [{**offers[0], "url": gone.url}, *offers[1:]]}
        remote = connect(agent.card_url, fallback=True, allow_origins=[gone.base])
        await remote.discover()
        gone.fault("GetTask", respond=http_status(503), times=None)
        await refused(lambda: remote.get(TaskRef("t", "c", "JSONRPC/1.0")), OPENS_AFTER)
        assert await heard(remote.send(ask()))
        assert used(agent, "SendStreamingMessage") == ["HTTP+JSON/1.0"]


@pytest.mark.case("F10")
async def test_a_cancel_is_tried_at_once_and_is_the_probe(connect: Connect) -> None:
    async with ScriptedAgent(working_until(asyncio.Event())) as agent:
        remote = connect(agent.card_url)
        task = await started(remote)
        await away(agent, remote)
        assert isinstance(await failure(remote.cancel(task)), Unreachable)
        await agent.come_up()
        assert await remote.cancel(task)
        assert remote.connection.report().away == ()


@pytest.mark.case("F10")
async def test_whoever_asks_by_hand_need_not_wait(connect: Connect) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url)
        await away(agent, remote)
        await agent.come_up()
        remote.connection.hurry()
        assert isinstance(await failure(remote.get(TASK)), TaskUnknown)
        for by_hand in (remote.connection.test, remote.connection.discover):
            await away(agent, remote)
            await agent.come_up()
            await by_hand()
            assert remote.connection.report().away == ()


@pytest.mark.case("F10")
async def test_an_agent_that_was_never_there_is_not_looked_for_by_everybody(
    connect: Connect, clock: ManualClock
) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url)
        await agent.go_down()
        await refused(lambda: remote.send(ask()), OPENS_AFTER)
        await agent.come_up()
        error = await failure(remote.send(ask()))
        assert isinstance(error, NotAccepted)
        assert error.retry_after is not None
        assert ([each.interface for each in remote.connection.report().away], agent.calls) == (["card"], [])
        clock.time += error.retry_after
        assert await heard(remote.send(ask()))
        assert remote.connection.report().away == ()


async def test_a_probe_whose_answer_is_too_large_shows_that_somebody_is_there(
    connect: Connect, clock: ManualClock
) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url, max_body=1 << 20)
        await away(agent, remote)
        await agent.come_up()
        agent.fault("GetTask", respond=huge_body(2 << 20))
        clock.time += MOST_PAUSE
        assert isinstance(await failure(remote.get(TASK)), Unreachable)
        assert remote.connection.report().away == ()


# ---------------------------------------------------------------------------------------------- the circuits alone


def not_taken(circuits: Circuits, called: Called) -> None:
    for _ in range(OPENS_AFTER):
        with circuits.passage(called) as passage:
            passage.answered(503, {})


def test_a_call_that_was_on_its_way_and_fails_when_its_interface_is_away_tells_nothing_new(clock: ManualClock) -> None:
    circuits, called = Circuits("desk", clock, Silent(), None), Called("JSONRPC/1.0", "https://desk.example/")
    with circuits.passage(called) as late:
        not_taken(circuits, called)
        known = circuits.away
        late.answered(504, {})
    assert circuits.away == known


def test_a_probe_that_the_gateways_own_rules_forbid_leaves_its_place_to_the_next_call(clock: ManualClock) -> None:
    circuits, called = Circuits("desk", clock, Silent(), None), Called("JSONRPC/1.0", "https://desk.example/")
    not_taken(circuits, called)
    clock.time += MOST_PAUSE
    with pytest.raises(Refused), circuits.passage(called):
        raise Refused("desk.example", "private_address")
    assert circuits.wants_probe(called)


def test_of_interfaces_whose_addresses_keep_changing_the_newest_are_remembered(clock: ManualClock) -> None:
    circuits = Circuits("desk", clock, Silent(), None)
    for number in range(REMEMBERED + 1):
        not_taken(circuits, Called("JSONRPC/1.0", f"https://desk.example/{number}"))
    clock.time += MOST_PAUSE
    assert len(circuits.away) == REMEMBERED
    assert circuits.wants_probe(Called("JSONRPC/1.0", "https://desk.example/1"))
    assert not circuits.wants_probe(Called("JSONRPC/1.0", "https://desk.example/0"))
