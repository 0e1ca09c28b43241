"""How updates reach the bot: the queue, long polling, and the webhook sender.

After tdlib/telegram-bot-api 10.0. Polling: `offset` confirms what is below it, unconfirmed updates come again, and a
second poll ends the first with 409. Webhook: one POST at a time for each chat, chats in parallel, repeated until 2xx;
the first repetition is immediate, then the pause doubles; Retry-After is honoured. Pauses are scaled down (`pace`) so
that a test sees hours of patience in milliseconds; order and counts are the real ones.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.fakes.serving import Changes
from tests.fakes.telegram_wire import ApiError, bad_request, flag, integer

SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"
SECRET = re.compile(r"[A-Za-z0-9_-]{0,256}")
OFF_BY_DEFAULT = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
FIRST_UPDATE = 100
LONGEST_POLL = 50  # seconds (getUpdates, timeout)
MOST_UPDATES = 100  # (getUpdates, limit)
ANSWER_TIMEOUT = 60.0  # seconds the webhook may take to answer
FIRST_PAUSE = 2.0  # seconds before the second repetition
LONGEST_PAUSE = 60.0  # seconds
LONGEST_RETRY_AFTER = 3600.0  # seconds
ORDERED_APART = ("message_reaction", "message_reaction_count", "my_chat_member", "chat_member")  # own queues

Update = dict[str, Any]


@dataclass(frozen=True, slots=True)
class WebhookAttempt:
    """One POST to the webhook. `status` is None when no answer came."""

    update_id: int
    status: int | None
    retry_after: float | None  # seconds, as the gateway asked
    at: float = field(default_factory=time.monotonic)

    @property
    def is_acknowledged(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


@dataclass(slots=True)
class _Webhook:
    url: str
    secret: str
    connections: int
    address: str  # what getWebhookInfo shows
    error: str = ""


@dataclass(slots=True)
class _Poll:
    """A getUpdates call that waits; `ended_by` is why it must answer 409."""

    woken: asyncio.Event = field(default_factory=asyncio.Event)
    ended_by: str = ""


class Updates:
    """The bot's queue of updates and its one consumer: the current poll, or the webhook."""

    def __init__(
        self, changes: Changes, *, pace: float, call: Callable[[Mapping[str, Any]], Awaitable[object]]
    ) -> None:
        self.pending: list[Update] = []
        self.attempts: list[WebhookAttempt] = []
        self.webhook: _Webhook | None = None
        self._changes = changes
        self._pace = pace
        self._call = call  # runs the method a webhook answers with
        self._allowed: list[str] = []
        self._next_id = FIRST_UPDATE
        self._poll: _Poll | None = None
        self._dirty = asyncio.Event()
        self._busy: set[object] = set()
        self._sender: asyncio.Task[None] | None = None

    def push(self, update: Mapping[str, Any]) -> int | None:
        """Queue an update under a new id; None when allowed_updates filters it.

        An `update_id` that the update brings is kept, whatever it is: a test may send what Telegram never would.
        """
        kind = next((name for name in update if name != "update_id"), "")
        unwanted = kind not in self._allowed if self._allowed else kind in OFF_BY_DEFAULT
        if unwanted:
            return None
        update_id: int = update.get("update_id", self._next_id)
        if isinstance(update_id, int):
            self._next_id = max(self._next_id, update_id + 1)
        self.pending.append({**update, "update_id": update_id})
        self._wake()
        return update_id

    def repeat(self, updates: Iterable[Update]) -> None:
        """Queue updates once more under the ids they had, as after a lost acknowledgement."""
        self.pending.extend(updates)
        self._wake()

    async def get_updates(self, params: Mapping[str, Any]) -> list[Update]:
        if self.webhook is not None:
            raise ApiError(
                409,
                "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the "
                "webhook first",
            )
        self._choose(params)
        limit = min(max(integer(params, "limit", 100), 1), MOST_UPDATES)
        self._confirm(integer(params, "offset", 0))
        self._end_poll("terminated by other getUpdates request; make sure that only one bot instance is running")
        timeout = min(integer(params, "timeout", 0), LONGEST_POLL)
        if not self.pending and timeout > 0:
            await self._wait(timeout)
        return self.pending[:limit]

    async def set_webhook(self, params: Mapping[str, Any]) -> bool:
        url = str(params.get("url") or "")
        if not url:
            return await self.delete_webhook(params)
        secret = str(params.get("secret_token") or "")
        if not SECRET.fullmatch(secret):
            raise bad_request("secret token contains unallowed characters")
        if not re.match(r"https?://[^/]+", url):
            raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
        connections = integer(params, "max_connections", 40)
        if not 1 <= connections <= 100:
            raise bad_request("max_connections must be in the range 1 to 100")
        self._choose(params)
        self._end_poll("terminated by setWebhook request")
        if flag(params, "drop_pending_updates"):
            self.pending.clear()
        wanted = _Webhook(url, secret, connections, address="127.0.0.1")
        if self.webhook is None or (self.webhook.url, self.webhook.secret) != (url, secret):
            await self.stop()
            self.webhook = wanted
            self.resume()
        return True

    async def delete_webhook(self, params: Mapping[str, Any]) -> bool:
        await self.stop()
        self.webhook = None
        if flag(params, "drop_pending_updates"):
            self.pending.clear()
        self._changes.mark()
        return True

    async def get_webhook_info(self, params: Mapping[str, Any]) -> dict[str, Any]:
        info: dict[str, Any] = {
            "url": "",
            "has_custom_certificate": False,
            "pending_update_count": len(self.pending),
        }
        if self.webhook is not None:
            info |= {
                "url": self.webhook.url,
                "ip_address": self.webhook.address,
                "max_connections": self.webhook.connections,
            }
            if self.webhook.error:
                info |= {"last_error_message": self.webhook.error, "last_error_date": int(time.time())}
        if self._allowed:
            info["allowed_updates"] = self._allowed
        return info

    def resume(self) -> None:
        """Send to the webhook, if one is set; a sender at work is left alone."""
        if self.webhook is not None and self._sender is None:
            self._sender = asyncio.create_task(self._send_all(self.webhook), name="fake-telegram-webhook")

    async def stop(self) -> None:
        """Stop sending; updates in flight stay pending, so the gateway may see them twice, as in life."""
        sender, self._sender = self._sender, None
        if sender is not None:
            sender.cancel()
            await asyncio.wait({sender})
            if not sender.cancelled() and (error := sender.exception()) is not None:
                raise error

    def _choose(self, params: Mapping[str, Any]) -> None:
        """allowed_updates: absent keeps the list, empty is the default set."""
        if (allowed := params.get("allowed_updates")) is not None:
            if not isinstance(allowed, list):
                raise bad_request("can't parse allowed_updates JSON object")
            self._allowed = [str(kind) for kind in allowed]

    def _confirm(self, offset: int) -> None:
        if offset < 0:
            self.pending = self.pending[offset:]
        elif offset > 0:
            self.pending = [update for update in self.pending if _is_at_least(update, offset)]
        self._changes.mark()

    def _end_poll(self, reason: str) -> None:
        if self._poll is not None:
            self._poll.ended_by = reason
            self._poll.woken.set()
            self._poll = None

    async def _wait(self, timeout: float) -> None:
        poll = self._poll = _Poll()
        self._changes.mark()
        try:
            async with asyncio.timeout(timeout):
                await poll.woken.wait()
        except TimeoutError:
            pass
        finally:
            if self._poll is poll:
                self._poll = None
        if poll.ended_by:
            raise ApiError(409, f"Conflict: {poll.ended_by}")

    @property
    def is_polled(self) -> bool:
        """Whether a long poll is waiting right now."""
        return self._poll is not None

    def _wake(self) -> None:
        self._dirty.set()
        if self._poll is not None:
            self._poll.woken.set()
        self._changes.mark()

    async def _send_all(self, webhook: _Webhook) -> None:
        timeout = aiohttp.ClientTimeout(total=ANSWER_TIMEOUT)
        self._busy.clear()
        async with aiohttp.ClientSession(timeout=timeout) as http, asyncio.TaskGroup() as lanes:
            while True:
                self._dirty.clear()
                for lane, update in self._due(webhook.connections):
                    self._busy.add(lane)
                    lanes.create_task(self._send(http, webhook, lane, update), name=f"fake-telegram-lane-{lane}")
                await self._dirty.wait()

    def _due(self, connections: int) -> list[tuple[object, Update]]:
        """The oldest update of each lane that is not at work, within the connection limit."""
        due: dict[object, Update] = {}
        for update in self.pending:
            lane = lane_of(update)
            if lane not in self._busy and len(self._busy) + len(due) < connections:
                due.setdefault(lane, update)
        return list(due.items())

    async def _send(self, http: aiohttp.ClientSession, webhook: _Webhook, lane: object, update: Update) -> None:
        pause = 0.0
        while not (attempt := await self._attempt(http, webhook, update)).is_acknowledged:
            asked = attempt.retry_after
            await asyncio.sleep(self._pace * (pause if asked is None else min(asked, LONGEST_RETRY_AFTER)))
            pause = min(max(2 * pause, FIRST_PAUSE), LONGEST_PAUSE)
        self.pending = [waiting for waiting in self.pending if waiting is not update]
        self._busy.discard(lane)
        self._wake()

    async def _attempt(self, http: aiohttp.ClientSession, webhook: _Webhook, update: Update) -> WebhookAttempt:
        headers = {SECRET_HEADER: webhook.secret} if webhook.secret else {}
        status, retry_after, answer = None, None, None
        try:
            async with http.post(webhook.url, json=update, headers=headers, allow_redirects=False) as response:
                status = response.status
                asked = response.headers.get("Retry-After", "")
                retry_after = float(asked) if asked.replace(".", "", 1).isdigit() else None
                webhook.error = f"Wrong response from the webhook: {status} {response.reason}"
                if response.content_type == "application/json":
                    answer = await response.json()
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            webhook.error = str(error) or type(error).__name__
        attempt = WebhookAttempt(update["update_id"], status, retry_after)
        self.attempts.append(attempt)
        self._changes.mark()
        if attempt.is_acknowledged:
            webhook.error = ""
            if isinstance(answer, dict) and answer.get("method"):
                await self._call(answer)
        return attempt


def _is_at_least(update: Update, offset: int) -> bool:
    update_id = update["update_id"]
    return isinstance(update_id, int) and update_id >= offset


def lane_of(update: Update) -> object:
    """The queue of an update: its chat's; reactions and member changes are not ordered against messages."""
    kind, body = next(((name, value) for name, value in update.items() if name != "update_id"), ("", None))
    message = body.get("message") if isinstance(body, dict) and "chat" not in body else body
    chat = message.get("chat") if isinstance(message, dict) else None
    apart = kind if kind in ORDERED_APART else ""
    return (chat["id"], apart) if isinstance(chat, dict) and "id" in chat else (update["update_id"], apart)
