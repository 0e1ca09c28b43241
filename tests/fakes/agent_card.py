"""The scripted agent's card (A2A 1.0, section 8), the old form of it, and how callers prove who they are."""

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

    def admits(self, request: web.Request) -> bool:
        return request.headers.get("Authorization", "") == f"Bearer {self.token}"


@dataclass(frozen=True, slots=True)
class ApiKeyAuth:
    value: str
    name: str = "X-API-Key"
    location: str = "header"  # header | query | cookie

    def scheme(self) -> dict[str, Any]:
        return {"apiKeySecurityScheme": {"location": self.location, "name": self.name}}

    def admits(self, request: web.Request) -> bool:
        places: dict[str, Mapping[str, str]] = {
            "header": request.headers,
            "query": request.query,
            "cookie": request.cookies,
        }
        return places[self.location].get(self.name) == self.value


Auth = BearerAuth | ApiKeyAuth


def card(name: str, url: str, *, streaming: bool, auth: Auth | None) -> dict[str, Any]:
    """A 1.0 card with one JSON-RPC interface."""
    body: dict[str, Any] = {
        "name": name,
        "description": "Answers as the test says",
        "version": "1.0.0",
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": streaming},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "talk", "name": "Talk", "description": "Talks", "tags": ["talk"]}],
    }
    if auth is not None:
        body["securitySchemes"] = {"desk": auth.scheme()}
        body["securityRequirements"] = [{"schemes": {"desk": {"list": []}}}]
    return body


def old_card(name: str, url: str, *, streaming: bool) -> dict[str, Any]:
    """A card of protocol 0.3, which names no 1.0 interface."""
    return {
        "name": name,
        "description": "Answers in the old way",
        "version": "1.0.0",
        "url": url,
        "preferredTransport": "JSONRPC",
        "protocolVersion": "0.3.0",
        "capabilities": {"streaming": streaming},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "talk", "name": "Talk", "description": "Talks", "tags": ["talk"]}],
    }
