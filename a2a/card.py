"""Where an agent is found and how it is spoken to, out of its card (A2A 1.0, sections 4.4 and 8).

The card is data from a stranger: only the interface, the streaming capability, a name and a version are read, nothing
in it is obeyed, and an interface at another origin than the card's is refused unless the settings name its URL.

The card is fetched at first use, by one of those who need it while the others wait, and kept for an hour. A refusal
that a changed card would explain makes it be looked at again, at most twice a minute; a card that cannot be had again
leaves the one that is known in use.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from pydantic import ValidationError

from a2a import failures, wire
from a2a.credentials import CredentialSource
from a2a.settings import A2AAgentSettings
from core.clock import Clock
from core.doors import outbound
from core.doors.strict_json import BadJson, check_json_bytes

WELL_KNOWN = "/.well-known/agent-card.json"
OLDER_WELL_KNOWN = "/.well-known/agent.json"  # until 0.2; some agents still serve a 1.0 card only there
CARD_LIMIT = 1 << 20  # bytes; a card with hundreds of skills is far below
CARD_TIMEOUT = 10.0  # seconds for each place; somebody may be waiting for an answer behind it
LIFETIME = 3600.0  # seconds
SECOND_LOOK = 30.0  # seconds between two looks that failed calls asked for
_SHOWN = 200  # characters of a name or a version
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The interface chosen from a card."""

    url: str
    tenant: str  # "" where the interface names none
    streaming: bool
    protocol_version: str


@dataclass(frozen=True, slots=True)
class CardView:
    """What an operator is shown of an agent. Name and version are its own words: one line, capped, still to escape."""

    name: str
    version: str
    endpoint: Endpoint
    card_url: str  # where the card was found


def places(card: str) -> tuple[str, ...]:
    """Where the configured card may be, best first: the URL itself, or the well-known paths under it and its origin."""
    parts = urlsplit(card)
    if parts.path.endswith(".json") or parts.query:
        return (card,)
    base = card.partition("#")[0].rstrip("/")
    origin = f"{parts.scheme}://{parts.netloc}"
    found = [base + WELL_KNOWN, origin + WELL_KNOWN, base + OLDER_WELL_KNOWN, origin + OLDER_WELL_KNOWN]
    if base != origin:
        found.append(base)  # the address of a card that is not called .json
    return tuple(dict.fromkeys(found))


def view(card: wire.Card, card_url: str, override: str | None) -> CardView:
    """The card with the interface that is to be used; raises Unusable with the reason."""
    interface = _interface(card)
    url = override or urljoin(card_url, interface.url)
    origin, wanted = origin_of(url), origin_of(card_url)
    if override is None and (origin is None or origin != wanted):
        raise failures.Unusable(
            f"its card names an interface at {one_line(str(origin))}, another origin than the card's ({wanted}); "
            "to trust it, set url"
        )
    streaming = bool(card.capabilities and card.capabilities.streaming)
    endpoint = Endpoint(url, interface.tenant or "", streaming, one_line(interface.protocol_version))
    return CardView(one_line(card.name), one_line(card.version or ""), endpoint, card_url.partition("?")[0])


def _interface(card: wire.Card) -> wire.Interface:
    """The first JSON-RPC interface of protocol 1.x: the order of the card is the agent's preference (section 8.3)."""
    offered = card.supported_interfaces or ()
    json_rpc = [each for each in offered if each.protocol_binding.upper() == "JSONRPC"]
    for interface in json_rpc:
        if interface.protocol_version.partition(".")[0] == "1":
            return interface
    versions = [each.protocol_version for each in json_rpc]
    if not offered and card.url is not None:  # the form of cards before 1.0
        versions.append(card.protocol_version or "0.3")
    if versions and all(version.startswith("0.") for version in versions):
        newest = ".".join(max(versions).split(".")[:2])
        raise failures.Unusable(f"speaks only protocol {one_line(newest)}, which this version does not speak yet")
    names = ", ".join(sorted({f"{each.protocol_binding} {each.protocol_version}" for each in offered})) or "none"
    raise failures.Unusable(f"its card offers no JSON-RPC interface of protocol 1.x (offered: {one_line(names)})")


