"""The JSON of agent cards, of 1.0 (section 4.4), of 0.3 (its section 5.5), and of hybrids that are both.

Only what the gateway reads. What it can do without is taken as it comes and looked at later (`Any`), so that a slip in
the description of a skill or of a security scheme does not make the whole card unreadable.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from a2a import wire_03

_VERSION = re.compile(r"([0-9]{1,3})(?:\.([0-9]{1,3}))?(?:\.[0-9A-Za-z.+-]{1,40})?")


class CardObject(BaseModel):
    """One object of a card: frozen, and what it holds besides is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


@dataclass(frozen=True, slots=True)
class Offer:
    """One interface as the card names it."""

    binding: str  # `JSONRPC/1.0`; of what nobody knows, the card's own words in the same form
    url: str
    tenant: str = ""
    version: str = ""  # as the card writes it


class Interface(CardObject):
    """Of 1.0."""

    url: str
    protocol_binding: str = Field(alias="protocolBinding")
    protocol_version: str = Field(alias="protocolVersion")
    tenant: str | None = None


class OldInterface(CardObject):
    """Of 0.3: its version is the card's."""

    url: str
    transport: str


class Capabilities(CardObject):
    streaming: bool | None = None
    push_notifications: bool | None = Field(None, alias="pushNotifications")
    extended_card: bool | None = Field(None, alias="extendedAgentCard")
    extensions: Any = None


class Card(CardObject):
    """Name and version are shown to operators; descriptions are not even read: nothing here obeys a card."""

    name: str
    version: str | None = None
    capabilities: Capabilities | None = None
    supported_interfaces: tuple[Interface, ...] | None = Field(None, alias="supportedInterfaces")
    skills: Any = None
    security_schemes: Any = Field(None, alias="securitySchemes")
    security_requirements: Any = Field(None, alias="securityRequirements")
    # Of 0.3.
    protocol_version: str | None = Field(None, alias="protocolVersion")
    url: str | None = None
    preferred_transport: str | None = Field(None, alias="preferredTransport")
    additional_interfaces: tuple[OldInterface, ...] | None = Field(None, alias="additionalInterfaces")
    security: Any = None
    old_extended_card: bool | None = Field(None, alias="supportsAuthenticatedExtendedCard")

    def offers(self) -> tuple[Offer, ...]:
        """Every interface once, best first: those of 1.0 in their order, then those of the older form."""
        found: dict[tuple[str, str, str], Offer] = {}
        for offer in (*self._of_new_form(), *self._of_old_form()):
            found.setdefault((offer.binding, offer.url, offer.tenant), offer)
        return tuple(found.values())

    def _of_new_form(self) -> Iterator[Offer]:
        for each in self.supported_interfaces or ():
            version = each.protocol_version
            yield Offer(_binding(each.protocol_binding, version), each.url, each.tenant or "", version)

    def _of_old_form(self) -> Iterator[Offer]:
        """Of a card of 1.0 that has a stray `url` without a version, nothing."""
        version = self.protocol_version or ("" if self.supported_interfaces else wire_03.PROTOCOL_VERSION)
        if not version:
            return
        if self.url is not None:
            yield Offer(_binding(self.preferred_transport or "JSONRPC", version), self.url, version=version)
        for each in self.additional_interfaces or ():
            yield Offer(_binding(each.transport, version), each.url, version=version)

    @property
    def offers_extended(self) -> bool:
        """Whether there is a further card, for those whom the agent knows."""
        return bool(self.old_extended_card or (self.capabilities and self.capabilities.extended_card))

    def required_extensions(self) -> tuple[str, ...]:
        """Their URIs: the agent refuses whoever does not know them (section 3.3.4)."""
        declared = self.capabilities.extensions if self.capabilities else None
        listed = [each for each in declared if isinstance(each, dict)] if isinstance(declared, list) else []
        return tuple(str(each.get("uri")) for each in listed if each.get("required") is True)


def _binding(transport: str, version: str) -> str:
    """Major.Minor alone tells versions apart (section 3.6)."""
    match = _VERSION.fullmatch(version)
    return f"{transport.upper()}/{match[1]}.{match[2] or 0}" if match else f"{transport.upper()}/{version}"
