"""Waiting for Telegram: what may be asked again is asked again, ever more slowly, until it is answered."""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from core.clock import Clock
from core.delivery import Refusal
from core.errors import ConfigurationError
from plugins.telegram.failures import ApiFailure
from plugins.telegram.health import Health

T = TypeVar("T")

FIRST_PAUSE = 1.0  # seconds
LONGEST_PAUSE = 60.0  # seconds; that Telegram is back is noticed within a minute

_random = random.SystemRandom()


def backoff() -> Iterator[float]:
    """Doubling pauses without end; the upper half of each is left to chance, so that gateways do not return in step."""
    for attempt in itertools.count():
        yield min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(attempt, 10)) * (0.5 + _random.random() / 2)


@dataclass(frozen=True, slots=True)
class Patience:
    """How time passes: `pauses` makes the seconds to wait after each failure in a row, and `wait` waits them."""

    clock: Clock
    pauses: Callable[[], Iterator[float]] = backoff
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep


async def until_answered(call: Callable[[], Awaitable[T]], health: Health, patience: Patience) -> T:
    """Repeat a call that may be repeated freely until Telegram answers it.

    Raises ConfigurationError for a refused token, and ApiFailure when the request itself is refused for good.
    """
    pauses = patience.pauses()
    while True:
        try:
            return await call()
        except ApiFailure as failure:
            if failure.is_kind(Refusal.UNAUTHORISED):
                raise token_refused(health) from failure
            if failure.is_kind(Refusal.MALFORMED):
                raise
            health.becomes("unreachable", str(failure))
            await patience.wait(failure.retry_after or next(pauses))


def token_refused(health: Health) -> ConfigurationError:
    setting = f"plugins.{health.account}.token"
    health.becomes("unauthorised", "Telegram does not know the token")
    return ConfigurationError(
        f"{setting}: Telegram does not know this token; put in the one that @BotFather shows for the bot",
        setting=setting,
    )
