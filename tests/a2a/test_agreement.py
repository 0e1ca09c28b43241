"""A card that changes in what matters: nothing is sent until the operator agrees; and the card for those it knows."""

from typing import Any

import pytest

from a2a.card_keeping import SECOND_LOOK
from core.errors import AgentPaused, Declined, NotAccepted, StoreUnavailable, Unreachable
from tests.a2a.asking import ask, failure, heard, ref_of
from tests.a2a.conftest import Connect
from tests.doubles.clock import ManualClock
from tests.doubles.events import Events
from tests.doubles.store import MemoryStore
from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_bindings import NAMES
from tests.fakes.agent_card import BearerAuth
from tests.fakes.agent_rpc import rpc_error
from tests.fakes.agent_scripts import ask_then_answer
from tests.fakes.scripting import http_status

TOKEN = {"kind": "bearer", "token": "t0ken"}
SKILL = {"id": "pay", "name": "Pay", "description": "Pays", "tags": ["money"]}


@pytest.fixture
def state() -> MemoryStore:
    return MemoryStore()


CHANGES: dict[str, dict[str, Any]] = {
    "skills": {"skills": [SKILL]},
    "authentication": {"securitySchemes": {"key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}}},
    "interfaces": {"additionalInterfaces": [{"url": "https://elsewhere.example/rpc", "transport": "JSONRPC"}]},
}


@pytest.mark.case("T70")
@pytest.mark.case("T72")
@pytest.mark.parametrize("what", CHANGES)
async def test_a_card_that_changes_in_what_matters_stops_everything_until_the_operator_agrees(
    connect: Connect, state: MemoryStore, clock: ManualClock, telemetry: Events, what: str
) -> None:
    async with ScriptedAgent(ask_then_answer(), is_old=what == "interfaces") as agent:
        remote = connect(agent.card_url, state=state)
        task = ref_of((await heard(remote.send(ask())))[0])
        agent.card_extra = CHANGES[what]
        clock.time += 7200
        sent = len(agent.calls)
        error = await failure(remote.send(ask(message_id="m-2")))
        assert isinstance(error, AgentPaused)
        assert what in str(error)
        assert "frontdesk agent agree desk" in str(error)
        for asked in (remote.get(task), remote.cancel(task), remote.subscribe(task)):
            assert isinstance(await failure(asked), Unreachable)
        assert isinstance(await failure(remote.send(ask("Friday", message_id="m-3", task=task))), AgentPaused)
        assert {call.method for call in agent.calls[sent:]} == {"card"}
        [(name, fields)] = telemetry.seen
        assert (name, fields["changed"]) == ("agent.card_changed", [what])
        report = remote.connection.report()
        assert report.changed == (what,)
        assert report.card is not None
        await remote.connection.agree(report.card.fingerprint)
        assert await heard(remote.send(ask(message_id="m-4")))
        assert remote.connection.report().changed == ()


async def test_whoever_waited_for_the_operator_s_agreement_is_told_of_it(
    connect: Connect, state: MemoryStore, clock: ManualClock
) -> None:
    backs: list[float] = []
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url, state=state, on_back=lambda: backs.append(clock.time))
        await heard(remote.send(ask()))
        agent.card_extra = CHANGES["skills"]
        clock.time += 7200
        assert isinstance(await failure(remote.send(ask(message_id="m-2"))), AgentPaused)
        report = remote.connection.report()
        assert report.card is not None
        assert isinstance(await failure(remote.connection.agree("f" * 32)), Declined)
        assert backs == []
        await remote.connection.agree(report.card.fingerprint)
        assert backs == [clock.time]


@pytest.mark.case("T70")
@pytest.mark.parametrize("scopes", [["read"], ["*"], ["read", "admin", "*"]])
async def test_whatever_scope_a_card_asks_for_its_agent_gets_the_configured_token_alone(
    connect: Connect, scopes: list[str]
) -> None:
    flow = {"clientCredentials": {"tokenUrl": "https://id.example/token", "scopes": dict.fromkeys(scopes, "x")}}
    async with ScriptedAgent(auth=BearerAuth("t0ken")) as agent:
        agent.card_extra = {
            "securitySchemes": {"wide": {"oauth2SecurityScheme": {"flows": flow}}},
            "securityRequirements": [{"schemes": {"wide": {"list": scopes}}}],
        }
        await heard(connect(agent.card_url, auth=TOKEN).send(ask()))
        [call] = agent.calls_of("SendStreamingMessage")
        assert call.headers["Authorization"] == "Bearer t0ken"
        assert "scope" not in str((call.headers, call.params))


@pytest.mark.case("T72")
async def test_an_address_that_changes_is_not_called_before_the_operator_agrees(
    connect: Connect, state: MemoryStore, clock: ManualClock
) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url, state=state)
        await heard(remote.send(ask()))
        moved = {"url": f"{agent.url}/moved", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        agent.card_extra = {"supportedInterfaces": [moved]}
        clock.time += 7200
        sent = len(agent.calls)
        error = await failure(remote.send(ask(message_id="m-2")))
        assert isinstance(error, AgentPaused)
        assert "interfaces" in str(error)
        assert {call.method for call in agent.calls[sent:]} == {"card"}


@pytest.mark.case("T72")
async def test_callers_are_shown_the_words_of_a_changed_card_once_the_operator_agreed(
    connect: Connect, state: MemoryStore, clock: ManualClock
) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url, state=state)
        agreed = await remote.card()
        agent.card_extra = CHANGES["skills"]
        clock.time += 7200
        assert await remote.card() == agreed
        assert await connect(agent.card_url, state=state).card() == {}
        await remote.connection.agree((await remote.discover()).fingerprint)
        assert (await remote.card())["skills"] == [SKILL]


