"""Cards: what they say, to whom, and how they are kept."""

from dataclasses import replace
from typing import Any

import pytest

from a2a.server import cards
from a2a.server.settings import A2AServerSettings
from tests.a2a.server.site import DESK, OTHER, Site, serving

WELL_KNOWN = "/.well-known/agent-card.json"
KEY = "a-key-of-a-caller-0123456789"


async def read(site: Site, path: str = WELL_KNOWN) -> dict[str, Any]:
    answer = await site.ask("GET", path, version=None)
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
    card: dict[str, Any] = answer.said
    return card


async def test_the_card_has_the_interfaces_of_both_versions(site: Site) -> None:
    card = await read(site)
    assert (card["name"], card["description"], card["version"]) == ("Research desk", "Finds things out.", "2.1")
    assert [(each["protocolBinding"], each["protocolVersion"]) for each in card["supportedInterfaces"]] == [
        ("JSONRPC", "1.0"),
        ("HTTP+JSON", "1.0"),
        ("JSONRPC", "0.3"),
        ("HTTP+JSON", "0.3"),
    ]
    assert {each["url"] for each in card["supportedInterfaces"]} == {site.url}
    assert (card["url"], card["preferredTransport"], card["protocolVersion"]) == (site.url, "JSONRPC", "0.3.0")
    assert card["additionalInterfaces"][1] == {"url": site.url, "transport": "HTTP+JSON"}
    assert card["capabilities"] == {"streaming": True, "pushNotifications": True, "extendedAgentCard": False}
    assert card["skills"] == [{"id": "find", "name": "Find", "description": "Finds things.", "tags": ["search"]}]


async def test_a_card_of_1_0_alone_has_nothing_of_0_3() -> None:
    async with serving(hybrid_card=False, callers=[{"name": "anna", "key": KEY}], extended_card=True) as site:
        card = await read(site)
    old = {"url", "preferredTransport", "additionalInterfaces", "protocolVersion", "security"}
    assert not (old | {"supportsAuthenticatedExtendedCard"}) & set(card)
    assert list(card["securitySchemes"]["apiKey"]) == ["apiKeySecurityScheme"]


async def test_every_agent_has_its_card_below_its_own_path_and_the_default_one_at_the_origin() -> None:
    async with serving(expose=[OTHER]) as site:
        for path in (WELL_KNOWN, "/.well-known/agent.json", f"/a2a/desk{WELL_KNOWN}"):
            assert (await read(site, path))["url"] == site.url
        other = await read(site, f"/a2a/{OTHER}{WELL_KNOWN}")
        assert other["url"] == f"{site.base}/a2a/{OTHER}"


@pytest.mark.case("A2A-21")
async def test_the_card_is_found_at_the_older_path_too(site: Site) -> None:
    assert await read(site, "/.well-known/agent.json") == await read(site)


@pytest.mark.case("T60")
async def test_the_card_says_how_to_authenticate_and_holds_no_secret() -> None:
    callers = [{"name": "anna", "key": KEY}, {"name": "ben", "bearer": "b" + KEY}]
    async with serving(anonymous="off", callers=callers) as site:
        card = await read(site)
    assert card["securitySchemes"] == {
        "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}, "type": "http", "scheme": "Bearer"},
        "apiKey": {
            "apiKeySecurityScheme": {"location": "header", "name": "X-API-Key"},
            "type": "apiKey",
            "in": "header",
            "name": "X-API-Key",
        },
    }
    assert card["securityRequirements"] == [
        {"schemes": {"bearer": {"list": []}}},
        {"schemes": {"apiKey": {"list": []}}},
    ]
    assert card["security"] == [{"bearer": []}, {"apiKey": []}]
    assert KEY not in str(card)
    assert "anna" not in str(card)


async def test_where_strangers_are_let_in_nothing_is_required() -> None:
    async with serving(callers=[{"name": "anna", "key": KEY}]) as site:
        card = await read(site)
    assert list(card["securitySchemes"]) == ["apiKey"]
    assert "securityRequirements" not in card


async def test_what_the_operator_writes_holds() -> None:
    written = {
        "name": "Desk of ours",
        "description": "Ours.",
        "version": "7",
        "provider": {"organization": "We", "url": "https://example.com"},
        "documentation_url": "https://example.com/docs",
        "icon_url": "https://example.com/icon.png",
        "skills": [{"id": "s", "name": "S", "description": "Does s.", "tags": ["t"], "examples": ["do s"]}],
        "extended_skills": [{"id": "x", "name": "X", "description": "Does x.", "tags": ["t"]}],
        "input_modes": ["text/plain"],
    }
    callers = [{"name": "anna", "key": KEY}]
    async with serving(anonymous="off", cards={"desk": written}, callers=callers, extended_card=True) as site:
        card = await read(site)
        extended = (await site.rest("GET", "/extendedAgentCard", headers={"X-API-Key": KEY})).said
    assert (card["name"], card["version"], card["provider"]["organization"]) == ("Desk of ours", "7", "We")
    assert (card["documentationUrl"], card["defaultInputModes"]) == ("https://example.com/docs", ["text/plain"])
    assert [skill["id"] for skill in card["skills"]] == ["s"]
    assert [skill["id"] for skill in extended["skills"]] == ["s", "x"]
    assert (card["capabilities"]["extendedAgentCard"], card["supportsAuthenticatedExtendedCard"]) == (True, True)


async def test_extensions_are_declared() -> None:
    offered = [{"uri": "urn:x", "description": "X", "required": True, "params": {"a": 1}}, {"uri": "urn:y"}]
    async with serving(extensions=offered) as site:
        declared = (await read(site))["capabilities"]["extensions"]
    assert declared == [offered[0], {"uri": "urn:y", "required": False}]


async def test_a_card_is_revalidated_by_its_tag_or_its_date(site: Site) -> None:
    first = await site.ask("GET", WELL_KNOWN)
    etag, date = first.headers["ETag"], first.headers["Last-Modified"]
    assert first.headers["Cache-Control"] == "public, max-age=300"
    assert date == "Thu, 28 May 2026 20:26:40 GMT"
    for headers, status in (
        ({"If-None-Match": etag}, 304),
        ({"If-None-Match": f'"x", W/{etag}'}, 304),
        ({"If-None-Match": "*"}, 304),
        ({"If-None-Match": '"another"'}, 200),
        ({"If-None-Match": '"another"', "If-Modified-Since": date}, 200),
        ({"If-Modified-Since": date}, 304),
        ({"If-Modified-Since": "Thu, 28 May 2026 20:26:39 GMT"}, 200),
        ({"If-Modified-Since": "yesterday"}, 200),
    ):
        answer = await site.ask("GET", WELL_KNOWN, headers=headers)
        assert (answer.status, answer.headers["ETag"]) == (status, etag)


@pytest.mark.case("T99")
@pytest.mark.parametrize("host", ["evil.test/x", "a b", "x@y", '"><script>'])
async def test_without_a_public_url_an_odd_host_gets_no_card(site: Site, host: str) -> None:
    assert (await site.ask("GET", WELL_KNOWN, headers={"Host": host})).status == 400


def test_an_agent_that_says_nothing_of_skills_has_one() -> None:
    made = cards.card(replace(DESK, skills=()), "https://x", A2AServerSettings(agent="desk"))
    assert [skill["name"] for skill in made["skills"]] == ["Research desk"]
