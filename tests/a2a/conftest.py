"""A remote agent under test: the real client, the real guarded client, and a fake or foreign agent on loopback."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from a2a import A2AAgentSettings, RemoteAgent
from a2a.credentials import Credentials, CredentialSource, configured
from core.doors.outbound import GuardedClient
from core.plugin import PluginState
from core.store import Store
from gateway.store.sqlite import SqliteStore
from tests.doubles.store import MemoryStore


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """What served tasks are tried over: the double, and the real engine."""
    if request.param == "memory":
        yield MemoryStore()
        return
    async with SqliteStore(tmp_path / "desk.db") as sqlite:
        await sqlite.hold()
        yield sqlite


@dataclass
class ManualClock:
    """Moves only when a test moves it."""

    seconds: float = 1000.0

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds


class Told:
    """Keeps the events that an operator would see."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []

    def event(self, name: str, /, **fields: object) -> None:
        self.events.append((name, fields))


Connect = Callable[..., RemoteAgent]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def telemetry() -> Told:
    return Told()


@pytest.fixture
async def client() -> AsyncIterator[GuardedClient]:
    async with GuardedClient() as guarded:
        yield guarded


@pytest.fixture
def connect(client: GuardedClient, clock: ManualClock, telemetry: Told) -> Connect:
    """A remote agent for a card's URL; loopback is allowed unless the test says otherwise."""

    def remote(
        card: str, *, source: CredentialSource | None = None, state: PluginState | None = None, **settings: Any
    ) -> RemoteAgent:
        known = A2AAgentSettings.model_validate({"card": card, "allow_private_network": True, **settings})
        credentials = configured(known.auth) if source is None else Credentials((source,))
        return RemoteAgent("desk", known, client, credentials, clock=clock, telemetry=telemetry, state=state)

    return remote
