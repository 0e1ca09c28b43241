"""What the platform pushes: the URL check by GET, messages and events by POST, on one path for each account.

From the head: the signature over Token, timestamp and nonce, and the timestamp's freshness. In safe mode the body
holds a cipher with a signature of its own; nothing is parsed that declares anything, and nothing deciphered that is not
signed. Whatever is wrong with a signature or a cipher gets the very same 403.

In plain mode the signature does not cover the body, so a captured query could sign any: each (timestamp, nonce) belongs
to the first message it came with, here and, as a dedupe key, over restarts.
"""

import asyncio
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, TypeVar

from aiohttp import web

from core.clock import Clock
from core.delivery import Delivery
from core.doors.ingress import Ingress, Refusal
from core.envelope import Inbound, Unreadable
from core.errors import Busy, StoreUnavailable
from core.notices import sentence
from core.parts import File
from core.plugin import Accepted, Admission, Duplicate, Intake
from core.window import Gather, ReplyWindow
from plugins.wechat import xml
from plugins.wechat.cipher import BadSeal, Seal, is_signature, opened, signature
from plugins.wechat.freshness import FRESH, Freshness, time_of
from plugins.wechat.health import Health
from plugins.wechat.incoming import Incoming, without_files
from plugins.wechat.passive import (
    EARLIER,
    GATHER,
    Asked,
    Pace,
    Reply,
    Requests,
    Write,
    carried,
    carried_in_words,
    hold,
    joined,
    success,
)
from plugins.wechat.translate import inbound, is_sealed, media_in

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from core.doors.ingress import Route

T = TypeVar("T")
SIGNATURE = 40  # hexadecimal digits
FETCHING = 0.8  # of `reply_within` is what a request waits for a file; the rest is for the answer
BEGAN = web.RequestKey("began", float)  # when its head arrived, on the monotonic clock
NONCES = 20_000  # remembered in plain mode; past it the oldest, which is stale by then unless 66 come in a second
_TYPES = ("text/xml", "application/xml")


