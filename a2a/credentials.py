"""What a remote agent is shown so that it lets the gateway in.

Each configured credential is a source; the card's security says which of them go along (A2A 1.0, section 4.5): the
first alternative that can be met as a whole, and all that are configured where none can or none is named, since cards
are often less exact than operators. A source is asked for every request and told of every 401, so that one whose
tokens expire can stand where the fixed ones stand now.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import quote_plus

from a2a.security import Scheme, Security
from a2a.settings import ApiKeyAuth, BearerAuth, SeveralAuth


@dataclass(frozen=True, slots=True)
class Credential:
    """What one request carries. Nothing of it is in its repr."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: str = field(default="", repr=False)  # encoded, to be appended to the URL's own
    secrets: tuple[str, ...] = field(default=(), repr=False)  # what must not come back in a sample of the agent's words
    parts: "tuple[Credential, ...]" = field(default=(), repr=False)  # what it was put together from

    def url(self, url: str) -> str:
        return f"{url}{'&' if '?' in url else '?'}{self.query}" if self.query else url

    def beside(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        return {**headers, **self.headers} if self.headers else headers


class CredentialSource(Protocol):
    def suits(self, scheme: Scheme) -> bool:
        """Whether what it gives is what the scheme asks for."""
        ...

    async def current(self) -> Credential:
        """The credential for one request."""
        ...

    async def refused(self, credential: Credential) -> bool:
        """The agent answered 401 to it. True when `current` now has another one that is worth a second try."""
        ...


class Credentials:
    """All that is configured for one agent."""

    def __init__(self, sources: Sequence[CredentialSource]) -> None:
        self._sources = tuple(sources)
        self._security: Security = ()
        self._chosen = self._sources  # for that security

    @property
    def has_any(self) -> bool:
        return bool(self._sources)

    def choice(self, security: Security) -> tuple[CredentialSource, ...] | None:
        """The sources that meet it, one for each scheme; None where no alternative can be met.

        An alternative that asks for nothing comes last: whoever configured a credential means it to be used.
        """
        for alternative in sorted(security, key=lambda schemes: not schemes):
            suiting = [next((s for s in self._sources if s.suits(scheme)), None) for scheme in alternative]
            found = [source for source in suiting if source is not None]
            if len(found) == len(suiting):
                return tuple(dict.fromkeys(found))
        return None

    async def current(self, security: Security) -> Credential:
        chosen = self._for(security)
        if len(chosen) == 1:
            return await chosen[0].current()
        return _merged([await source.current() for source in chosen])

    async def refused(self, credential: Credential, security: Security) -> bool:
        """As of a source; each is told of its own part."""
        chosen = self._for(security)
        parts = (credential,) if len(chosen) == 1 else credential.parts
        if len(parts) != len(chosen):
            return True  # the card was read anew meanwhile, and asks for something else
        answers = [await source.refused(part) for source, part in zip(chosen, parts, strict=True)]
        return any(answers)

    def _for(self, security: Security) -> tuple[CredentialSource, ...]:
        if security is not self._security:
            self._chosen = self.choice(security) or self._sources
            self._security = security
        return self._chosen


def _merged(parts: Sequence[Credential]) -> Credential:
    """All of them at once; of two that claim the same header the first is sent, and cookies stand side by side."""
    headers: dict[str, str] = {}
    for part in parts:
        for name, value in part.headers.items():
            if name == "Cookie" and name in headers:
                headers[name] += f"; {value}"
            else:
                headers.setdefault(name, value)
    query = "&".join(part.query for part in parts if part.query)
    return Credential(headers, query, tuple(secret for part in parts for secret in part.secrets), tuple(parts))


@dataclass(frozen=True, slots=True, eq=False)
class FixedCredential:
    """A token or a key out of the settings: a refusal changes nothing about it."""

    credential: Credential
    scheme: Scheme

    def suits(self, scheme: Scheme) -> bool:
        """Header names have no case (RFC 9110, section 5.1)."""
        own = self.scheme
        if (scheme.kind, scheme.place) != (own.kind, own.place):
            return False
        same_header = own.place == "header" and scheme.parameter.lower() == own.parameter.lower()
        return same_header or scheme.parameter == own.parameter

    async def current(self) -> Credential:
        return self.credential

    async def refused(self, credential: Credential) -> bool:
        return credential != self.credential


def configured(auth: BearerAuth | ApiKeyAuth | SeveralAuth | None) -> Credentials:
    if auth is None:
        return Credentials(())
    return Credentials([_fixed(each) for each in (auth.of if isinstance(auth, SeveralAuth) else (auth,))])


def _fixed(auth: BearerAuth | ApiKeyAuth) -> FixedCredential:
    if isinstance(auth, BearerAuth):
        value = auth.token.get_secret_value()
        return FixedCredential(
            Credential({"Authorization": f"Bearer {value}"}, secrets=(value,)), Scheme("bearer", "bearer")
        )
    value = auth.value.get_secret_value()
    return FixedCredential(_api_key(auth, value), Scheme("api_key", "api_key", auth.place, auth.name))


def _api_key(auth: ApiKeyAuth, value: str) -> Credential:
    if auth.place == "query":
        encoded = quote_plus(value)
        return Credential(query=f"{auth.name}={encoded}", secrets=tuple({value, encoded}))
    if auth.place == "cookie":
        return Credential({"Cookie": f"{auth.name}={value}"}, secrets=(value,))
    return Credential({auth.name: value}, secrets=(value,))
