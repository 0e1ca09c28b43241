"""How long a card is good for, and how it is asked for again: as HTTP says, within bounds."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from a2a.card_keeping import LEAST_LIFETIME, LIFETIME, MOST_LIFETIME, SECOND_LOOK, lifetime
from tests.a2a.asking import ask, failure, heard
from tests.a2a.conftest import Connect
from tests.doubles.clock import ManualClock
from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_card import ApiKeyAuth, BearerAuth
from tests.fakes.scripting import http_status


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, LIFETIME),
        ({"Cache-Control": "public, max-age=600"}, 600.0),
        ({"Cache-Control": 'MAX-AGE="600"'}, 600.0),
        ({"Cache-Control": "s-maxage=10, max-age=600"}, 600.0),
        ({"Cache-Control": "max-age=600", "Age": "100"}, 500.0),
        ({"Cache-Control": "max-age=600", "Age": "soon"}, 600.0),
        ({"Cache-Control": "max-age=600", "Expires": "0"}, 600.0),
        ({"Cache-Control": "max-age=0"}, LEAST_LIFETIME),
        ({"Cache-Control": "no-store"}, LEAST_LIFETIME),
        ({"Cache-Control": "max-age=600, no-cache"}, LEAST_LIFETIME),
        ({"Cache-Control": "max-age=9999999999"}, MOST_LIFETIME),
        ({"Cache-Control": "max-age=soon"}, LIFETIME),
        ({"Expires": "0"}, LEAST_LIFETIME),
    ],
    ids=str,
)
def test_the_server_says_how_long_its_card_is_good_for(headers: dict[str, str], seconds: float) -> None:
    assert lifetime(headers) == seconds


def test_a_date_of_expiry_counts_from_now() -> None:
    said = format_datetime(datetime.now(UTC) + timedelta(seconds=900), usegmt=True)
    assert lifetime({"Expires": said}) == pytest.approx(900, abs=5)


VALIDATORS = [
    ({"ETag": '"one"'}, "If-None-Match", '"one"'),
    ({"ETag": 'W/"one"'}, "If-None-Match", 'W/"one"'),
    (
        {"Last-Modified": "Wed, 01 Jul 2026 10:00:00 GMT"},
        "If-Modified-Since",
        "Wed, 01 Jul 2026 10:00:00 GMT",
    ),
]


@pytest.mark.parametrize(("headers", "asked", "value"), VALIDATORS, ids=lambda each: str(each))
async def test_an_aged_card_is_asked_for_on_condition_that_it_changed(
    connect: Connect, clock: ManualClock, headers: dict[str, str], asked: str, value: str
) -> None:
    async with ScriptedAgent(card_headers={"Cache-Control": "max-age=600", **headers}) as agent:
        remote = connect(agent.base)
        first = await remote.discover()
        clock.time += 599
        await heard(remote.send(ask()))
        assert len(agent.calls_of("card")) == 1
        clock.time += 1
        await heard(remote.send(ask(message_id="m-2")))
        assert await remote.discover() is not None
        calls = agent.calls_of("card")
        assert (asked in calls[0].headers, calls[1].headers[asked]) == (False, value)
        clock.time += 599
        await heard(remote.send(ask(message_id="m-3")))
        assert len(agent.calls_of("card")) == 3
        assert (await remote.discover()).endpoint == first.endpoint


async def test_a_changed_card_takes_the_place_of_the_old_one(connect: Connect, clock: ManualClock) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url)
        assert (await remote.discover()).name == "scripted"
        agent.name = "renamed"
        assert (await remote.discover()).name == "renamed"


async def test_a_card_is_asked_for_where_it_was_found_and_elsewhere_only_when_it_is_gone(connect: Connect) -> None:
    async with ScriptedAgent(prefix="/nested", card_paths=("/.well-known/agent.json",)) as agent:
        remote = connect(f"{agent.base}/nested")
        await remote.discover()
        agent.calls.clear()
        await remote.discover()
        assert [call.path for call in agent.calls] == ["/nested/.well-known/agent.json"]
        agent.fault("card", respond=http_status(404))
        await failure(remote.discover())
        assert len(agent.calls) > 2


async def test_a_server_that_answers_not_modified_unasked_gave_no_card(connect: Connect) -> None:
    async with ScriptedAgent() as agent:
        agent.fault("card", respond=http_status(304))
        assert "answered HTTP 304" in str(await failure(connect(agent.card_url).discover()))


async def test_a_card_that_cannot_be_had_again_is_tried_anew_soon(connect: Connect, clock: ManualClock) -> None:
    async with ScriptedAgent() as agent:
        remote = connect(agent.card_url)
        await remote.discover()
        clock.time += LIFETIME
        agent.fault("card", respond=http_status(500))
        for second, looks in ((0.0, 2), (SECOND_LOOK - 1, 2), (1.0, 3), (LIFETIME - 1, 3)):
            clock.time += second
            await heard(remote.send(ask(message_id=f"m-{clock.time}")))
            assert len(agent.calls_of("card")) == looks


async def test_a_card_whose_authentication_changed_is_read_anew(connect: Connect, clock: ManualClock) -> None:
    several: Any = {
        "kind": "several",
        "of": [{"kind": "bearer", "token": "t0ken"}, {"kind": "api_key", "name": "X-API-Key", "value": "k3y"}],
    }
    async with ScriptedAgent(auth=BearerAuth("t0ken")) as agent:
        remote = connect(agent.card_url, auth=several)
        assert await heard(remote.send(ask()))
        agent.auth = ApiKeyAuth("k3y")
        clock.time += SECOND_LOOK
        assert await heard(remote.send(ask(message_id="m-2")))
    assert len(agent.calls_of("card")) == 2
