"""The Bot API through python-telegram-bot's `Bot`, with the gateway's guarded client under its `BaseRequest` seam.

httpx, the library's own transport, costs about seven times as much a call, and would be a second way out. The seam is
also where the one question is answered that decides about repetition: was the call taken? An answer is believed only
when it is the Bot API's own JSON; a page by some proxy says nothing about what Telegram did.

This module and `outcome` alone import python-telegram-bot: half a second and 20 MB, spent when a bot starts to work
and not when the plugin is looked up. What is raised here is `ApiFailure`, and it never holds the token, which is in
every URL.
"""

import json
import logging
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypeVar

import orjson
from telegram import Bot, BotCommand
from telegram.error import BadRequest, TelegramError
from telegram.request import BaseRequest, RequestData

from core.clock import Instant
from core.doors.outbound import Ambiguous, Answer, GuardedClient, NotSent, OutboundPolicy, Timeouts
from plugins.telegram.mentions import Me
from plugins.telegram.outcome import MaybeTaken, NotTaken, Throttled, failure_of

T = TypeVar("T")

CONNECT_TIMEOUT = 5.0  # seconds; nothing was sent when it passes, so it may be short
POLL_GRACE = 10.0  # seconds beyond a long poll's own time until its answer is given up
ANSWER_LIMIT = 1 << 20  # bytes; the answer to a call about one message
UPDATES_LIMIT = 32 << 20  # bytes; 100 updates, each with a long message and the one it replies to
DEFAULT_RETRY_AFTER = 5.0  # seconds; for a 429 that does not say

_JSON = {"Content-Type": "application/json"}
_OWN_REFUSALS = frozenset((400, 401, 403, 404, 409))  # what python-telegram-bot has an exception for


class BotApi:
    """The calls this plugin makes. Each raises `ApiFailure`; none repeats anything."""

    def __init__(self, token: str, api_base: str, client: GuardedClient, *, is_public: bool, timeout: float) -> None:
        # At DEBUG the library logs its URL with the token, and every call with the words in it.
        log = logging.getLogger("telegram")
        log.setLevel(max(logging.INFO, log.getEffectiveLevel()))
        short = Timeouts(connect=CONNECT_TIMEOUT, head=timeout, idle=timeout, whole=CONNECT_TIMEOUT + timeout)
        self._bot = _Bot(
            token,
            base_url=f"{api_base}/bot",
            base_file_url=f"{api_base}/file/bot",
            request=GuardedRequest(client, _policy(is_public, ANSWER_LIMIT), short),
            get_updates_request=LongPoll(client, _policy(is_public, UPDATES_LIMIT), short),
        )

    async def me(self) -> Me:
        user = await _asked(self._bot.get_me())
        return Me(user.id, user.username or "")

    async def show(self, chat: str, text: str, *, is_html: bool, topic: str, quote: str) -> str:
        """The new message's id. `topic` is "" for none; `quote` is replied to if it still exists, "" for none."""
        reply = {"message_id": int(quote), "allow_sending_without_reply": True} if quote else None
        message = await _asked(
            self._bot.raw(
                "sendMessage",
                chat_id=int(chat),
                text=text,
                parse_mode=_mode(is_html),
                message_thread_id=_thread(topic),
                reply_parameters=reply,
            )
        )
        if not isinstance(message, dict) or not isinstance(message.get("message_id"), int):
            raise failure_of(MaybeTaken("the answer names no message"))
        return str(message["message_id"])

    async def edit(self, chat: str, message: str, text: str, *, is_html: bool) -> None:
        await _asked(
            self._bot.raw(
                "editMessageText", chat_id=int(chat), message_id=int(message), text=text, parse_mode=_mode(is_html)
            )
        )

    async def has_topics(self, chat: str) -> bool:
        found = await _asked(self._bot.raw("getChat", chat_id=int(chat)))
        return isinstance(found, dict) and bool(found.get("is_forum"))

    async def remove(self, chat: str, message: str) -> None:
        await _asked(self._bot.delete_message(int(chat), int(message)))

    async def typing(self, chat: str, topic: str) -> None:
        await _asked(self._bot.send_chat_action(int(chat), "typing", message_thread_id=_thread(topic)))

    async def updates(self, *, offset: int | None, limit: int, timeout: float, allowed: Sequence[str]) -> list[Any]:
        """Waits up to `timeout` seconds for the first; all below `offset` is confirmed by asking. Unchecked JSON."""
        found = await _asked(
            self._bot.raw(
                "getUpdates",
                patience=timeout + POLL_GRACE,
                offset=offset,
                limit=limit,
                timeout=int(timeout),
                allowed_updates=list(allowed),
            )
        )
        if not isinstance(found, list):
            raise failure_of(NotTaken("getUpdates was answered with something else than a list"))
        return found

    async def set_webhook(self, url: str, secret: str, *, connections: int, allowed: Sequence[str]) -> None:
        await _asked(
            self._bot.set_webhook(url, secret_token=secret, max_connections=connections, allowed_updates=allowed)
        )

    async def delete_webhook(self) -> None:
        """What waits to be delivered stays."""
        await _asked(self._bot.delete_webhook(drop_pending_updates=False))

    async def webhook(self) -> tuple[str, str, Instant]:
        """The URL that Telegram delivers to, its last complaint about it and when that was; "" and 0.0 for none."""
        found = await _asked(self._bot.get_webhook_info())
        at = found.last_error_date.timestamp() if found.last_error_date is not None else 0.0
        return found.url, found.last_error_message or "", at

    async def set_commands(self, commands: Mapping[str, str], language: str) -> None:
        """`language` "" sets those for everybody whose language has none of its own."""
        menu = [BotCommand(name, description) for name, description in commands.items()]
        await _asked(self._bot.set_my_commands(menu, language_code=language or None))