class Webhook:
    def __init__(
        self,
        account: str,
        token: str,
        seals: "Sequence[Seal]",
        *,
        pace: Pace,
        waits: "Callable[[], bool]",
        may_send: "Callable[[], bool]",
        incoming: Incoming,
        clock: Clock,
        health: Health,
    ) -> None:
        """No seals: plain mode. `waits`: whether the platform is left to ask again for what is not ready."""
        self.path = f"/hooks/{account}"
        self._token, self._seals, self._pace = token, seals, pace
        self._waits, self._may_send, self._clock, self._health = waits, may_send, clock, health
        self._incoming, self._freshness = incoming, Freshness(clock)
        self._nonces: OrderedDict[str, str] = OrderedDict()
        self._requests = Requests()
        self._intake: Intake | None = None
        self._opened_at = 0.0  # by the clock's monotonic time
        self._good_at = -FRESH  # when a push could be read, by the same

    def routes(self, ingress: Ingress) -> "Iterable[Route]":
        yield ingress.get(self.path, authenticate=self._check_query, handle=self._echo)
        yield ingress.post(
            self.path,
            authenticate=self._check_push,
            handle=self._receive,
            verify=self._check_body,
            body_limit=xml.SIZE_LIMIT,
            content_types=_TYPES,
        )

    def opens(self, intake: Intake) -> None:
        self._intake, self._opened_at = intake, self._clock.monotonic()

    def closes(self) -> None:
        self._intake = None

    # ------------------------------------------------------------------ who asks

    def _check_query(self, request: web.Request) -> None:
        at, nonce, given = (_one(request, name) for name in ("timestamp", "nonce", "signature"))
        signed_at = time_of(at)
        is_fresh = signed_at is not None and self._freshness.is_fresh(signed_at)
        if not at or not nonce or not is_signature(given, self._token, at, nonce):
            if is_fresh and nonce and len(given) == SIGNATURE:
                self._health.signed_otherwise()
            raise _forbidden("bad_signature")
        if signed_at is None or not is_fresh:
            self._found_stale(signed_at)
            raise _forbidden("stale_signature")
        self._freshness.signed(signed_at)
        self._health.signed(self._clock.now(), is_clock_right=self._freshness.agrees(signed_at))

    def _found_stale(self, signed_at: int | None) -> None:
        """Somebody sends an old query again; or, where no good push came just now, a clock is wrong."""
        self._health.counts["stale_queries"] += 1
        is_again = signed_at is not None and self._freshness.is_again(signed_at)
        if not is_again and self._clock.monotonic() - self._good_at > FRESH:
            self._health.unread("stale")

    def _check_push(self, request: web.Request) -> None:
        request[BEGAN] = time.monotonic()
        self._check_query(request)
        if self._seals and (_one(request, "encrypt_type") != "aes" or not _one(request, "msg_signature")):
            self._health.unread("unsealed")
            raise _forbidden("not_encrypted")

    def _check_body(self, request: web.Request, raw: bytes) -> None:
        try:
            sealed = xml.read(raw).get("Encrypt")
        except xml.BadXml as error:
            raise Refusal(400, error.reason) from error
        if not self._seals:
            return
        members = (self._token, _one(request, "timestamp"), _one(request, "nonce"))
        if not isinstance(sealed, str) or not is_signature(_one(request, "msg_signature"), *members, sealed):
            raise _forbidden("bad_message_signature")

    # ------------------------------------------------------------------ what is asked

    async def _echo(self, request: web.Request, _body: bytes) -> web.Response:
        headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
        return web.Response(text=_one(request, "echostr"), content_type="text/plain", headers=headers)

    async def _receive(self, request: web.Request, raw: bytes) -> web.StreamResponse:
        words, seal = self._opened(raw) if self._seals else (self._unsealed(raw), None)
        if self._intake is None:
            return await hold(request, self._pace, request[BEGAN])
        nonce = "" if self._seals else self._spent(request, words)
        item, began = inbound(words, nonce=nonce), request[BEGAN]
        if isinstance(item, Unreadable) or item.is_event:
            kept = await self._admitted(self._intake, item, began)
            return success() if kept is not None else await hold(request, self._pace, began)
        created = time_of(str(xml.read(words).get("CreateTime")))
        age = self._pace.age(created, time_of(_one(request, "timestamp")))
        asked = self._requests.count(item.keys[0], began, age)
        whole = await self._whole(self._intake, item, words, asked, began)
        if whole is None:
            return await hold(request, self._pace, began)
        return await self._answered(self._intake, request, whole, self._writer(request, words, seal), asked)

    async def _whole(self, intake: Intake, item: Inbound, words: bytes, asked: Asked, began: float) -> Inbound | None:
        """With the file it brings, within this request or the next; None: not yet. The last one waits no longer.

        What was asked before the process started nobody knows, so that each may be the last for a while after it.
        """
        if not any(isinstance(part, File) for part in item.parts):
            return item
        media_id = media_in(words)
        if not media_id:
            return without_files(item)
        is_let_in = await self._in_time(intake.lets_in(item), began)
        if not is_let_in:
            return None if is_let_in is None else without_files(item)
        found = await self._incoming.with_files(item, media_id, self._pace.left(began, FETCHING))
        is_young = self._clock.monotonic() - self._opened_at < self._pace.all_requests
        is_last = is_young or self._pace.is_last(asked, self._pace.all_requests - began + asked.began)
        return without_files(item) if found is None and is_last else found

    async def _answered(
        self, intake: Intake, request: web.Request, item: Inbound, write: Write, asked: Asked
    ) -> web.StreamResponse:
        began, window = request[BEGAN], self._window(asked, request[BEGAN])
        try:
            admission = await self._admitted(intake, item, began, window)
        except Busy:
            busy = write(sentence("busy", intake.language or "en"))
            return web.Response(text=busy, content_type="text/xml", charset="utf-8")
        if admission is None:
            return await hold(request, self._pace, began)
        if not isinstance(admission, Accepted | Duplicate) or not admission.envelope or not window.is_open:
            return success()
        is_last = self._pace.is_last(asked, window.ends - self._clock.now() + time.monotonic() - began)
        reply = Reply(request, window, self._pace, write, began)
        try:
            return await reply.give(
                is_last=is_last, language=intake.language or "en", may_send=self._may_send, waits=self._waits
            )
        finally:
            window.leave(unheard=True)  # where it was cut off; one that has left stays as it is

    def _window(self, asked: Asked, began: float) -> ReplyWindow:
        now = self._clock.now()
        until = now + self._pace.all_requests - (time.monotonic() - asked.began)
        gather = Gather(now + self._pace.left(began, GATHER), joined, lambda: not self._may_send())
        return ReplyWindow(until, self._carried, returns=self._waits(), gather=gather)

    def _carried(self, delivery: Delivery) -> str | None:
        """As the account may send by now: that it may not can come out while the request is open."""
        return carried(delivery) if self._may_send() else carried_in_words(delivery)

    async def _admitted(
        self, intake: Intake, item: Inbound | Unreadable, began: float, window: ReplyWindow | None = None
    ) -> Admission | None:
        """None: not within the time for an answer. What the store takes nevertheless, the next request finds there."""
        admissions = await self._in_time(intake.accept([item], window=window), began)
        return admissions[0] if admissions is not None else None

    async def _in_time(self, work: "Awaitable[T]", began: float) -> T | None:
        """What the store is asked for; None when it cannot say, or not while there is time for an answer."""
        try:
            async with asyncio.timeout(self._pace.left(began, EARLIER)):
                return await work
        except (TimeoutError, StoreUnavailable):
            return None

    def _unsealed(self, raw: bytes) -> bytes:
        if is_sealed(raw):
            self._health.unread("sealed")
        else:
            self._found_good()
        return raw

    def _found_good(self) -> None:
        self._good_at = self._clock.monotonic()
        self._health.read()

    def _opened(self, raw: bytes) -> tuple[bytes, Seal]:
        try:
            words, seal = opened(self._seals, str(xml.read(raw)["Encrypt"]))
        except BadSeal as error:
            self._health.unread("sealed_otherwise")
            raise _forbidden("bad_cipher") from error
        self._found_good()
        return words, seal

    def _spent(self, request: web.Request, words: bytes) -> str:
        """The query's own name; refused when another message came under it."""
        nonce = f"{_one(request, 'timestamp')}:{_one(request, 'nonce')}"
        found = inbound(words)
        first = self._nonces.setdefault(nonce, found.keys[0])
        while len(self._nonces) > NONCES:
            self._nonces.popitem(last=False)
        if first != found.keys[0]:
            raise _forbidden("nonce_spent")
        return nonce

    def _writer(self, request: web.Request, words: bytes, seal: Seal | None) -> Write:
        fields = xml.read(words)
        to, by = str(fields.get("FromUserName")), str(fields.get("ToUserName"))

        def write(answer: str) -> str:
            now = int(self._clock.now())
            said: dict[str, str | int] = {
                "ToUserName": to,
                "FromUserName": by,
                "CreateTime": now,
                "MsgType": "text",
                "Content": answer,
            }
            plain = xml.write(said)
            return plain if seal is None else self._sealed(seal, plain, str(now), _one(request, "nonce"))

        return write

    def _sealed(self, seal: Seal, plain: str, at: str, nonce: str) -> str:
        sealed = seal.close(plain.encode())
        signed = signature(self._token, at, nonce, sealed)
        return xml.write({"Encrypt": sealed, "MsgSignature": signed, "TimeStamp": int(at), "Nonce": nonce})


def _one(request: web.Request, name: str) -> str:
    """The only value of a parameter, "" when there is none or more than one."""
    values = request.query.getall(name, [])
    return values[0] if len(values) == 1 else ""


def _forbidden(reason: str) -> Refusal:
    """One answer for all of them; the reason is for the audit alone."""
    return Refusal(403, reason, close=True)
