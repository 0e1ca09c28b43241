"""The access_token: one for all calls and all replicas, fetched once however many ask, and shared through plugin state.

`stable_token` gives the same token again until five minutes before its end, and for these both the old and the new one
are good ("Get stable interface call credentials", read 2026-08). A token is never thrown away on somebody's word about
another one: only a call that was made with it can say that it failed. Only when the platform gives the failed token
again is a new one forced, which it allows 20 times a day. What is stored is sealed: whoever has a copy of the database
may not speak for the account.
"""

import asyncio
import hashlib
import json
from dataclasses import dataclass

from core.clock import Instant
from core.delivery import Refusal, Rejected, Unknown
from core.plugin import Leases, PluginState
from core.seal import Seal, SealBroken
from plugins.wechat.api import Wire
from plugins.wechat.failures import ApiFailure

STATE = "access_token"  # the plugin's state
EARLY = 300.0  # seconds before its end at which a token is fetched anew: both are good by then
LEAST = 60.0  # seconds that a token is used, however short its life is said to be
PAUSE = 60.0  # seconds without another try after the platform refused to give a token
FETCH_LIMIT = 30.0  # seconds that a replica may need for fetching; past them another one does it
POLL = 0.1  # seconds between two looks at what another replica fetches


@dataclass(frozen=True, slots=True)
class Token:
    value: str
    until: Instant  # when it is to be fetched anew


class StableTokens:
    def __init__(
        self, wire: Wire, app_id: str, app_secret: str, *, state: PluginState, leases: Leases, holder: str, seal: Seal
    ) -> None:
        self._wire, self._app_id, self._secret = wire, app_id, app_secret
        self._state, self._leases, self._holder, self._seal = state, leases, holder, seal
        self._lock = asyncio.Lock()
        self._held: Token | None = None
        self._failed: ApiFailure | None = None
        self._not_before = 0.0  # monotonic

    async def present(self, *, refused: str = "") -> str:
        """A token that is good as far as is known. Raises ApiFailure, for a while without asking again."""
        if self._is_good(self._held, refused):
            return self._held.value  # type: ignore[union-attr]
        async with self._lock:
            if not self._is_good(self._held, refused):
                self._held = await self._shared(refused)
            return self._held.value  # type: ignore[union-attr]

    def _is_good(self, token: Token | None, refused: str) -> bool:
        return token is not None and token.value != refused and self._wire.clock.now() < token.until

    async def _shared(self, refused: str) -> Token:
        """What another replica fetched, or one that this one fetches for all of them."""
        lease = f"{STATE}:{self._wire.account}"
        while True:
            found = await self._read()
            if found is not None and self._is_good(found, refused):
                return found
            if await self._leases.acquire(lease, self._holder, FETCH_LIMIT) is not None:
                try:
                    found = await self._read()  # whoever held the lease before may have fetched it
                    return found if found and self._is_good(found, refused) else await self._fetch(refused)
                finally:
                    await self._leases.release(lease, self._holder)
            await asyncio.sleep(POLL)

    async def _fetch(self, refused: str) -> Token:
        if self._failed is not None and self._wire.clock.monotonic() < self._not_before:
            raise self._failed
        try:
            said = await self._ask(force=False)
            if said.value == refused:
                said = await self._ask(force=True)
        except ApiFailure as failure:
            if isinstance(failure.outcome, Unknown):  # asking for a token is no delivery: nothing was shown
                failure = ApiFailure(Rejected(Refusal.UNAVAILABLE, failure.outcome.reason), failure.code)
            self._failed, self._not_before = failure, self._wire.clock.monotonic() + self._pause(failure)
            raise failure from None
        self._failed = None
        await self._write(said)
        return said

    @staticmethod
    def _pause(failure: ApiFailure) -> float:
        return PAUSE if failure.kind is Refusal.UNAUTHORISED else 1.0

    async def _ask(self, *, force: bool) -> Token:
        body = {
            "grant_type": "client_credential",
            "appid": self._app_id,
            "secret": self._secret,
            "force_refresh": force,
        }
        said = await self._wire.post("stable_token", body)
        value, lives = said.get("access_token"), said.get("expires_in")
        if not isinstance(value, str) or not value.isascii() or not isinstance(lives, int | float):
            raise ApiFailure(Rejected(Refusal.UNAVAILABLE, "the platform's answer has no access_token"))
        return Token(value, self._wire.clock.now() + max(lives - EARLY, min(lives, LEAST)))

    async def _read(self) -> Token | None:
        """None where there is none, or none of this account and this key: then another one is fetched."""
        found = await self._state.read(self._wire.account, STATE)
        if found is None:
            return None
        try:
            value = json.loads(self._seal.open(found[0], self._place))
        except SealBroken:
            return None
        return Token(value["token"], value["until"]) if value.get("app") == self._fingerprint() else None

    async def _write(self, token: Token) -> None:
        """Under the lease nobody else writes; a version that is not the present one means that it was lost."""
        found = await self._state.read(self._wire.account, STATE)
        value = json.dumps({"token": token.value, "until": token.until, "app": self._fingerprint()})
        sealed = self._seal.close(value, self._place)
        await self._state.write(self._wire.account, STATE, sealed, version=found[1] if found is not None else 0)

    @property
    def _place(self) -> str:
        return f"wechat {self._wire.account} {STATE}"

    def _fingerprint(self) -> str:
        """Enough to notice another AppID or AppSecret, and no way back to them."""
        return hashlib.sha256(f"frontdesk wechat:{self._app_id}:{self._secret}".encode()).hexdigest()[:16]
