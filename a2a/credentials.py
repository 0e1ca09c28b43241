"""What a remote agent is shown so that it lets the gateway in.

A source is asked for every request and told of every 401, so that one whose tokens expire can stand where the fixed
ones stand now. Schemes are those of A2A 1.0, section 4.5: bearer, and an API key in header, query or cookie.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlencode

from a2a.settings import ApiKeyAuth, BearerAuth


@dataclass(frozen=True, slots=True)
class Credential:
    """What one request carries. Nothing of it is in its repr."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: str = field(default="", repr=False)  # encoded, to be appended to the URL's own
    secret: str = field(default="", repr=False)  # what must not come back in a sample of the agent's words

    def url(self, url: str) -> str:
        return f"{url}{'&' if '?' in url else '?'}{self.query}" if self.query else url


class CredentialSource(Protocol):
    async def current(self) -> Credential:
        """The credential for one request."""
        ...

    async def refused(self, credential: Credential) -> bool:
        """The agent answered 401 to it. True when `current` now has another one that is worth a second try."""
        ...


@dataclass(frozen=True, slots=True)
class FixedCredential:
    """Nothing, a token or a key out of the settings: a refusal changes nothing about it."""

    credential: Credential = Credential()

    async def current(self) -> Credential:
        return self.credential

    async def refused(self, credential: Credential) -> bool:
        return credential != self.credential


def fixed(auth: BearerAuth | ApiKeyAuth | None) -> FixedCredential:
    match auth:
        case BearerAuth(token=token):
            value = token.get_secret_value()
            return FixedCredential(Credential({"Authorization": f"Bearer {value}"}, secret=value))
        case ApiKeyAuth(name=name, value=secret, place=place):
            value = secret.get_secret_value()
            return FixedCredential(_api_key(name, value, place))
    return FixedCredential()


def _api_key(name: str, value: str, place: str) -> Credential:
    if place == "query":
        return Credential(query=urlencode({name: value}), secret=value)
    if place == "cookie":
        return Credential({"Cookie": f"{name}={value}"}, secret=value)
    return Credential({name: value}, secret=value)
