"""Telegram as the host sees it: one account of the channel, by webhook or by polling.

Receiving is `webhook` or `polling`, with `translate` between vendor and host; showing is `pieces` and `render` before,
`outgoing` then, over `api`. Here they are put together, and nothing is decided. python-telegram-bot is imported by
`api` alone, in a thread, when the account starts to work.
"""

import asyncio
import hashlib
import json
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from core.commands import COMMANDS
from core.delivery import Delivery, Outcome, Payload, Piece, Refusal, Rejected
from core.plugin import Capabilities, Host, Intake, Leases, PluginKind, PluginState, PreviewFrame
from plugins.telegram import menu
from plugins.telegram.health import Health
from plugins.telegram.mentions import Me
from plugins.telegram.outgoing import PREVIEW_INTERVAL, Outgoing
from plugins.telegram.patience import Patience, until_answered
from plugins.telegram.pieces import payloads_of
from plugins.telegram.polling import Poller
from plugins.telegram.settings import Limits, TelegramSettings
from plugins.telegram.webhook import Webhook

if TYPE_CHECKING:
    from core.doors.ingress import Ingress, Route
    from core.doors.outbound import GuardedClient
    from plugins.telegram.api import BotApi

ACTIVITY_INTERVAL = 4.5  # seconds; a typing sign is shown for 5 (Bot API 10.0, sendChatAction)
BOT = "bot"  # the plugin's state: who the bot is, as getMe said last


class TelegramPlugin:
    """Construction does no I/O. `patience` is how time passes; tests give their own."""

    def __init__(
        self,
        account: str,
        settings: TelegramSettings,
        *,
        client: "GuardedClient",
        leases: Leases,
        state: PluginState,
        public_url: str,
        holder: str,
        patience: Patience,
    ) -> None:
        self._account = account
        self._settings = settings
        self._client = client
        self._leases = leases
        self._state = state
        self._holder = holder
        self._patience = patience
        self._health = Health(account, settings.mode)
        self._webhook = self._webhook_of(public_url)
        self._api: BotApi | None = None
        self._outgoing: Outgoing | None = None

    @cached_property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            replaces=True,
            previews=self._settings.streaming == "edit",
            preview_interval=PREVIEW_INTERVAL,
            activity_interval=ACTIVITY_INTERVAL,
        )

    @property
    def limits(self) -> Limits:
        """The pace the host has to keep."""
        return self._settings.limits

    @property
    def health(self) -> dict[str, object]:
        return self._health.report()

    async def run(self, intake: Intake) -> None:
        """Raises ConfigurationError when Telegram refuses the token."""
        try:
            if self._webhook is not None and (remembered := await self._remembered()) is not None:
                self._webhook.opens(intake, remembered)  # receiving need not wait for Telegram's answer
            api = await self._started()
            me = await until_answered(api.me, self._health, self._patience)
            self._health.bot = f"@{me.username}"
            await self._remember(me)
            if self._webhook is not None:
                self._webhook.opens(intake, me)
                await menu.offer(api, COMMANDS, self._health)
                await self._webhook.keep_registered(api)
            else:
                await menu.offer(api, COMMANDS, self._health)
                await Poller(api, me, intake, self._health, self._patience).run(self._leases, self._holder)
        finally:
            if self._webhook is not None:
                self._webhook.closes()

    def routes(self, ingress: "Ingress") -> Iterable["Route"]:
        return () if self._webhook is None else (self._webhook.route(ingress),)

    def render(self, piece: Piece) -> tuple[Payload, ...]:
        return payloads_of(piece)

    async def send(self, delivery: Delivery) -> Outcome:
        outcome = await (await self._shower()).send(delivery)
        if isinstance(outcome, Rejected) and outcome.kind is Refusal.UNAUTHORISED:
            self._health.becomes("unauthorised", outcome.reason)
        return outcome

    async def preview(self, frame: PreviewFrame) -> str:
        return await (await self._shower()).preview(frame)

    def _webhook_of(self, public_url: str) -> Webhook | None:
        secret = self._settings.webhook_secret
        if self._settings.mode != "webhook" or secret is None:
            return None
        return Webhook(self._account, secret.get_secret_value(), public_url, self._health, self._patience)

    async def _started(self) -> "BotApi":
        if self._api is None:
            make = await asyncio.to_thread(_bot_api)
            settings = self._settings
            self._api = self._api or make(
                settings.token.get_secret_value(),
                settings.api_base,
                self._client,
                is_public=settings.is_public_api,
                timeout=settings.timeout,
            )
        return self._api

    async def _shower(self) -> Outgoing:
        if self._outgoing is None:
            api = await self._started()
            is_streaming = self._settings.streaming == "edit"
            self._outgoing = self._outgoing or Outgoing(
                api, self._patience.clock, self._health.counts, is_streaming=is_streaming
            )
        return self._outgoing

    async def _remembered(self) -> Me | None:
        """The bot of this token, from before a restart; None when the token is another one."""
        found = await self._state.read(self._account, BOT)
        value = json.loads(found[0]) if found is not None else {}
        if value.get("token") != self._fingerprint():
            return None
        return Me(value["id"], value["username"])

    async def _remember(self, me: Me) -> None:
        """Another replica may be faster; it remembers the same."""
        found = await self._state.read(self._account, BOT)
        value = json.dumps({"id": me.id, "username": me.username, "token": self._fingerprint()})
        if found is None or found[0] != value:
            await self._state.write(self._account, BOT, value, version=found[1] if found is not None else 0)

    def _fingerprint(self) -> str:
        """Enough to notice another token, and no way back to this one."""
        token = self._settings.token.get_secret_value()
        return hashlib.sha256(b"frontdesk telegram bot:" + token.encode()).hexdigest()[:16]


def _create(account: str, settings: TelegramSettings, host: Host) -> TelegramPlugin:
    return TelegramPlugin(
        account,
        settings,
        client=host.client,
        leases=host.leases,
        state=host.state,
        public_url=host.public_url,
        holder=host.holder,
        patience=Patience(host.clock),
    )


def _bot_api() -> type["BotApi"]:
    from plugins.telegram.api import BotApi

    return BotApi


PLUGIN = PluginKind(TelegramSettings, _create)