async def test_the_agreement_holds_over_restarts_and_so_does_its_lack(
    connect: Connect, state: MemoryStore, clock: ManualClock
) -> None:
    async with ScriptedAgent() as agent:
        await heard(connect(agent.card_url, state=state).send(ask()))
        await heard(connect(agent.card_url, state=state).send(ask(message_id="m-2")))
        agent.card_extra = CHANGES["skills"]
        for _ in range(2):
            assert isinstance(await failure(connect(agent.card_url, state=state).send(ask())), AgentPaused)
        remote = connect(agent.card_url, state=state)
        await remote.connection.agree((await remote.discover()).fingerprint)
        assert await heard(connect(agent.card_url, state=state).send(ask(message_id="m-3")))


async def test_what_does_not_matter_may_change(connect: Connect, state: MemoryStore, clock: ManualClock) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url, state=state)
        await heard(remote.send(ask()))
        agent.card_extra = {"description": "says it anew", "version": "2.0.0", "iconUrl": "https://x.example/i.png"}
        clock.time += 7200
        assert await heard(remote.send(ask(message_id="m-2")))


async def test_a_card_that_changes_back_needs_no_agreement(
    connect: Connect, state: MemoryStore, clock: ManualClock
) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url, state=state)
        await heard(remote.send(ask()))
        agent.card_extra = CHANGES["skills"]
        clock.time += 7200
        assert isinstance(await failure(remote.send(ask(message_id="m-2"))), AgentPaused)
        agent.card_extra = {}
        clock.time += 7200
        assert await heard(remote.send(ask(message_id="m-3")))
        assert remote.connection.report().changed == ()


async def test_the_operator_agrees_to_the_card_that_was_shown_and_to_no_other(
    connect: Connect, state: MemoryStore
) -> None:
    async with ScriptedAgent() as agent:
        await heard(connect(agent.card_url, state=state).send(ask()))
        agent.card_extra = CHANGES["skills"]
        remote = connect(agent.card_url, state=state)
        shown = (await remote.discover()).fingerprint
        agent.card_extra = {"skills": [{**SKILL, "id": "steal"}]}
        with pytest.raises(Declined, match="look at it anew"):
            await remote.connection.agree(shown)
        assert isinstance(await failure(remote.send(ask(message_id="m-2"))), AgentPaused)


async def test_another_card_in_the_settings_is_the_operators_own_word(connect: Connect, state: MemoryStore) -> None:
    async with ScriptedAgent() as agent, ScriptedAgent(card_extra=CHANGES["skills"]) as other:
        await heard(connect(agent.card_url, state=state).send(ask()))
        assert await heard(connect(other.card_url, state=state).send(ask(message_id="m-2")))


async def test_a_store_that_cannot_say_what_was_agreed_to_lets_nothing_out(connect: Connect) -> None:
    class Locked(MemoryStore):
        async def read(self, account: str, name: str) -> tuple[str, int] | None:
            raise StoreUnavailable("locked")

    async with ScriptedAgent() as agent:
        error = await failure(connect(agent.card_url, state=Locked()).send(ask()))
        assert isinstance(error, NotAccepted)
        assert not isinstance(error, AgentPaused)
        assert [call.method for call in agent.calls] == ["card"]


