"""A remote agent under test: the real client, the real guarded client, and a fake or foreign agent on loopback."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from a2a import A2AAgentSettings, RemoteAgent
from a2a.credentials import CredentialSource, fixed
from core.doors.outbound import GuardedClient


@dataclass
class ManualClock:
    """Moves only when a test moves it."""

    seconds: float = 1000.0

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds


Connect = Callable[..., RemoteAgent]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def client() -> AsyncIterator[GuardedClient]:
    async with GuardedClient() as guarded:
        yield guarded


@pytest.fixture
def connect(client: GuardedClient, clock: ManualClock) -> Connect:
    """A remote agent for a card's URL; loopback is allowed unless the test says otherwise."""

    def remote(card: str, *, source: CredentialSource | None = None, **settings: Any) -> RemoteAgent:
        known = A2AAgentSettings.model_validate({"card": card, "allow_private_network": True, **settings})
        return RemoteAgent("desk", known, client, source or fixed(known.auth), clock=clock)

    return remote
