"""The calls of WeChat's API that an account makes, each once, over the one way out.

The answer's HTTP status says little: a refusal is a 200 with `errcode`. A call that was refused because of its token is
certainly not carried out, so it is made once more with a fresh one; nothing else is ever repeated here. Words travel as
UTF-8 and not as escapes, which people would see as they are.
"""

import json
from typing import Any, Protocol

from core.clock import Clock
from core.delivery import Refusal, Rejected, Unknown
from core.doors.outbound import Ambiguous, Answer, GuardedClient, NotSent, OutboundPolicy, Timeouts
from core.telemetry import Telemetry
from plugins.wechat.codes import STALE, meaning_of, rejected
from plugins.wechat.failures import ApiFailure
from plugins.wechat.health import Health
from plugins.wechat.xml import clean

_JSON = {"Content-Type": "application/json"}
BODY_LIMIT = 1 << 20  # bytes; answers are some hundred


class Wire:
    """One request and its JSON; raises ApiFailure. What it tells of a call holds its code and meaning, no words."""

    def __init__(
        self,
        account: str,
        base: str,
        *,
        client: GuardedClient,
        is_public: bool,
        timeout: float,
        clock: Clock,
        telemetry: Telemetry,
        health: Health,
    ) -> None:
        self.account, self.clock, self.health = account, clock, health
        self._base, self._client, self._telemetry = base, client, telemetry
        self._policy = OutboundPolicy(allow_private=not is_public, https_only=is_public, body_limit=BODY_LIMIT)
        self._timeouts = Timeouts(connect=min(5.0, timeout), head=timeout, idle=timeout, whole=timeout + 5.0)

    async def post(self, call: str, body: dict[str, Any], *, token: str = "") -> dict[str, Any]:
        started = self.clock.monotonic()
        outcome = "ok"
        try:
            said = _believed(await self._exchange(call, body, token))
            code = _code(said)
            if code:
                outcome = f"{code} {meaning_of(code).name}"
                words = str(said.get("errmsg", ""))
                raise ApiFailure(rejected(code, self.clock.now(), words), code, words)
            return said
        except ApiFailure as failure:
            outcome = outcome if failure.code is not None else "unanswered"
            raise
        finally:
            self.health.counts[f"{call} {outcome}"] += 1
            seconds = round(self.clock.monotonic() - started, 6)
            self._telemetry.event("channel.called", account=self.account, call=call, outcome=outcome, duration=seconds)

    async def _exchange(self, call: str, body: dict[str, Any], token: str) -> Answer:
        url = f"{self._base}/cgi-bin/{call}" + (f"?access_token={token}" if token else "")
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        try:
            return await self._client.request(
                "POST", url, policy=self._policy, headers=_JSON, body=data, timeouts=self._timeouts
            )
        except NotSent as error:
            raise ApiFailure(Rejected(Refusal.UNAVAILABLE, error.reason)) from None
        except Ambiguous as error:
            raise ApiFailure(Unknown(error.reason)) from None


class Tokens(Protocol):
    async def present(self, *, refused: str = "") -> str:
        """A token that is good as far as is known: another one than `refused`. Raises ApiFailure."""
        ...


class Api:
    """Calls that need a token. `tokens` gives one, and is told which of them failed."""

    def __init__(self, wire: Wire, tokens: Tokens) -> None:
        self._wire, self._tokens = wire, tokens

    async def text(self, open_id: str, words: str) -> None:
        """A customer-service message (developer guide, "customer service messages")."""
        await self._call(
            "message/custom/send", {"touser": open_id, "msgtype": "text", "text": {"content": clean(words)}}
        )

    async def typing(self, open_id: str) -> None:
        """The sign that somebody writes; it fades after 15 s, and goes with the next message."""
        await self._call("message/custom/typing", {"touser": open_id, "command": "Typing"})

    async def look(self) -> None:
        """Have a token at hand, or know why there is none."""
        try:
            await self._tokens.present()
        except ApiFailure as failure:
            self._wire.health.failed(failure)
            raise

    async def _call(self, call: str, body: dict[str, Any]) -> None:
        health = self._wire.health
        try:
            token = await self._tokens.present()
            try:
                await self._wire.post(call, body, token=token)
            except ApiFailure as failure:
                if failure.code not in STALE:
                    raise
                await self._wire.post(call, body, token=await self._tokens.present(refused=token))
        except ApiFailure as failure:
            health.failed(failure)
            raise
        health.succeeded()


def _believed(answer: Answer) -> dict[str, Any]:
    """What the platform said; an answer that is none may have come after the work was done."""
    said = _object(answer.body)
    if answer.status == 200 and said is not None:
        return said
    if answer.status >= 500 or answer.status == 200:
        raise ApiFailure(Unknown(f"HTTP {answer.status} without an answer of the platform"))
    reason = f"HTTP {answer.status} by something that is not the platform; look at api_base"
    raise ApiFailure(Rejected(Refusal.UNAVAILABLE, reason))


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _code(said: dict[str, Any]) -> int:
    code = said.get("errcode", 0)
    return code if isinstance(code, int) else -1
