"""The card of an agent as it is known: looked for at first use, kept as HTTP says, looked at again when in doubt.

One of those who need it reads it while the others wait. How long it is good for is the server's word (RFC 9111: max-age
and Expires, within bounds), an hour without one; then it is asked for on condition that it changed. A refusal that a
changed card would explain makes it be looked at before that, at most twice a minute. A card that cannot be had again
leaves the one that is known in use.
"""

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import orjson
from pydantic import ValidationError

from a2a import failures, wire
from a2a.card import CardView, origin_of, places, view
from a2a.card_wire import Card
from a2a.circuit import Called, Circuits
from a2a.credentials import Credentials
from a2a.extended_card import ExtendedCards
from a2a.security import security_of
from a2a.settings import A2AAgentSettings
from core.clock import Clock
from core.doors import outbound
from core.doors.strict_json import BadJson, check_json_bytes

CARD_LIMIT = 1 << 20  # bytes; a card with hundreds of skills is far below
CARD_TIMEOUT = 10.0  # seconds for each place; somebody may be waiting for an answer behind it
LIFETIME = 3600.0  # seconds, where the server does not say (section 8.6.2 leaves it to the client)
LEAST_LIFETIME = 60.0  # seconds; a card that must not be kept at all would have to be read before every call
MOST_LIFETIME = 24 * 3600.0  # seconds; longer, a move would be noticed by its failures alone
SECOND_LOOK = 30.0  # seconds between two looks that failed calls asked for, and after one that failed
_MAX_AGE = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?([0-9]{1,10})", re.IGNORECASE)
_NOT_KEPT = re.compile(r"(?:^|[\s,])no-(?:cache|store)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class KnownCard:
    """A card that was read, and what it takes to ask whether it still is that."""

    view: CardView
    card: Card  # the public one
    said: Mapping[str, Any]  # the same as it came
    place: str
    lifetime: float  # seconds
    conditions: Mapping[str, str]  # request headers; {} where the server gave no validator


def lifetime(headers: Mapping[str, str]) -> float:
    """Seconds for which the answer is good (RFC 9111, section 4.2), within our bounds."""
    said = headers.get("Cache-Control", "")
    age = headers.get("Age", "")
    if _NOT_KEPT.search(said):
        seconds = 0.0
    elif match := _MAX_AGE.search(said):
        seconds = float(match[1]) - (float(age) if age.isascii() and age.isdigit() else 0.0)
    elif (expires := headers.get("Expires")) is not None:
        seconds = _until(expires)
    else:
        seconds = LIFETIME
    return min(max(seconds, LEAST_LIFETIME), MOST_LIFETIME)


def _until(date: str) -> float:
    """An unreadable date is one in the past (RFC 9111, section 5.3)."""
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return 0.0
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()


def _conditions(headers: Mapping[str, str]) -> dict[str, str]:
    """What makes the next request conditional (RFC 9110, section 13.1)."""
    given = {"If-None-Match": headers.get("ETag"), "If-Modified-Since": headers.get("Last-Modified")}
    return {name: value for name, value in given.items() if value and len(value) < 1000 and value.isprintable()}


class CardReader:
    """Looks for the card in its places, once."""

    def __init__(
        self,
        settings: A2AAgentSettings,
        client: outbound.GuardedClient,
        credentials: Credentials,
        extended: ExtendedCards,
        circuits: Circuits,
    ) -> None:
        self._extended, self._circuits = extended, circuits
        self._settings = settings
        self._client = client
        self._credentials = credentials
        self._policy = outbound.OutboundPolicy(allow_private=settings.allow_private_network, body_limit=CARD_LIMIT)
        self._timeouts = outbound.Timeouts(whole=min(CARD_TIMEOUT, settings.read_timeout))

    async def read(self, known: KnownCard | None = None) -> KnownCard:
        """The card, or `known` anew where it did not change, which is asked for where it was.

        Raises CallFailed; the message says every place that was tried and how it failed.
        """
        tried: list[tuple[str, failures.CallFailed]] = []
        for place in dict.fromkeys((*((known.place,) if known else ()), *places(self._settings.card))):
            is_known = known is not None and place == known.place
            try:
                answer = await self._get(place, known.conditions if known and is_known else {})
            except outbound.OutboundError as error:
                tried.append((place, failures.of_outbound(error)))
                break  # the same would happen at the other places of this host
            if known and is_known and answer.status == 304:
                return replace(
                    known, view=await self._view(known.card, place, known), lifetime=lifetime(answer.headers)
                )
            try:
                card, said = await self._card_in(answer)
            except failures.CallFailed as failure:
                tried.append((place, failure))
                continue
            seen = await self._view(card, place, known)
            return KnownCard(seen, card, said, place, lifetime(answer.headers), _conditions(answer.headers))
        raise _not_found(tried)

    async def _view(self, card: Card, place: str, known: KnownCard | None) -> CardView:
        """The very object that is known, where nothing of it is different."""
        seen = await self._extended.seen(card, self._public(card, place))
        return known.view if known is not None and known.view == seen else seen

    def _public(self, card: Card, place: str) -> CardView:
        seen, asked = view(card, place, self._settings), security_of(card)
        if all(asked) and asked and self._credentials.choice(asked) is None:
            names = " or ".join(" with ".join(scheme.name for scheme in schemes) for schemes in asked)
            return replace(seen, warnings=(*seen.warnings, f"it asks for {names}, and auth has nothing that suits"))
        return seen

    async def _get(self, place: str, conditions: Mapping[str, str]) -> outbound.Answer:
        """Cards are public by rule (section 8.2), so the credential goes along only where it is asked for.

        It is meant for the agent: with an interface set to another origin, the card's host never sees it.
        """
        answer = await self._request(place, conditions)
        own = self._settings.url is None or origin_of(self._settings.url) == origin_of(place)
        if answer.status != 401 or not own:
            return answer
        credential = await self._credentials.current(())
        if not credential.secrets:
            return answer
        return await self._request(credential.url(place), credential.beside(conditions))

    async def _request(self, url: str, headers: Mapping[str, str]) -> outbound.Answer:
        with self._circuits.passage(Called("card", self._settings.card)) as passage:
            answer = await self._client.request(
                "GET",
                url,
                policy=self._policy,
                headers={"Accept": "application/json", "A2A-Version": wire.PROTOCOL_VERSION, **headers},
                timeouts=self._timeouts,
            )
            passage.answered(answer.status, answer.headers)
            return answer

    async def _card_in(self, answer: outbound.Answer) -> tuple[Card, Mapping[str, Any]]:
        sample = failures.sample_of(answer.body, *(await self._credentials.current(())).secrets)
        if answer.status != 200:
            raise failures.of_status(answer.status, answer.headers, sample)
        try:
            check_json_bytes(answer.body)
            return Card.model_validate_json(answer.body), orjson.loads(answer.body)
        except (BadJson, ValidationError):
            raise failures.HttpRefused("holds no agent card", status=200, sample=sample) from None


def _not_found(tried: list[tuple[str, failures.CallFailed]]) -> failures.CallFailed:
    """One failure for all places: a definite one where any was definite, else one that time may heal."""
    said = "; ".join(f"{place.partition('?')[0]} {failure}" for place, failure in tried)
    sample = next((failure.sample for _, failure in tried if failure.sample), "")
    message = f"no agent card found: {said}"
    for kind in (failures.Unusable, failures.Unauthorised):
        if any(isinstance(failure, kind) for _, failure in tried):
            return kind(message, sample=sample)
    pause = next((failure.retry_after for _, failure in tried if isinstance(failure, failures.NotTaken)), None)
    return failures.NotTaken(message, retry_after=pause, sample=sample)


class CardKeeper:
    """The card as it is known; shared by all calls to one agent."""

    def __init__(self, reader: CardReader, clock: Clock) -> None:
        self._reader = reader
        self._clock = clock
        self._lock = asyncio.Lock()
        self._known: KnownCard | None = None
        self._good_for = 0.0  # seconds after the last look
        self._looked = 0.0  # monotonic time of the last look
        self._has_failed = False  # the last look
        self._looks = 0  # that came to an end
        self._failure: failures.CallFailed = failures.NotTaken("its card was never read")  # of the last that failed

    @property
    def known(self) -> CardView | None:
        """None before the first one was read."""
        return self._known.view if self._known else None

    @property
    def failure(self) -> str:
        """Why the last look failed; "" when it did not."""
        return str(self._failure) if self._has_failed else ""

    async def glance(self, patience: float) -> KnownCard | None:
        """The card, read now if need be; None where none is to be had within so many seconds.

        Strangers may ask for it, so a look that failed is not repeated for them before its time. A look that is under
        way is not waited for: the card may be made of ours, whose maker asks for it in turn.
        """
        has_just_failed = self._has_failed and self._age() < SECOND_LOOK
        if not (has_just_failed or self._lock.locked()):
            with suppress(failures.CallFailed, TimeoutError):
                async with asyncio.timeout(patience):
                    await self.view()
        return self._known

    async def view(self) -> CardView:
        """Raises CallFailed where no card was ever had; those who waited for a look that failed do not look again."""
        if self._known is not None and (self._lock.locked() or self._age() < self._good_for):
            return self._known.view
        seen = self._looks
        async with self._lock:
            if self._looks == seen:
                with suppress(failures.CallFailed):
                    await self._look()
            if self._known is None:
                raise self._failure.with_traceback(None)
            return self._known.view

    async def second_look(self, used: CardView) -> CardView:
        """After a refusal that a changed card would explain: the card as it is known then, which may be `used`."""
        async with self._lock:
            if self._known is not None and self._known.view is used and self._age() >= SECOND_LOOK:
                with suppress(failures.CallFailed):
                    await self._look()
            return used if self._known is None else self._known.view

    async def look(self) -> CardView:
        """The card as it is at this moment; raises CallFailed."""
        async with self._lock:
            return (await self._look()).view

    def _age(self) -> float:
        return self._clock.monotonic() - self._looked

    async def _look(self) -> KnownCard:
        """A look that is cancelled was none: whoever waits takes its place."""
        try:
            known = await self._reader.read(self._known)
        except failures.CallFailed as failure:
            self._failure, self._has_failed = failure, True
            self._count(SECOND_LOOK)
            raise
        self._known, self._has_failed = known, False
        self._count(known.lifetime)
        return known

    def _count(self, good_for: float) -> None:
        self._looks += 1
        self._looked = self._clock.monotonic()
        self._good_for = good_for
