"""Which interfaces of an agent may be used, out of its card (A2A 1.0, sections 4.4 and 8).

The card is data from a stranger: its interfaces, the streaming capability, a name and a version are read and nothing in
it is obeyed. Of the four bindings that are spoken, those are used that `interfaces` lists, in that order. An interface
at another origin than the card's is refused, unless `allow_origins` has it or `url` replaces what the card says; what
an operator should know of all that stands in the view's warnings.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urljoin, urlsplit

from a2a import failures
from a2a.card_wire import Card, Offer
from a2a.security import Security, security_of
from a2a.settings import A2AAgentSettings

WELL_KNOWN = "/.well-known/agent-card.json"
OLDER_WELL_KNOWN = "/.well-known/agent.json"  # until 0.2; some agents still serve a newer card only there
SPOKEN = ("JSONRPC/1.0", "HTTP+JSON/1.0", "JSONRPC/0.3", "HTTP+JSON/0.3")
_FINGERPRINT = 32  # hexadecimal digits; of a hash that nobody can choose, half of it tells as much
_SHOWN = 200  # characters of a name or a version
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An interface that may be used."""

    binding: str  # one of SPOKEN
    url: str
    tenant: str  # "" where the interface names none
    streaming: bool
    protocol_version: str  # as the card writes it
    security: Security


@dataclass(frozen=True, slots=True)
class CardView:
    """What an operator is shown of an agent. Name and version are its own words: one line, capped, still to escape."""

    name: str
    version: str
    endpoint: Endpoint  # where new work goes
    card_url: str  # where the card was found
    interfaces: tuple[Endpoint, ...]  # all that may be used: the configured ones by preference, then the others
    pushes: bool  # whether the agent offers push notifications
    warnings: tuple[str, ...]  # sentences for operators
    place: str  # the same, with its query
    digests: Mapping[str, str]  # of what an operator agrees to: its interfaces, authentication and skills
    is_extended: bool = False  # it is the one for those whom the agent knows

    @property
    def fingerprint(self) -> str:
        """One short word for all of that, for people to compare."""
        whole = json.dumps(dict(self.digests), sort_keys=True).encode()
        return hashlib.sha256(whole).hexdigest()[:_FINGERPRINT]


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


def view(card: Card, card_url: str, settings: A2AAgentSettings) -> CardView:
    """The card with the interfaces that are to be used; raises Unusable with the reason."""
    choice = _Choice(card, card_url, settings)
    endpoints = choice.endpoints()
    return CardView(
        name=one_line(card.name),
        version=one_line(card.version or ""),
        endpoint=endpoints[0],
        card_url=card_url.partition("?")[0],
        interfaces=endpoints,
        pushes=bool(card.capabilities and card.capabilities.push_notifications),
        warnings=tuple(choice.warnings),
        place=card_url,
        digests=digests(card),
    )


class _Choice:
    """Goes through what a card offers, once."""

    def __init__(self, card: Card, card_url: str, settings: A2AAgentSettings) -> None:
        self._card = card
        self._card_url = card_url
        self._settings = settings
        self._security = security_of(card)
        self._streaming = bool(card.capabilities and card.capabilities.streaming)
        self.warnings: list[str] = []

    def endpoints(self) -> tuple[Endpoint, ...]:
        """At least one; raises Unusable."""
        ranked = self._ranked()
        replaced = self._url(ranked[0]) if self._settings.url is not None else None
        found: list[Endpoint] = []
        for offer in ranked:
            refusal = "" if self._url(offer) == replaced else self._refusal(offer)
            if refusal and not found and not self._settings.fallback:
                raise failures.Unusable(refusal)
            if refusal:
                self.warnings.append(refusal)
            else:
                found.append(self._endpoint(offer, self._url(offer) == replaced))
        if not found:
            raise failures.Unusable("; ".join(self.warnings))
        self.warnings += self._further_warnings(replaced)
        return tuple(found)

    def _ranked(self) -> list[Offer]:
        """The first of each binding that is spoken; the configured ones by preference before the others."""
        offers = self._card.offers()
        spoken: dict[str, Offer] = {}
        for offer in offers:
            if offer.binding in SPOKEN:
                spoken.setdefault(offer.binding, offer)
        wanted = [spoken[name] for name in self._settings.interfaces if name in spoken]
        if not wanted:
            names = ", ".join(sorted({offer.binding for offer in offers})) or "none"
            remark = "; gRPC is not spoken" if any(offer.binding.startswith("GRPC/") for offer in offers) else ""
            raise failures.Unusable(
                f"its card offers no interface that can be used (offered: {one_line(names)}; "
                f"interfaces: {', '.join(self._settings.interfaces)}){remark}"
            )
        return wanted + [offer for offer in spoken.values() if offer not in wanted]

    def _url(self, offer: Offer) -> str:
        """Of what is no URL, the card's own words: they have no origin, and are refused for that."""
        try:
            return urljoin(self._card_url, offer.url)
        except ValueError:
            return offer.url

    def _refusal(self, offer: Offer) -> str:
        """Why the interface may not be used; "" where it may."""
        origin, wanted = origin_of(self._url(offer)), origin_of(self._card_url)
        if origin is not None and origin in {wanted, *map(origin_of, self._settings.allow_origins)}:
            return ""
        return (
            f"its card names an interface ({offer.binding}) at {one_line(str(origin))}, another origin than the "
            f"card's ({wanted}); to trust it, set url or list that origin in allow_origins"
        )

    def _endpoint(self, offer: Offer, is_replaced: bool) -> Endpoint:
        url = self._settings.url if is_replaced and self._settings.url is not None else self._url(offer)
        version = one_line(offer.version)
        return Endpoint(offer.binding, url, offer.tenant, self._streaming, version, self._security)

    def _further_warnings(self, replaced: str | None) -> Iterator[str]:
        if replaced is not None and replaced != self._settings.url:
            what = "an internal address" if is_internal(replaced) else "another address"
            yield f"its card names {what}, {one_line(replaced)}; {self._settings.url} (url) is used in its place"
        if self._settings.push is True and not (self._card.capabilities and self._card.capabilities.push_notifications):
            yield "push is true, but its card offers no push notifications; its tasks are asked after"
        known = self._settings.extensions
        for uri in self._card.required_extensions():
            if uri not in known:
                yield f"it requires the extension {one_line(uri)}, which extensions does not list"


def is_internal(url: str) -> bool:
    """Whether the host is one that only its own network can reach: a private address, or a name without a dot."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    try:
        return not ip_address(host).is_global
    except ValueError:
        return "." not in host.rstrip(".") or host.rstrip(".").endswith((".local", ".internal", ".localhost"))


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


def digests(card: Card, prefix: str = "") -> dict[str, str]:
    """Of each thing that matters about a card; `prefix` tells those of the extended one apart."""
    agreed = {
        "interfaces": [[offer.binding, offer.url, offer.tenant] for offer in card.offers()],
        "authentication": [card.security_schemes, card.security_requirements or card.security],
        "skills": card.skills,
    }
    return {
        prefix + name: hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
        for name, said in agreed.items()
    }