async def test_a_refusal_that_shows_a_changed_card_is_not_followed_there(
    connect: Connect, state: MemoryStore, clock: ManualClock
) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url, state=state)
        await heard(remote.send(ask()))
        agent.card_extra = CHANGES["skills"]
        clock.time += SECOND_LOOK
        agent.fault("SendStreamingMessage", respond=http_status(404))
        assert isinstance(await failure(remote.send(ask(message_id="m-2"))), AgentPaused)


# ---------------------------------------------------------------------------------------------- test


async def test_an_agent_is_tested_without_giving_it_work(connect: Connect) -> None:
    async with ScriptedAgent(auth=BearerAuth("t0ken")) as agent:
        await connect(agent.card_url, auth=TOKEN).connection.test()
        assert list(agent.tasks) == []
        assert isinstance(await failure(connect(agent.card_url).connection.test()), Declined)
        agent.fault("GetTask", respond=rpc_error(-32601), times=None)
        assert isinstance(await failure(connect(agent.card_url, auth=TOKEN).connection.test()), Declined)
    assert isinstance(await failure(connect(agent.card_url, auth=TOKEN).connection.test()), Unreachable)


async def test_a_connection_says_how_it_is_without_asking(connect: Connect) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url)
        assert remote.connection.report().card is None
        await remote.discover()
        report = remote.connection.report()
        assert report.card is not None
        assert (report.changed, report.failure) == ((), "")
        calls = len(agent.calls)
        await agent.go_down()
        assert isinstance(await failure(remote.discover()), Unreachable)
        assert "no agent card found" in remote.connection.report().failure
        assert len(agent.calls) == calls


# ---------------------------------------------------------------------------------------------- extended cards


@pytest.mark.parametrize("name", NAMES)
async def test_the_extended_card_takes_the_place_of_the_public_one(connect: Connect, name: str) -> None:
    extra = {"name": "known to you", "skills": [SKILL]}
    old = name.endswith("/0.3")
    async with ScriptedAgent(speaks=[name], is_old=old, auth=BearerAuth("t0ken"), extended_extra=extra) as agent:
        seen = await connect(agent.card_url, auth=TOKEN).discover()
        assert (seen.name, seen.is_extended) == ("known to you", True)
        [call] = agent.calls_of("GetExtendedAgentCard")
        assert call.headers["Authorization"] == "Bearer t0ken"


async def test_without_credentials_or_an_offer_the_public_card_is_used(connect: Connect) -> None:
    async with ScriptedAgent(extended_extra={"name": "more"}) as agent:
        assert not (await connect(agent.card_url).discover()).is_extended
        agent.extended_extra = None
        assert not (await connect(agent.card_url, auth=TOKEN).discover()).is_extended
        assert agent.calls_of("GetExtendedAgentCard") == []


async def test_an_extended_card_that_cannot_be_had_leaves_the_public_one_and_pauses_nothing(
    connect: Connect, state: MemoryStore, clock: ManualClock
) -> None:
    async with ScriptedAgent(extended_extra={"skills": [SKILL]}) as agent:
        remote = connect(agent.card_url, auth=TOKEN, state=state)
        assert await heard(remote.send(ask()))
        agent.fault("GetExtendedAgentCard", respond=rpc_error(-32603))
        clock.time += 7200
        assert await heard(remote.send(ask(message_id="m-2")))
        clock.time += 7200
        agent.extended_extra = {"skills": [{**SKILL, "id": "steal"}]}
        error = await failure(remote.send(ask(message_id="m-3")))
        assert isinstance(error, AgentPaused)
        assert "extended skills" in str(error)


@pytest.mark.case("T32")
async def test_an_extended_card_leads_no_call_to_another_origin(connect: Connect) -> None:
    async with ScriptedAgent() as other, ScriptedAgent(extended_extra={}) as agent:
        interfaces = [{"url": other.url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
        agent.extended_extra = {"supportedInterfaces": interfaces}
        remote = connect(agent.card_url, auth=TOKEN)
        seen = await remote.discover()
        assert not seen.is_extended
        assert any("another origin" in warning for warning in seen.warnings)
        assert await heard(remote.send(ask()))
        assert other.calls == []
