"""What an agent is shown: what its card asks for, of what is configured for it, and nothing besides."""

from typing import Any

import pytest

from a2a.card_wire import Card
from a2a.credentials import configured
from a2a.security import Scheme, Security, security_of
from a2a.settings import A2AAgentSettings
from core.errors import NotAuthorised
from tests.a2a.asking import ask, failure, heard
from tests.a2a.conftest import Connect
from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_bindings import NAMES
from tests.fakes.agent_card import AnyOf, ApiKeyAuth, BearerAuth

BEARER = {"kind": "bearer", "token": "t0ken"}
HEADER = {"kind": "api_key", "name": "X-API-Key", "in": "header", "value": "k3y"}
QUERY = {"kind": "api_key", "name": "key", "in": "query", "value": "k3y &="}
COOKIE = {"kind": "api_key", "name": "key", "in": "cookie", "value": "k3y"}

SCHEMES: dict[str, Any] = {
    "new-bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
    "old-bearer": {"type": "http", "scheme": "bearer"},
    "both-bearer": {"httpAuthSecurityScheme": {"scheme": "bearer"}, "type": "http", "scheme": "bearer"},
    "basic": {"type": "http", "scheme": "basic"},
    "new-key": {"apiKeySecurityScheme": {"location": "header", "name": "x-api-key"}},
    "old-key": {"type": "apiKey", "in": "query", "name": "key"},
    "cookie": {"apiKeySecurityScheme": {"location": "cookie", "name": "key"}},
    "oauth": {"oauth2SecurityScheme": {"flows": {}}},
    "empty-oauth": {"oauth2SecurityScheme": {}},
    "oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://idp.example/"},
    "mtls": {"mtlsSecurityScheme": {}},
    "nonsense": 7,
}


def asked(*alternatives: list[str], old: bool = False) -> Security:
    card: dict[str, Any] = {"name": "desk", "securitySchemes": SCHEMES}
    if old:
        card["security"] = [{name: [] for name in names} for names in alternatives]
    else:
        card["securityRequirements"] = [{"schemes": {name: {"list": []} for name in names}} for names in alternatives]
    return security_of(Card.model_validate(card))


async def shown(security: Security, *auth: dict[str, Any]) -> dict[str, str]:
    settings = A2AAgentSettings.model_validate(
        {"card": "https://agent.example/", "auth": {"kind": "several", "of": list(auth)}}
    )
    credential = await configured(settings.auth).current(security)
    query = {"query": credential.query} if credential.query else {}
    return {**credential.headers, **query}


def test_both_ways_of_writing_a_scheme_are_read() -> None:
    kinds = {scheme.name: scheme.kind for scheme in asked(list(SCHEMES))[0]}
    assert {name for name, kind in kinds.items() if kind == "bearer"} == {
        *("new-bearer", "old-bearer", "both-bearer", "oauth", "empty-oauth", "oidc")
    }
    assert {name for name, kind in kinds.items() if kind == "api_key"} == {"new-key", "old-key", "cookie"}
    assert asked(["old-key"], old=True) == ((Scheme("old-key", "api_key", "query", "key"),),)


@pytest.mark.parametrize("card", [{}, {"security": None}, {"security": 7}, {"securityRequirements": [7, "x"]}])
def test_a_card_that_asks_for_nothing_readable_asks_for_nothing(card: dict[str, Any]) -> None:
    assert security_of(Card.model_validate({"name": "desk", **card})) == ()


@pytest.mark.parametrize("old", [False, True])
async def test_all_schemes_of_one_alternative_go_along_and_no_others(old: bool) -> None:
    both = asked(["old-bearer", "old-key"], old=old)
    assert await shown(both, HEADER, QUERY, COOKIE, BEARER) == {
        "Authorization": "Bearer t0ken",
        "query": "key=k3y+%26%3D",
    }


async def test_the_first_alternative_that_can_be_met_as_a_whole_is_taken() -> None:
    ways = asked(["mtls", "new-bearer"], ["basic"], ["new-key"], ["new-bearer"])
    assert await shown(ways, BEARER, HEADER) == {"X-API-Key": "k3y"}
    assert await shown(ways, BEARER) == {"Authorization": "Bearer t0ken"}


async def test_a_configured_credential_is_used_where_none_would_do_too() -> None:
    assert await shown(asked([], ["new-bearer"]), BEARER) == {"Authorization": "Bearer t0ken"}


async def test_where_the_card_asks_for_nothing_that_is_configured_all_of_it_goes_along() -> None:
    everything = {"Authorization": "Bearer t0ken", "X-API-Key": "k3y", "Cookie": "key=k3y"}
    assert await shown((), BEARER, HEADER, COOKIE) == everything
    assert await shown(asked(["mtls"]), BEARER, HEADER, COOKIE) == everything


async def test_cookies_stand_side_by_side_and_of_one_header_the_first_is_sent() -> None:
    second = {**COOKIE, "name": "other", "value": "x"}
    assert await shown((), COOKIE, second) == {"Cookie": "key=k3y; other=x"}
    assert await shown((), BEARER, {**BEARER, "token": "other"}) == {"Authorization": "Bearer t0ken"}


@pytest.mark.parametrize("binding", NAMES)
@pytest.mark.parametrize(
    ("auth", "wanted"),
    [
        (BEARER, BearerAuth("t0ken")),
        (HEADER, ApiKeyAuth("k3y")),
        (QUERY, ApiKeyAuth("k3y &=", "key", "query")),
        (COOKIE, ApiKeyAuth("k3y", "key", "cookie")),
    ],
    ids=["bearer", "header", "query", "cookie"],
)
async def test_the_agent_sees_the_credential_of_its_table(
    connect: Connect, binding: str, auth: dict[str, str], wanted: Any
) -> None:
    async with ScriptedAgent(speaks=[binding], is_old=binding.endswith("/0.3"), auth=wanted) as agent:
        assert await heard(connect(agent.card_url, auth=auth).send(ask()))
        assert isinstance(await failure(connect(agent.card_url).send(ask(message_id="m-2"))), NotAuthorised)


@pytest.mark.parametrize("binding", ["JSONRPC/1.0", "HTTP+JSON/0.3"])
async def test_several_at_once_open_the_door_that_needs_them(connect: Connect, binding: str) -> None:
    ways = ((BearerAuth("unknown"), ApiKeyAuth("k3y", "other")), (BearerAuth("t0ken"), ApiKeyAuth("k3y")))
    async with ScriptedAgent(speaks=[binding], is_old=binding.endswith("/0.3"), auth=AnyOf(ways)) as agent:
        several = {"kind": "several", "of": [COOKIE, BEARER, HEADER]}
        assert await heard(connect(agent.card_url, auth=several).send(ask()))
        assert all("Cookie" not in call.headers for call in agent.calls)
        assert isinstance(
            await failure(connect(agent.card_url, auth=BEARER).send(ask(message_id="m-2"))), NotAuthorised
        )


async def test_what_the_card_asks_for_and_nobody_configured_is_told_to_operators(connect: Connect) -> None:
    ways = ((BearerAuth("t0ken"), ApiKeyAuth("k3y")), (ApiKeyAuth("k3y", "other"),))
    async with ScriptedAgent(auth=AnyOf(ways)) as agent:
        seen = await connect(agent.card_url, auth=BEARER).discover()
        assert seen.warnings == ("it asks for desk-0-0 with desk-0-1 or desk-1-0, and auth has nothing that suits",)
        several = {"kind": "several", "of": [BEARER, HEADER]}
        assert (await connect(agent.card_url, auth=several).discover()).warnings == ()
