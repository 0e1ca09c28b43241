"""A remote agent under test: the real client, the real guarded client, and a fake or foreign agent on loopback."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from a2a import A2AAgentSettings, RemoteAgent
from a2a.credentials import Credentials, CredentialSource, configured
from core.doors.outbound import GuardedClient
from core.plugin import PluginState
from tests.core.conftest import store as store  # what served tasks are tried over
from tests.doubles.clock import ManualClock
from tests.doubles.events import Events

Connect = Callable[..., RemoteAgent]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def telemetry() -> Events:
    return Events()


@pytest.fixture
async def client() -> AsyncIterator[GuardedClient]:
    async with GuardedClient() as guarded:
        yield guarded


@pytest.fixture
def connect(client: GuardedClient, clock: ManualClock, telemetry: Events) -> Connect:
    """A remote agent for a card's URL; loopback is allowed unless the test says otherwise."""

    def remote(
        card: str,
        *,
        source: CredentialSource | None = None,
        state: PluginState | None = None,
        on_back: Callable[[], None] | None = None,
        **settings: Any,
    ) -> RemoteAgent:
        known = A2AAgentSettings.model_validate({"card": card, "allow_private_network": True, **settings})
        credentials = configured(known.auth) if source is None else Credentials((source,))
        return RemoteAgent(
            "desk", known, client, credentials, clock=clock, telemetry=telemetry, state=state, on_back=on_back
        )

    return remote
