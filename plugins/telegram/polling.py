"""Updates that the gateway fetches: our own loop, in which the offset moves in the commit that stores the messages.

Asking with an offset confirms everything below it, so the offset is only ever the one that was committed: what a crash
interrupts is fetched again and recognised by its keys (TG-37). One update at a time is made readable or Unreadable, so
that none can hold up those behind it (TG-38). When the host has no room, the same updates are offered again in smaller
bites, the offset not moving past what was not taken.

Only the holder of the lease asks: Telegram lets a second asker end the first one's wait with 409, and the two would
take turns for ever (TG-40). Whoever does not hold it stands by. A 409 all the same means a process elsewhere with the
same token, or a webhook left behind, which is removed; it is said once and asked more and more slowly.
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.delivery import Refusal
from core.envelope import Inbound, Moved, Unreadable
from core.errors import Busy, ConfigurationError, LeaseLost, StoreUnavailable
from core.plugin import Cursor, Intake, Leases
from plugins.telegram.failures import ApiFailure
from plugins.telegram.health import Health
from plugins.telegram.mentions import Me
from plugins.telegram.patience import Patience, token_refused, until_answered
from plugins.telegram.translate import ALLOWED_UPDATES, Ignored, read

if TYPE_CHECKING:
    from plugins.telegram.api import BotApi

POLL_TIMEOUT = 50.0  # seconds; the most that getUpdates waits (tdlib/telegram-bot-api 10.0)
BATCH = 100  # updates; the most that getUpdates gives
LEASE_TTL = 15.0  # seconds; three times the longest stall of an event loop to be survived
LEASE_RENEWAL = 5.0  # seconds
LONGEST_WAIT = 60.0  # seconds, whatever a full host asks for
RELEASE_TIMEOUT = 2.0  # seconds
CURSOR = "offset"  # the update id to ask from: the last one taken, plus one


@dataclass(frozen=True, slots=True)
class Fetched:
    """One update; `offset` confirms it and all before it."""

    offset: int
    item: Inbound | Moved | Unreadable | None  # None: nothing to store


class Poller:
    def __init__(self, api: "BotApi", me: Me, intake: Intake, health: Health, patience: Patience) -> None:
        self._api = api
        self._me = me
        self._intake = intake
        self._health = health
        self._patience = patience

    async def run(self, leases: Leases, holder: str) -> None:
        """Until cancelled; raises ConfigurationError when the token is refused."""
        name = f"telegram:{self._me.id}"
        while True:
            await self._stand_by(leases, name, holder)
            refused: ConfigurationError | None = None
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._renew(leases, name, holder), name=f"{name} lease")
                    group.create_task(self._poll(), name=f"{name} polling")
            except* LeaseLost:
                self._health.becomes("standing_by", "another process took the lease")
            except* ConfigurationError as errors:
                refused = next(_leaves(errors))
            finally:
                await _release(leases, name, holder)
            if refused is not None:
                raise refused

    async def _stand_by(self, leases: Leases, name: str, holder: str) -> None:
        while True:
            try:
                if await leases.acquire(name, holder, LEASE_TTL) is not None:
                    return
                self._health.becomes("standing_by", "another process polls for this bot")
            except StoreUnavailable as error:
                self._health.becomes("standing_by", str(error))
            await self._patience.wait(LEASE_RENEWAL)

    async def _renew(self, leases: Leases, name: str, holder: str) -> None:
        """A store that cannot be asked has until the lease runs out by itself."""
        until = self._patience.clock.monotonic() + LEASE_TTL
        while True:
            await self._patience.wait(LEASE_RENEWAL)
            try:
                if await leases.acquire(name, holder, LEASE_TTL) is None:
                    raise LeaseLost(name)
                until = self._patience.clock.monotonic() + LEASE_TTL
            except StoreUnavailable as error:
                if self._patience.clock.monotonic() >= until:
                    raise LeaseLost(name) from error

    async def _poll(self) -> None:
        await until_answered(self._api.delete_webhook, self._health, self._patience)
        known = await self._intake.cursor(CURSOR)
        offset = int(known) if known else None
        self._health.becomes("receiving")
        while True:
            fetched = fetch_all(await self._ask(offset), self._me, self._health)
            if fetched:
                await self._admit(fetched)
                offset = fetched[-1].offset

    async def _ask(self, offset: int | None) -> list[object]:
        pauses = self._patience.pauses()
        while True:
            # After an outage the first question does not wait, so that health tells at once that it is over.
            timeout = 0.0 if self._health.state == "unreachable" else POLL_TIMEOUT
            try:
                updates = await self._api.updates(offset=offset, limit=BATCH, timeout=timeout, allowed=ALLOWED_UPDATES)
                if not updates or any(_id_of(update) is not None for update in updates):
                    self._health.becomes("receiving")
                    return updates
                self._health.becomes("unreachable", "getUpdates gave updates without an update_id")
                await self._patience.wait(next(pauses))
            except ApiFailure as failure:
                await self._bear(failure, next(pauses))

    async def _bear(self, failure: ApiFailure, pause: float) -> None:
        if failure.is_kind(Refusal.UNAUTHORISED):
            raise token_refused(self._health) from failure
        if not failure.is_conflict:
            self._health.becomes("unreachable", str(failure))
        elif "webhook" in failure.text and "terminated" not in failure.text:
            self._health.becomes("conflict", "somebody set a webhook for this bot; it is removed")
            await until_answered(self._api.delete_webhook, self._health, self._patience)
        else:
            self._health.becomes("conflict", "another process elsewhere polls with this token; stop one of the two")
        await self._patience.wait(failure.retry_after or pause)

    async def _admit(self, fetched: Sequence[Fetched]) -> None:
        """All of it, in order; what is too much for the host at once goes in by halves, down to one by one."""
        rest, size = list(fetched), len(fetched)
        while rest:
            bite = rest[:size]
            batch = [each.item for each in bite if each.item is not None]
            try:
                await self._intake.accept(batch, cursor=Cursor(CURSOR, str(bite[-1].offset)))
            except (Busy, StoreUnavailable) as error:
                size = max(1, len(bite) // 2)
                await self._patience.wait(min(LONGEST_WAIT, error.retry_after))
            else:
                rest, size = rest[len(bite) :], BATCH


def fetch_all(updates: Sequence[object], me: Me, health: Health) -> list[Fetched]:
    """Each by itself, as its own bytes; an update without an id is kept with its neighbour's offset."""
    fetched: list[Fetched] = []
    offset = next(number for number in map(_id_of, updates) if number is not None) if updates else 0
    for update in updates:
        number = _id_of(update)
        offset = max(offset, number + 1) if number is not None else offset
        item = read(json.dumps(update).encode(), me)
        if isinstance(item, Ignored):
            health.ignores(item.external_id, item.reason)
        fetched.append(Fetched(offset, None if isinstance(item, Ignored) else item))
    return fetched


def _id_of(update: object) -> int | None:
    number = update.get("update_id") if isinstance(update, dict) else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _leaves(errors: BaseExceptionGroup[ConfigurationError]) -> Iterator[ConfigurationError]:
    for error in errors.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


async def _release(leases: Leases, name: str, holder: str) -> None:
    """Best effort: an unreleased lease runs out by itself."""
    try:
        async with asyncio.timeout(RELEASE_TIMEOUT):
            await leases.release(name, holder)
    except (StoreUnavailable, TimeoutError):
        pass
