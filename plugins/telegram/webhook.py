"""Updates that Telegram brings: one request, one update, acknowledged only when the host has it for good.

Telegram repeats whatever is not answered 2xx, for 24 hours and in order for each chat (tdlib/telegram-bot-api 10.0), so
a full queue or a locked store is answered 503 and loses nothing. An update that cannot be read is kept with its error
and answered 200: repeated, it would hold up its chat for a day.
"""

import math
from typing import TYPE_CHECKING

from aiohttp import web

from core.doors.acknowledgement import Acknowledgement
from core.doors.ingress import Ingress, Refusal, require_secret
from core.errors import Busy, FloodFromSender, StoreUnavailable
from core.plugin import Intake
from plugins.telegram.failures import ApiFailure
from plugins.telegram.health import Health
from plugins.telegram.mentions import Me
from plugins.telegram.patience import Patience, until_answered
from plugins.telegram.translate import ALLOWED_UPDATES, Ignored, read

if TYPE_CHECKING:
    from plugins.telegram.api import BotApi

SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # nosec B105
BODY_LIMIT = 512 << 10  # bytes; a message of 4,096 characters with its reply and entities is well below 100 KB
STARTING_RETRY_AFTER = 2  # seconds; until getMe was answered nobody knows whom a group's message addresses
CONNECTIONS = 40  # at once, Telegram's default; updates of one chat never overlap
CHECK_INTERVAL = 600.0  # seconds between two looks at whether Telegram still delivers here

_DONE = Acknowledgement(b"{}", "application/json")


class Webhook:
    """The route of one account, and its registration with Telegram."""

    def __init__(self, account: str, secret: str, public_url: str, health: Health, patience: Patience) -> None:
        self._secret = secret
        self._health = health
        self._patience = patience
        self.path = f"/hooks/{account}"
        self.url = f"{public_url.rstrip('/')}{self.path}" if public_url else ""
        self._intake: Intake | None = None
        self._me: Me | None = None

    def route(self, ingress: Ingress) -> web.RouteDef:
        authenticate = require_secret(SECRET_HEADER, self._secret.encode())
        return ingress.post(self.path, authenticate=authenticate, handle=self._receive, body_limit=BODY_LIMIT)

    def opens(self, intake: Intake, me: Me) -> None:
        self._intake, self._me = intake, me

    def closes(self) -> None:
        self._intake = None

    async def _receive(self, request: web.Request, raw: bytes) -> web.StreamResponse:
        if self._intake is None or self._me is None:
            raise _later(503, "not_receiving", STARTING_RETRY_AFTER)
        item = read(raw, self._me)
        if isinstance(item, Ignored):
            self._health.ignores(item.external_id, item.reason)
        else:
            try:
                await self._intake.accept((item,))
            except FloodFromSender as error:
                raise _later(429, "flood_from_sender", error.retry_after) from error
            except Busy as error:
                raise _later(503, "busy", error.retry_after) from error
            except StoreUnavailable as error:
                raise _later(503, "store_unavailable", error.retry_after) from error
        return _DONE.to(request)

    async def keep_registered(self, api: "BotApi") -> None:
        """Until cancelled: tell Telegram where to deliver, and look now and then whether somebody told it otherwise."""
        while True:
            if self.url:
                await self._keep_url(api)
            else:
                note = f"gateway.public_url is not set: the webhook at {self.path} has to be registered by hand"
                self._health.becomes("receiving", note)
            await self._patience.wait(CHECK_INTERVAL)

    async def _keep_url(self, api: "BotApi") -> None:
        """A refused URL leaves the route open, since Telegram may well know a better one."""
        try:
            await until_answered(lambda: self._register(api), self._health, self._patience)
        except ApiFailure as failure:
            note = f"Telegram does not deliver to {self.url} ({failure}); correct gateway.public_url"
            self._health.becomes("unreachable", note)

    async def _register(self, api: "BotApi") -> None:
        """Always at the start, since the secret may be new; setting what is set already changes nothing."""
        url, complaint, at = await api.webhook()
        if url != self.url or self._health.state != "receiving":
            await api.set_webhook(self.url, self._secret, connections=CONNECTIONS, allowed=ALLOWED_UPDATES)
        is_recent = url == self.url and at > self._patience.clock.now() - 2 * CHECK_INTERVAL
        self._health.becomes("receiving", f"Telegram's last complaint: {complaint}" if complaint and is_recent else "")


def _later(status: int, reason: str, retry_after: float) -> Refusal:
    """Telegram honours 0 to 3600 seconds."""
    return Refusal(status, reason, headers={"Retry-After": str(min(3600, max(1, math.ceil(retry_after))))})
