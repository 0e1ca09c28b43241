"""Cards over HTTP: made once for each description and base URL, revalidated by who has one (A2A 1.0, section 8.6)."""

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any

from aiohttp import web

from a2a.server.cards import card, path_of
from a2a.server.descriptions import Describe, Description, with_settings
from a2a.server.encoding import dumps
from a2a.server.settings import A2AServerSettings, CardSettings
from core.clock import Instant
from core.doors.ingress import Refusal

MAX_AGE = 300  # seconds; how long a changed card may go unnoticed by those who keep it
KEPT = 256  # made cards; more differ only by the hosts that strangers name, where no public URL is set
_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](?::[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class _Made:
    body: bytes
    etag: str
    changed: datetime


class Cards:
    """The cards of one account's agents. Without `public_url`, an agent is where it was asked for."""

    def __init__(self, settings: A2AServerSettings, describe: Describe, *, public_url: str) -> None:
        self._settings, self._changed = settings, 0.0
        self._describe = describe
        self._public_url = public_url.rstrip("/")
        self._made: dict[tuple[str, str], tuple[Description, _Made]] = {}

    def use(self, settings: A2AServerSettings, now: Instant) -> None:
        """What cards say from now on of what callers need."""
        if settings != self._settings:
            self._settings, self._changed = settings, now
            self._made.clear()

    async def description(self, agent: str) -> Description:
        """What is known of the agent, with what the operator wrote in its place."""
        return with_settings(await self._describe(agent), self._settings.cards.get(agent, CardSettings()))

    async def public(self, agent: str, request: web.Request) -> web.Response:
        made = await self._public(agent, self._base(request))
        headers = {
            "ETag": made.etag,
            "Last-Modified": format_datetime(made.changed, usegmt=True),
            "Cache-Control": f"public, max-age={MAX_AGE}",
            "X-Content-Type-Options": "nosniff",
        }
        if _is_known(request, made):
            return web.Response(status=304, headers=headers)
        return web.Response(body=made.body, content_type="application/json", headers=headers)

    async def extended(self, agent: str, request: web.Request) -> dict[str, Any]:
        """The card for a caller that is known; whether it is, the door has looked."""
        url = self._base(request) + path_of(agent)
        return card(await self.description(agent), url, self._settings, is_extended=True)

    async def _public(self, agent: str, base: str) -> _Made:
        description = await self.description(agent)
        known = self._made.get((agent, base))
        if known is not None and known[0] == description:
            return known[1]
        body = dumps(card(description, base + path_of(agent), self._settings))
        etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        made = _Made(body, etag, datetime.fromtimestamp(int(max(description.changed, self._changed)), UTC))
        if len(self._made) >= KEPT:
            self._made.pop(next(iter(self._made)))
        self._made[agent, base] = (description, made)
        return made

    def _base(self, request: web.Request) -> str:
        """Raises Refusal for a host that is none."""
        if self._public_url:
            return self._public_url
        if not _HOST.fullmatch(request.host):
            raise Refusal(400, "odd_host")
        return f"{request.scheme}://{request.host}"


def _is_known(request: web.Request, made: _Made) -> bool:
    """RFC 9110, 13.2.2: entity tags first, and a date only without them."""
    tags = request.headers.get("If-None-Match")
    if tags is not None:
        named = [tag.strip().removeprefix("W/") for tag in tags.split(",")]
        return made.etag in named or "*" in named
    since = request.headers.get("If-Modified-Since")
    if since is None:
        return False
    try:
        moment = parsedate_to_datetime(since)
    except ValueError:
        return False
    return made.changed <= (moment if moment.tzinfo else moment.replace(tzinfo=UTC))