async def _asked(call: Awaitable[T]) -> T:
    try:
        return await call
    except TelegramError as error:
        raise failure_of(error) from None  # its context may hold a URL, and with it the token
    except (KeyError, TypeError, ValueError, AttributeError):
        # The library does not validate what it decodes; by then the call was answered with ok.
        raise failure_of(MaybeTaken("the answer could not be understood")) from None


def _mode(is_html: bool) -> str | None:
    return "HTML" if is_html else None


def _thread(topic: str) -> int | None:
    """A forum's General topic is refused as a thread id (TG-28)."""
    return int(topic) if topic not in ("", "1") else None


def _policy(is_public: bool, body_limit: int) -> OutboundPolicy:
    """Telegram itself is reached over TLS at public addresses; another server's address is the operator's own word."""
    return OutboundPolicy(allow_private=not is_public, https_only=is_public, body_limit=body_limit)


class _Bot(Bot):
    async def raw(self, method: str, *, patience: float | None = None, **parameters: Any) -> Any:
        """The result as it came, for the calls that carry messages; parameters that are None are left out.

        Making a `Message` of an answer costs 0.1 ms, more than all else on the way out, and only its id is wanted.
        Making an `Update` raises on what it does not expect, and would hold up every update behind it.
        """
        wait = BaseRequest.DEFAULT_NONE if patience is None else patience
        return await self._post(method, parameters, read_timeout=wait)


class GuardedRequest(BaseRequest):
    """python-telegram-bot's transport. The client belongs to the process: nothing to open or close here."""

    def __init__(self, client: GuardedClient, policy: OutboundPolicy, timeouts: Timeouts) -> None:
        self._client = client
        self._policy = policy
        self._timeouts = timeouts

    @property
    def read_timeout(self) -> float | None:
        return self._timeouts.head

    async def initialize(self) -> None:
        return None

    async def shutdown(self) -> None:
        return None

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: object = BaseRequest.DEFAULT_NONE,
        write_timeout: object = BaseRequest.DEFAULT_NONE,  # noqa: ARG002 - the seam's signature
        connect_timeout: object = BaseRequest.DEFAULT_NONE,  # noqa: ARG002
        pool_timeout: object = BaseRequest.DEFAULT_NONE,  # noqa: ARG002
    ) -> tuple[int, bytes]:
        body = orjson.dumps(request_data.parameters if request_data is not None else {})
        patience = read_timeout if isinstance(read_timeout, int | float) else None
        try:
            answer = await self._exchange(method, url, body, patience)
        except NotSent as error:
            raise NotTaken(error.reason) from None
        except Ambiguous as error:
            raise MaybeTaken(error.reason) from None
        return believed(answer)

    async def _exchange(self, method: str, url: str, body: bytes, patience: float | None) -> Answer:
        """`patience` is what the caller allows for the answer, None for the usual."""
        timeouts = self._timeouts
        if patience is not None:
            timeouts = Timeouts(timeouts.connect, patience, timeouts.idle, timeouts.connect + patience)
        return await self._client.request(method, url, policy=self._policy, headers=_JSON, body=body, timeouts=timeouts)

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, Any]:
        """Lenient, since one odd update must not make a whole answer unreadable; each is checked by itself later."""
        value = _object(payload)
        if value is None:
            raise MaybeTaken("the answer is no JSON object")
        return value


class LongPoll(GuardedRequest):
    """getUpdates waits for most of its time, and must not hold a connection that a message could use."""

    async def _exchange(self, method: str, url: str, body: bytes, patience: float | None) -> Answer:
        head = patience or self._timeouts.head
        timeouts = Timeouts(self._timeouts.connect, head, self._timeouts.idle)
        async with self._client.stream(
            method, url, policy=self._policy, headers=_JSON, body=body, timeouts=timeouts
        ) as answer:
            return Answer(answer.status, answer.headers, await answer.read())


def believed(answer: Answer) -> tuple[int, bytes]:
    """Status and body as python-telegram-bot shall read them; raises for what it would misread (F21)."""
    said = _object(answer.body)
    if 200 <= answer.status < 300:
        if said is None or "result" not in said:
            raise MaybeTaken("the answer has no result")
        return answer.status, answer.body
    if answer.status == 429:
        raise Throttled(_retry_after(said, answer.headers))
    if answer.status in (502, 504) or (answer.status >= 500 and not _is_refusal(said)):
        raise MaybeTaken(f"HTTP {answer.status}")
    if answer.status == 413:
        raise BadRequest("the request is too large")
    if not _is_refusal(said):
        raise NotTaken(f"HTTP {answer.status} by something that is not the Bot API; look at api_base")
    if answer.status not in _OWN_REFUSALS:
        raise NotTaken(f"HTTP {answer.status}: {str((said or {}).get('description', ''))[:200]}")
    return answer.status, answer.body


def _object(payload: bytes) -> dict[str, Any] | None:
    """None for what is no JSON object. The fast parser refuses oddities that the lenient one lets through."""
    try:
        value = orjson.loads(payload)
    except ValueError:
        try:
            value = json.loads(payload.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _is_refusal(said: dict[str, Any] | None) -> bool:
    return said is not None and said.get("ok") is False


def _retry_after(said: dict[str, Any] | None, headers: Mapping[str, str]) -> float:
    parameters = (said or {}).get("parameters")
    asked = parameters.get("retry_after") if isinstance(parameters, dict) else None
    if isinstance(asked, int | float) and not isinstance(asked, bool):
        return max(0.0, float(asked))
    header = headers.get("Retry-After", "")
    return float(header) if header.isascii() and header.isdigit() and len(header) < 9 else DEFAULT_RETRY_AFTER
