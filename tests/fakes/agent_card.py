"""The scripted agent's card (A2A 1.0, section 8; 0.3, section 5.5), and how callers prove who they are."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

WELL_KNOWN = "/.well-known/agent-card.json"
OLD_WELL_KNOWN = "/.well-known/agent.json"  # protocol <= 0.2; some servers still have only this one


@dataclass(frozen=True, slots=True)
class BearerAuth:
    token: str

    def scheme(self) -> dict[str, Any]:
        return {"httpAuthSecurityScheme": {"scheme": "Bearer"}}

    def old_scheme(self) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer"}

    def admits(self, request: web.Request) -> bool:
        return request.headers.get("Authorization", "") == f"Bearer {self.token}"


@dataclass(frozen=True, slots=True)
class ApiKeyAuth:
    value: str
    name: str = "X-API-Key"
    location: str = "header"  # header | query | cookie

    def scheme(self) -> dict[str, Any]:
        return {"apiKeySecurityScheme": {"location": self.location, "name": self.name}}

    def old_scheme(self) -> dict[str, Any]:
        return {"type": "apiKey", "in": self.location, "name": self.name}

    def admits(self, request: web.Request) -> bool:
        places: dict[str, Mapping[str, str]] = {
            "header": request.headers,
            "query": request.query,
            "cookie": request.cookies,
        }
        return places[self.location].get(self.name) == self.value


OneAuth = BearerAuth | ApiKeyAuth


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Alternatives, each of credentials that go together."""

    alternatives: tuple[tuple[OneAuth, ...], ...]

    def admits(self, request: web.Request) -> bool:
        return any(all(each.admits(request) for each in together) for together in self.alternatives)


Auth = OneAuth | AnyOf


def _alternatives(auth: Auth) -> list[dict[str, OneAuth]]:
    """By the name of the scheme; the only one there is is called desk."""
    if not isinstance(auth, AnyOf):
        return [{"desk": auth}]
    return [
        {f"desk-{way}-{number}": each for number, each in enumerate(together)}
        for way, together in enumerate(auth.alternatives)
    ]


def card(name: str, urls: Mapping[str, str], *, streaming: bool, auth: Auth | None) -> dict[str, Any]:
    """A 1.0 card with the interfaces, `BINDING/VERSION`: URL, in their order."""
    interfaces = []
    for interface, url in urls.items():
        binding, _, version = interface.rpartition("/")
        interfaces.append({"url": url, "protocolBinding": binding, "protocolVersion": version})
    body = {**_common(name, streaming=streaming), "supportedInterfaces": interfaces}
    if auth is not None:
        ways = _alternatives(auth)
        body["securitySchemes"] = {known: each.scheme() for way in ways for known, each in way.items()}
        body["securityRequirements"] = [{"schemes": {known: {"list": []} for known in way}} for way in ways]
    return body


def old_card(name: str, urls: Mapping[str, str], *, streaming: bool, auth: Auth | None) -> dict[str, Any]:
    """A card of protocol 0.3, which names no 1.0 interface; the first is the preferred one."""
    transports = [(interface.rpartition("/")[0], url) for interface, url in urls.items()]
    body = {
        **_common(name, streaming=streaming),
        "url": transports[0][1],
        "preferredTransport": transports[0][0],
        "additionalInterfaces": [{"transport": transport, "url": url} for transport, url in transports],
        "protocolVersion": "0.3.0",
    }
    if auth is not None:
        ways = _alternatives(auth)
        body["securitySchemes"] = {known: each.old_scheme() for way in ways for known, each in way.items()}
        body["security"] = [{known: [] for known in way} for way in ways]
    return body


def _common(name: str, *, streaming: bool) -> dict[str, Any]:
    return {
        "name": name,
        "description": "Answers as the test says",
        "version": "1.0.0",
        "capabilities": {"streaming": streaming},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "talk", "name": "Talk", "description": "Talks", "tags": ["talk"]}],
    }


def card_answer(request: web.Request, card: Mapping[str, Any], headers: Mapping[str, str] | None) -> web.Response:
    """The card, or 304 for who has it; `headers` stand in place of the ETag that is made of it."""
    body = json.dumps(card).encode()
    told = {"ETag": f'"{hashlib.sha256(body).hexdigest()[:16]}"'} if headers is None else dict(headers)
    is_known = any(
        told.get(given) and request.headers.get(asked) == told.get(given)
        for asked, given in (("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified"))
    )
    if is_known:
        return web.Response(status=304, headers=told)
    return web.Response(body=body, content_type="application/json", headers=told)
