"""The WeChat Official Account as the host sees it: put together here, and nothing decided.

Receiving is `webhook`, with `cipher`, `xml` and `translate` between vendor and host; an answer rides on the push that
asked for it (`passive`) or is sent as a customer-service message over `api`, rendered by `render` before.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from core.clock import Clock
from core.delivery import Delivery, Op, Outcome, Payload, Piece, Refusal, Rejected, Sent
from core.errors import StoreUnavailable
from core.plugin import Capabilities, Host, Intake, PluginKind, PreviewFrame
from plugins.wechat.api import Api, Wire
from plugins.wechat.cipher import Seal
from plugins.wechat.codes import NO_PERMISSION, rejected
from plugins.wechat.failures import ApiFailure
from plugins.wechat.health import Health
from plugins.wechat.incoming import Incoming
from plugins.wechat.media import Media
from plugins.wechat.passive import Pace, marked
from plugins.wechat.render import payloads_of
from plugins.wechat.settings import WechatSettings
from plugins.wechat.tokens import StableTokens
from plugins.wechat.webhook import Webhook

if TYPE_CHECKING:
    from pydantic import SecretStr

    from core.doors.ingress import Ingress, Route

ACTIVITY_INTERVAL = 15.0  # seconds; the typing state fades after 15 (developer guide, "customer service input status")
_NEXT_MESSAGE = (
    "customer_service is false: it comes with the person's next message / "
    "customer_service 为 false：随用户的下一条消息送出"
)
PERMISSION_RETRY = 3600.0  # seconds after which an account that was told it has no permission is believed to have it


class Permission:
    """Whether the account may send customer-service messages: as configured, until the platform says no."""

    def __init__(self, configured: bool, clock: Clock) -> None:
        self._configured, self._clock = configured, clock
        self._denied_until = 0.0  # monotonic

    @property
    def is_given(self) -> bool:
        return self._configured and self._clock.monotonic() >= self._denied_until

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """A call for which the account needs it; the typing state is one (developer guide, "customer service")."""
        try:
            yield
        except ApiFailure as failure:
            if failure.code == NO_PERMISSION:
                self._denied_until = self._clock.monotonic() + PERMISSION_RETRY
            raise


class WechatPlugin:
    """Construction does no I/O."""

    def __init__(self, account: str, settings: WechatSettings, host: Host) -> None:
        self._settings, self._clock = settings, host.clock
        self._health, self._pace = Health(account, settings.mode), Pace(settings.reply_within)
        self._permission = Permission(settings.customer_service, host.clock)
        self._api = self._api_of(account, host)
        self._media = Media(account, self._api, host.files, host.state, host.clock) if self._api is not None else None
        self._incoming = Incoming(self._api.download if self._api is not None else None, host.files, host.telemetry)
        self._webhook = Webhook(
            account,
            settings.token.get_secret_value(),
            [] if settings.mode == "plain" else _seals(settings),
            pace=self._pace,
            waits=lambda: settings.use_retries if settings.use_retries is not None else not self._permission.is_given,
            may_send=lambda: self._permission.is_given,
            incoming=self._incoming,
            clock=host.clock,
            health=self._health,
        )

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            activity_interval=ACTIVITY_INTERVAL if self._permission.is_given else None,
            keeps_files=True,
            asks_again=self._pace.patience,
        )

    @property
    def health(self) -> dict[str, object]:
        return {**self._health.report(), "customer_service": self._permission.is_given}

    async def run(self, intake: Intake) -> None:
        self._webhook.opens(intake)
        self._health.opened()
        try:
            async with asyncio.TaskGroup() as tasks:
                self._incoming.opens(tasks)
                await self._look()
                await asyncio.Event().wait()
        finally:
            self._incoming.closes()
            self._webhook.closes()

    def routes(self, ingress: "Ingress") -> Iterable["Route"]:
        return self._webhook.routes(ingress)

    def render(self, piece: Piece) -> tuple[Payload, ...]:
        return payloads_of(piece)

    async def send(self, delivery: Delivery) -> Outcome:
        if delivery.op is Op.WITHDRAW:
            return Sent(())
        if self._api is None or self._media is None or not self._permission.is_given:
            denied = rejected(NO_PERMISSION, self._clock.now()).reason
            return Rejected(Refusal.WINDOW_CLOSED, denied if self._settings.customer_service else _NEXT_MESSAGE)
        chat, payload = delivery.address.chat, delivery.payload
        file, menu = payload.get("file"), payload.get("menu")
        try:
            with self._permission.heeded():
                if file is not None:
                    await self._media.show(chat, file, marked(delivery))
                elif menu is not None:
                    await self._menu(self._api, delivery, menu)
                else:
                    await self._api.text(chat, marked(delivery))
        except ApiFailure as failure:
            return failure.outcome
        except StoreUnavailable as error:  # asked for a token or a media_id before anything is shown, and never after
            return Rejected(Refusal.UNAVAILABLE, f"the store: {error}", error.retry_after)
        return Sent(())

    @staticmethod
    async def _menu(api: Api, delivery: Delivery, menu: Mapping[str, Any]) -> None:
        """A menu, or its words where the platform takes none."""
        chat = delivery.address.chat
        try:
            await api.menu(chat, marked(delivery, menu["head"]), menu["lines"])
        except ApiFailure as failure:
            if failure.kind is not Refusal.MALFORMED:
                raise
            await api.text(chat, marked(delivery))

    async def preview(self, frame: PreviewFrame) -> str:
        """The typing state; raises ApiFailure, which a host may drop."""
        if self._api is not None and self._permission.is_given:
            with self._permission.heeded():
                await self._api.typing(frame.address.chat)
        return ""

    async def _look(self) -> None:
        """Whether the platform gives a token: what is wrong with secret or address is seen before the first answer."""
        if self._api is not None and self._permission.is_given:
            # What failed stands in the health, and is tried again with each message.
            with suppress(ApiFailure, StoreUnavailable):
                await self._api.look()

    def _api_of(self, account: str, host: Host) -> Api | None:
        settings = self._settings
        if settings.app_secret is None:
            return None
        wire = Wire(
            account,
            settings.api_base,
            client=host.client,
            is_public=settings.is_public_api,
            timeout=settings.timeout,
            clock=host.clock,
            telemetry=host.telemetry,
            health=self._health,
        )
        secret = settings.app_secret.get_secret_value()
        tokens = StableTokens(
            wire,
            settings.app_id,
            secret,
            state=host.state,
            leases=host.leases,
            holder=f"{host.holder}:{account}",
            seal=host.seal,
        )
        return Api(wire, tokens)


def _seals(settings: WechatSettings) -> list[Seal]:
    """The present key first, then the one before."""
    keys: list[SecretStr | None] = [settings.encoding_aes_key, settings.previous_encoding_aes_key]
    return [Seal(key.get_secret_value(), settings.app_id) for key in keys if key is not None]


PLUGIN = PluginKind(WechatSettings, WechatPlugin)
