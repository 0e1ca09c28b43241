"""Passive replies: the answer to a push, in its own response, as long as the platform listens.

The platform waits five seconds for each of three requests with the same message (developer guide, "passive replies").
"success" ends that. An account that may send customer-service messages says it as soon as an answer does not come in
time; one that may not leaves the first two requests without a word, so that the answer has fifteen seconds, and closes
the third with a short notice that the answer can be fetched. Nothing is ever written after `reply_within`, counted from
the request's head: the platform may have hung up, and would show the answer to nobody. So a store that is slow just
then is not waited for: what it has not taken in time goes another way.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from core.delivery import Delivery, Op
from core.notices import sentence
from core.window import ReplyWindow
from plugins.wechat.render import TEXT_LIMIT

REQUESTS = 3  # with the same message, before the platform gives up
SHARE = 0.9  # of the platform's patience is what `reply_within` stands for: 4.5 of 5 seconds
EARLIER = 0.9  # of `reply_within` is spent waiting, the rest on writing
CLOSING = 0.95  # of `reply_within` the store may take for the notice that ends the last request
LAST = 1.5  # times its patience is left at most when the last request begins: one for itself, half for doubt
REMEMBERED = 10_000  # messages whose requests are counted; past it one more may wait in vain

SUCCESS = "success"
GATHER = 0.8  # of `reply_within` an answer to an earlier question waits for the answer to this one

_AGAIN = {"zh": "（重发）"}
_AGAIN_ELSE = "(again) "
_UPDATE = {"zh": "（更新）"}
_UPDATE_ELSE = "(update) "
_EARLIER = {"zh": "（回复你之前的问题）\n"}
_EARLIER_ELSE = "(To your earlier question)\n"

Write = Callable[[str], str]
"""The words as the body of a response: XML, sealed where the push was."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a message, and those before it: as many as this process has seen."""

    number: int
    began: float  # when the first of all arrived, on the monotonic clock; where nobody saw it, as the platform says


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds, all in proportion to `reply_within`; tests live faster."""

    reply_within: float

    @property
    def patience(self) -> float:
        """For which the platform listens to one request."""
        return self.reply_within / SHARE

    @property
    def all_requests(self) -> float:
        return REQUESTS * self.patience

    def age(self, created: int | None, asked: int | None) -> float:
        """For how many seconds at least the platform has asked about a message: it was `created` and is `asked` about
        at these times, which the platform signed. 0 where one of them is none.

        Earlier requests may have come while nobody was here to see them. The platform counts whole seconds and, as far
        as is known, signs each request anew. Never so long that the request itself would be too late.
        """
        age = 0 if created is None or asked is None else asked - created - 1
        return min(max(0.0, age), self.all_requests - self.patience)

    def is_last(self, asked: Asked, left: float) -> bool:
        """Whether the platform asks no more after it; `left`: seconds in which it still asked when it began."""
        return asked.number >= REQUESTS or left <= LAST * self.patience

    def left(self, began: float, share: float = 1.0) -> float:
        """Until this share of `reply_within` is over for a request that `began` then, on the monotonic clock."""
        return began + share * self.reply_within - time.monotonic()


class Requests:
    """Which request of its message one is; in memory, since the store knows when the first came."""

    def __init__(self) -> None:
        self._asked: OrderedDict[str, Asked] = OrderedDict()

    def count(self, key: str, began: float, age: float) -> Asked:
        """`age`: for how many seconds the platform has asked already, by what it says."""
        before = self._asked.get(key, Asked(0, began - age))
        asked = self._asked[key] = Asked(before.number + 1, before.began)
        self._asked.move_to_end(key)
        while len(self._asked) > REMEMBERED:
            self._asked.popitem(last=False)
        return asked


def carried(delivery: Delivery) -> str | None:
    """What a passive reply says for a delivery, where files and menus can be shown otherwise."""
    return None if delivery.payload.keys() & {"file", "menu"} else carried_in_words(delivery)


def carried_in_words(delivery: Delivery) -> str | None:
    """The same where nothing else can be sent: of a file, its name, of a menu, its words."""
    words = marked(delivery)
    return words if delivery.op is not Op.WITHDRAW and len(words.encode()) <= TEXT_LIMIT else None


def joined(first: str, second: str) -> str | None:
    """Two answers as one reply, where there is room."""
    both = f"{first}\n\n{second}"
    return both if len(both.encode()) <= TEXT_LIMIT else None


def marked(delivery: Delivery, words: str = "") -> str:
    """Its words, or these, and before them a mark where they could be misread: seen before, changed, to an earlier
    question."""
    marks = (
        _EARLIER.get(delivery.language, _EARLIER_ELSE) if delivery.quote else "",
        _AGAIN.get(delivery.language, _AGAIN_ELSE) if delivery.is_repeat else "",
        _UPDATE.get(delivery.language, _UPDATE_ELSE) if delivery.op is Op.REPLACE else "",
    )
    words = words or str(delivery.payload["text"])
    mark = "".join(marks)
    return mark + words if len((mark + words).encode()) <= TEXT_LIMIT else words


class Reply:
    """One request and what it is answered with. `began` is when its head arrived, on the monotonic clock."""

    def __init__(self, request: web.Request, window: ReplyWindow, pace: Pace, write: Write, began: float) -> None:
        self._request, self._window, self._pace, self._write = request, window, pace, write
        self._began = began

    async def give(
        self, *, is_last: bool, language: str, may_send: Callable[[], bool], waits: Callable[[], bool]
    ) -> web.StreamResponse:
        """The answer, or else what makes the platform ask again, or no more.

        What the account may do is looked at when the request ends: it may have come out meanwhile.
        """
        answer = await self._window.answer(self._left(EARLIER))
        self._window.returns = waits()
        if answer is None and is_last and not may_send():
            answer = await self._window.close(sentence("answer_later", language), self._left(CLOSING))
        response = await self._said(answer, is_last=is_last) if self._left() > 0 else None
        if response is not None:
            return response
        self._window.leave(unheard=not is_last)
        return await hold(self._request, self._pace, self._began)

    async def _said(self, answer: str | None, *, is_last: bool) -> web.StreamResponse | None:
        """What the platform was told; None when it shall ask again, or has hung up."""
        if answer is not None:
            return await self._written(self._write(answer))
        if not is_last and self._window.returns:
            return None
        self._window.leave()
        return success()

    async def _written(self, body: str) -> web.StreamResponse | None:
        response = web.Response(text=body, content_type="text/xml", charset="utf-8")
        self._window.writes()
        try:
            await response.prepare(self._request)
            await response.write_eof()
        except ConnectionError:
            return None
        transport = self._request.transport
        if transport is None or transport.is_closing():
            return None
        self._window.written()
        self._window.leave()
        return response

    def _left(self, share: float = 1.0) -> float:
        return self._pace.left(self._began, share)


async def hold(request: web.Request, pace: Pace, began: float) -> web.StreamResponse:
    """Without a word until the platform has hung up, so that it asks again; then this end hangs up too."""
    await asyncio.sleep(max(0.0, began + 1.1 * pace.patience - time.monotonic()))
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=503)


def success() -> web.Response:
    """Handled: the platform shows nothing and does not ask again."""
    return web.Response(text=SUCCESS, content_type="text/plain", charset="utf-8")
