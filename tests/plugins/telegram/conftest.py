"""One Telegram account with the guarded client, against the project's own Bot API server on loopback."""

from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

import pytest
from pydantic import ValidationError

from core.doors.outbound import GuardedClient
from plugins.telegram.plugin import TelegramPlugin
from plugins.telegram.settings import TelegramSettings
from tests.fakes.telegram import FakeTelegram
from tests.plugins.telegram.intake import ManualTime, MemoryLeases, MemoryState, RecordingIntake

SECRET = "s3cret-token_of-the-bot"


class MakePlugin(Protocol):
    def __call__(self, *, public_url: str = "", holder: str = "here", **settings: Any) -> TelegramPlugin: ...


@pytest.fixture
async def telegram() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as fake:
        yield fake


@pytest.fixture
async def client() -> AsyncIterator[GuardedClient]:
    async with GuardedClient() as client:
        yield client


@pytest.fixture
def intake() -> RecordingIntake:
    return RecordingIntake()


@pytest.fixture
def time() -> ManualTime:
    return ManualTime()


@pytest.fixture
def leases() -> MemoryLeases:
    return MemoryLeases()


@pytest.fixture
def state() -> MemoryState:
    return MemoryState()


@pytest.fixture
def make_plugin(
    telegram: FakeTelegram, client: GuardedClient, time: ManualTime, leases: MemoryLeases, state: MemoryState
) -> MakePlugin:
    """An account named "support"; settings given here replace the usual ones."""

    def make(*, public_url: str = "", holder: str = "here", **settings: Any) -> TelegramPlugin:
        usual = {"token": telegram.token, "api_base": telegram.base, "agent": "echo"}
        return TelegramPlugin(
            "support",
            TelegramSettings(**{**usual, **settings}),
            client=client,
            leases=leases,
            state=state,
            public_url=public_url,
            holder=holder,
            patience=time.patience(),
        )

    return make


@pytest.fixture
def plugin(make_plugin: MakePlugin) -> TelegramPlugin:
    return make_plugin()


@pytest.fixture
def objection() -> Callable[..., str]:
    """What pydantic says against these settings, with the setting it says it of."""

    def refused(**settings: Any) -> str:
        with pytest.raises(ValidationError) as caught:
            TelegramSettings(**{"token": "123456:TEST", "agent": "echo", **settings})
        return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in caught.value.errors())

    return refused