def origin_of(url: str) -> str | None:
    """Scheme, host and port in one spelling; None for a URL that has no such thing."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        return None
    return f"{parts.scheme}://{parts.hostname}:{port}" if parts.hostname else None


def one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text[:_SHOWN]).strip()


class CardReader:
    """Looks for the card in its places, once."""

    def __init__(self, settings: A2AAgentSettings, client: outbound.GuardedClient, source: CredentialSource) -> None:
        self._settings = settings
        self._client = client
        self._source = source
        self._policy = outbound.OutboundPolicy(allow_private=settings.allow_private_network, body_limit=CARD_LIMIT)
        self._timeouts = outbound.Timeouts(whole=min(CARD_TIMEOUT, settings.read_timeout))

    async def read(self) -> CardView:
        """Raises CallFailed; the message says every place that was tried and how it failed."""
        tried: list[tuple[str, failures.CallFailed]] = []
        for place in places(self._settings.card):
            try:
                answer = await self._get(place)
            except outbound.OutboundError as error:
                tried.append((place, failures.of_outbound(error)))
                break  # the same would happen at the other places of this host
            try:
                card = await self._card_in(answer)
            except failures.CallFailed as failure:
                tried.append((place, failure))
                continue
            return view(card, place, self._settings.url)
        raise _not_found(tried)

    async def _get(self, place: str) -> outbound.Answer:
        """Cards are public by rule (section 8.2), so the credential goes along only where it is asked for.

        It is meant for the agent: with an interface set to another origin, the card's host never sees it.
        """
        answer = await self._request(place, {})
        own = self._settings.url is None or origin_of(self._settings.url) == origin_of(place)
        if answer.status != 401 or not own:
            return answer
        credential = await self._source.current()
        return await self._request(credential.url(place), credential.headers) if credential.secret else answer

    async def _request(self, url: str, headers: Mapping[str, str]) -> outbound.Answer:
        return await self._client.request(
            "GET",
            url,
            policy=self._policy,
            headers={"Accept": "application/json", "A2A-Version": wire.PROTOCOL_VERSION, **headers},
            timeouts=self._timeouts,
        )

    async def _card_in(self, answer: outbound.Answer) -> wire.Card:
        sample = failures.sample_of(answer.body, (await self._source.current()).secret)
        if answer.status != 200:
            raise failures.of_status(answer.status, answer.headers, sample)
        try:
            check_json_bytes(answer.body)
            return wire.Card.model_validate_json(answer.body)
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
        self._view: CardView | None = None
        self._looked = 0.0  # monotonic time of the last look
        self._looks = 0  # that came to an end
        self._failure: failures.CallFailed = failures.NotTaken("its card was never read")  # of the last that failed

    async def endpoint(self) -> Endpoint:
        """Raises CallFailed where no card was ever had; those who waited for a look that failed do not look again."""
        if self._view is not None and (self._lock.locked() or self._age() < LIFETIME):
            return self._view.endpoint
        seen = self._looks
        async with self._lock:
            if self._looks == seen:
                with suppress(failures.CallFailed):
                    await self._look()
            if self._view is None:
                raise self._failure.with_traceback(None)
            return self._view.endpoint

    async def has_another_than(self, used: Endpoint) -> bool:
        """After a refusal that a changed card would explain: whether there is something new to try."""
        async with self._lock:
            if self._view is not None and self._view.endpoint == used and self._age() >= SECOND_LOOK:
                with suppress(failures.CallFailed):
                    await self._look()
            return self._view is not None and self._view.endpoint != used

    async def look(self) -> CardView:
        """The card as it is at this moment; raises CallFailed."""
        async with self._lock:
            return await self._look()

    def _age(self) -> float:
        return self._clock.monotonic() - self._looked

    async def _look(self) -> CardView:
        """A look that is cancelled was none: whoever waits takes its place."""
        try:
            view = await self._reader.read()
        except failures.CallFailed as failure:
            self._failure = failure
            self._count()
            raise
        self._view = view
        self._count()
        return view

    def _count(self) -> None:
        self._looks += 1
        self._looked = self._clock.monotonic()
