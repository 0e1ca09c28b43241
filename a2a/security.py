"""What an agent asks its callers to show, out of its card (A2A 1.0, sections 4.5 and 7; 0.3, section 5.5.3).

A card names schemes and lists alternatives, each a set of schemes that go together. Both forms of writing a scheme are
read, since cards for both versions carry both at once; what cannot be read is a scheme that no credential suits.
"""

from dataclasses import dataclass
from typing import Any, Literal

from a2a.card_wire import Card

Kind = Literal["api_key", "bearer", "other"]


@dataclass(frozen=True, slots=True)
class Scheme:
    name: str  # the card's own for it
    kind: Kind
    place: str = ""  # of an API key: header, query or cookie
    parameter: str = ""  # of an API key: what it is called there


# One of these, and of that one every scheme; () where the card asks for nothing.
Security = tuple[tuple[Scheme, ...], ...]


def security_of(card: Card) -> Security:
    schemes = card.security_schemes if isinstance(card.security_schemes, dict) else {}
    asked = card.security_requirements if isinstance(card.security_requirements, list) else card.security
    alternatives = [_names(each) for each in asked if isinstance(each, dict)] if isinstance(asked, list) else []
    return tuple(tuple(_scheme(name, schemes.get(name)) for name in names) for names in alternatives)


def _names(alternative: dict[str, Any]) -> list[str]:
    """Of `{"schemes": {name: {"list": scopes}}}` (1.0) or `{name: scopes}` (0.3)."""
    inner = alternative.get("schemes")
    return list(inner if isinstance(inner, dict) else alternative)


def _scheme(name: str, said: Any) -> Scheme:
    if not isinstance(said, dict):
        return Scheme(name, "other")
    if key := _member(said, "apiKeySecurityScheme", "apiKey"):
        place = key.get("location", key.get("in"))
        return Scheme(name, "api_key", str(place), str(key.get("name")))
    if http := _member(said, "httpAuthSecurityScheme", "http"):
        return Scheme(name, "bearer" if str(http.get("scheme")).lower() == "bearer" else "other")
    # Their access tokens are bearer tokens (RFC 6750), and an operator may have one by other means.
    if _member(said, "oauth2SecurityScheme", "oauth2") or _member(said, "openIdConnectSecurityScheme", "openIdConnect"):
        return Scheme(name, "bearer")
    return Scheme(name, "other")


def _member(said: dict[str, Any], wrapper: str, kind: str) -> dict[str, Any] | None:
    """The scheme's own members, which 1.0 wraps by kind and 0.3 writes beside `type`."""
    inner = said.get(wrapper)
    if isinstance(inner, dict):
        return inner or {"type": kind}
    return said if said.get("type") == kind else None
