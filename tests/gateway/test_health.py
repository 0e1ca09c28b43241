"""Alive, ready, and the numbers; and how little of it strangers see."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from core.doors.ingress import Ingress
from gateway.gauges import watch
from gateway.health import Health, Operator, health_routes
from gateway.metrics import Metrics
from gateway.supervisor import PluginHealth, PluginState
from tests.gateway.conftest import BEARER, TOKEN, Serve

FROM_OUTSIDE = {"X-Forwarded-For": "192.0.2.1"}  # as a reverse proxy on this machine adds it


class Gateway:
    def __init__(self) -> None:
        self.trouble = ""
        red = PluginHealth(PluginState.RESTARTING, 0.0, reason="OSError: no network", restarts=2, next_try=60.0)
        self.health = Health(lambda: self.trouble, lambda: {"support": red}, is_listening=True)


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


@pytest.fixture
async def client(gateway: Gateway, serve: Serve) -> AsyncIterator[aiohttp.ClientSession]:
    async with serve(health_routes(Ingress(), gateway.health, Metrics("1.2"), Operator(TOKEN))) as client:
        yield client


async def status(client: aiohttp.ClientSession, path: str, **headers: str) -> int:
    async with client.get(path, headers=headers) as answer:
        return answer.status


async def test_the_process_is_alive_whatever_the_store_says(gateway: Gateway, client: aiohttp.ClientSession) -> None:
    gateway.trouble = "the disk is full"
    assert await status(client, "/healthz") == 200


async def test_it_is_ready_while_the_store_is_held_although_a_plugin_fails(client: aiohttp.ClientSession) -> None:
    async with client.get("/readyz") as answer:
        assert answer.status == 200
        body = await answer.json()
    assert body["status"] == "ready"
    assert body["plugins"]["support"] == {
        "state": "restarting",
        "since": "1970-01-01T00:00:00.000Z",
        "reason": "OSError: no network",
        "restarts": 2,
        "next_try": "1970-01-01T00:01:00.000Z",
    }


@pytest.mark.parametrize("case", ["store", "not receiving", "draining"])
async def test_it_is_not_ready_when_work_should_go_elsewhere_and_says_why(
    gateway: Gateway, client: aiohttp.ClientSession, case: str
) -> None:
    gateway.trouble = "another process holds the lease" if case == "store" else ""
    gateway.health.is_listening = case != "not receiving"
    gateway.health.is_draining = case == "draining"
    async with client.get("/readyz") as answer:
        assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
        assert case in (await answer.json())["reasons"][0]


@pytest.mark.case("T94")
@pytest.mark.parametrize("headers", [FROM_OUTSIDE, {"Host": "evil.test"}, {"Host": "evil.test:80"}])
async def test_strangers_learn_ready_or_not_and_nothing_else(
    gateway: Gateway, client: aiohttp.ClientSession, headers: dict[str, str]
) -> None:
    async with client.get("/readyz", headers=headers) as answer:
        assert await answer.json() == {"status": "ready"}
    gateway.trouble = "the disk is full"
    async with client.get("/readyz", headers=headers) as answer:
        assert await answer.json() == {"status": "unready"}


@pytest.mark.case("T94")
@pytest.mark.parametrize(
    "headers",
    [FROM_OUTSIDE, {"Host": "evil.test"}, FROM_OUTSIDE | {"Authorization": "Bearer wrong-token-0123456789"}],
)
async def test_the_numbers_are_closed_to_strangers(client: aiohttp.ClientSession, headers: dict[str, str]) -> None:
    async with client.get("/metrics", headers=headers) as answer:
        assert answer.status == 401
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        assert "frontdesk_" not in await answer.text()


async def test_the_numbers_are_open_to_this_machine_and_to_the_operator(client: aiohttp.ClientSession) -> None:
    for headers in ({}, FROM_OUTSIDE | BEARER):
        async with client.get("/metrics", headers=headers) as answer:
            assert answer.status == 200
            assert answer.headers["Content-Type"].startswith("text/plain; version=")
            assert 'frontdesk_build_info{version="1.2"} 1.0' in await answer.text()


@pytest.mark.case("T95")
async def test_no_answer_names_versions_or_paths(client: aiohttp.ClientSession) -> None:
    for path in ("/healthz", "/readyz", "/metrics", "/nothing", "/debug", "/api"):
        async with client.get(path, headers=FROM_OUTSIDE) as answer:
            text = await answer.text()
            assert answer.headers["Server"] == "frontdesk"
        assert "aiohttp" not in text
        assert "Python" not in text
        assert "/" not in text.replace("about:blank", "").replace("text/plain", "")


async def test_two_authorization_headers_are_nobodys(client: aiohttp.ClientSession) -> None:
    two = [("Authorization", BEARER["Authorization"])] * 2
    async with client.get("/metrics", headers=[*two, *FROM_OUTSIDE.items()]) as answer:
        assert answer.status == 401


class Load:
    """Lanes, outbox and store, as far as they are counted."""

    queued, running, at_work, waiting = 7, 3, 2, 1


async def test_the_numbers_say_how_much_waits_where_and_who_is_well(gateway: Gateway) -> None:
    metrics = Metrics()
    watch(
        metrics,
        queue=Load(),
        sending=Load(),
        writing=Load(),
        health=gateway.health,
        agents=lambda: {"remote": False},
        away=lambda: {"remote": 7.5},
    )
    healthy = metrics.render().decode().splitlines()
    gateway.trouble = "the disk is full"
    unhealthy = metrics.render().decode().splitlines()
    assert {
        "frontdesk_queued_messages 7.0",
        "frontdesk_running_turns 3.0",
        "frontdesk_busy_delivery_lanes 2.0",
        "frontdesk_waiting_writes 1.0",
        "frontdesk_store_healthy 1.0",
        "frontdesk_ready 1.0",
        'frontdesk_plugin_up{account="support"} 0.0',
        'frontdesk_agent_ready{agent="remote"} 0.0',
        'frontdesk_agent_away_seconds{agent="remote"} 7.5',
    } <= set(healthy)
    assert {"frontdesk_store_healthy 0.0", "frontdesk_ready 0.0"} <= set(unhealthy)
