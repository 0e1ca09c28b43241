"""Showing deliveries and unfinished answers in Telegram's chats: one call each, and one fallback that is safe.

When Telegram refuses the HTML of a message, it was certainly not shown, so the same words are sent once as plain text
(TG-11, TG-13). Everything else goes back to the host as an outcome. While Telegram's flood control closes a chat, no
call goes there at all, whether for a final, a preview or a typing sign (TG-21).
"""

from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from core.clock import Clock
from core.delivery import Delivery, Op, Outcome, Payload, Refusal, Rejected, Sent
from core.plugin import PreviewFrame
from core.values import value
from plugins.telegram.failures import ApiFailure
from plugins.telegram.render import TEXT_LIMIT, RenderedText, render_markdown

if TYPE_CHECKING:
    from plugins.telegram.api import BotApi

PREVIEW_INTERVAL = 1.0  # seconds; edits of one message in a private chat
GROUP_PREVIEW_INTERVAL = 3.0  # seconds; a group takes 20 messages and edits a minute (Bot API FAQ)
PREVIEWS_REMEMBERED = 1024  # turns; one that is forgotten may show a frame early
CHATS_REMEMBERED = 4096  # under flood control at once; one that is forgotten is told again by Telegram

_T = TypeVar("_T")

_TOPICS_GONE = {"zh": "（这个群已关闭话题功能，回答发到这里。）\n"}
_TOPICS_GONE_ELSE = "(This chat has no topics any more, so I answer here.)\n"
_AGAIN = {"zh": "（重发）"}
_AGAIN_ELSE = "(again) "


@value(frozen=True, slots=True)
class _Frame:
    shown_at: float  # monotonic
    words: RenderedText


class FloodControl:
    """Which chats Telegram closed, and until when."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: OrderedDict[str, float] = OrderedDict()

    def closes(self, chat: str, retry_after: float) -> None:
        self._until[chat] = self._clock.monotonic() + retry_after
        self._until.move_to_end(chat)
        while len(self._until) > CHATS_REMEMBERED:
            self._until.popitem(last=False)

    def remaining(self, chat: str) -> float:
        """Seconds, 0.0 for an open chat."""
        until = self._until.get(chat)
        if until is None:
            return 0.0
        left = until - self._clock.monotonic()
        if left <= 0:
            del self._until[chat]
        return max(0.0, left)


class Outgoing:
    """`counts` gets `markup_refused` for each message whose HTML Telegram would not take."""

    def __init__(self, api: "BotApi", clock: Clock, counts: Counter[str], *, is_streaming: bool) -> None:
        self._api = api
        self._clock = clock
        self._counts = counts
        self._is_streaming = is_streaming
        self._flood = FloodControl(clock)
        self._frames: OrderedDict[str, _Frame] = OrderedDict()
        self._topicless: set[str] = set()  # chats that were told that their topics are gone

    async def send(self, delivery: Delivery) -> Outcome:
        chat = delivery.address.chat
        if wait := self._flood.remaining(chat):
            return Rejected(Refusal.THROTTLED, "flood control is not over yet", retry_after=wait)
        try:
            return await self._perform(delivery, chat)
        except ApiFailure as failure:
            self._note(chat, failure)
            return failure.outcome

    async def preview(self, frame: PreviewFrame) -> str:
        """Raises ApiFailure, which a host may drop."""
        chat = frame.address.chat
        if self._flood.remaining(chat):
            return frame.shown
        try:
            if frame.text and self._is_streaming:
                return await self._show_frame(frame, chat)
            await self._api.typing(chat, frame.address.topic)
            return frame.shown
        except ApiFailure as failure:
            self._note(chat, failure)
            raise

    async def _perform(self, delivery: Delivery, chat: str) -> Sent:
        self._frames.pop(delivery.turn, None)
        if delivery.op is Op.WITHDRAW:
            for message in delivery.replaces:
                await self._remove(chat, message)
            return Sent(())
        if delivery.op is Op.REPLACE and delivery.replaces:
            return await self._replace(delivery, chat)
        words = _words(delivery.payload)
        return await self._show(delivery, chat, _marked(words, delivery.language) if delivery.is_repeat else words)

    async def _show(self, delivery: Delivery, chat: str, words: RenderedText) -> Sent:
        show = partial(self._api.show, chat, quote=delivery.quote)
        try:
            return Sent((await self._worded(words, partial(show, topic=delivery.address.topic)),))
        except ApiFailure as failure:
            in_topic = delivery.address.topic and failure.is_kind(Refusal.NO_TOPIC)
            if not in_topic or await self._api.has_topics(chat):
                raise
        # The chat has no topics any more, so that nothing can reach another one: the chat as a whole asked (TG-30).
        self._counts["topics_gone"] += 1
        if chat not in self._topicless:
            self._topicless.add(chat)
            words = _prefixed(words, _TOPICS_GONE.get(delivery.language, _TOPICS_GONE_ELSE))
        return Sent((await self._worded(words, partial(show, topic="")),))

    async def _replace(self, delivery: Delivery, chat: str) -> Sent:
        """Changing a message twice shows it once, so a repetition needs no mark and an unchanged message is a success.

        A message that somebody deleted cannot be changed, which is certain: then the words are shown anew.
        """
        words = _words(delivery.payload)
        first, *rest = delivery.replaces
        try:
            await self._worded(words, partial(self._api.edit, chat, first))
        except ApiFailure as failure:
            if failure.says_gone:
                return await self._show(delivery, chat, words)
            if not failure.says_unchanged:
                raise
        for message in rest:
            await self._remove(chat, message)
        return Sent((first,))

    async def _remove(self, chat: str, message: str) -> None:
        try:
            await self._api.remove(chat, message)
        except ApiFailure as failure:
            if not failure.says_gone:
                raise

    async def _show_frame(self, frame: PreviewFrame, chat: str) -> str:
        """The frame's first message; what goes beyond it is shown with the final answer."""
        rendered = render_markdown(frame.text)
        last = self._frames.get(frame.turn)
        if not rendered or (last is not None and frame.shown and not self._is_due(frame, last, rendered[0])):
            return frame.shown
        words = rendered[0]
        if frame.shown:
            shown = frame.shown if await self._edit_frame(chat, frame.shown, words) else ""
        else:
            show = partial(self._api.show, chat, topic=frame.address.topic, quote=frame.quote)
            shown = await self._worded(words, show)
        self._frames[frame.turn] = _Frame(self._clock.monotonic(), words)
        while len(self._frames) > PREVIEWS_REMEMBERED:
            self._frames.popitem(last=False)
        return shown

    def _is_due(self, frame: PreviewFrame, last: _Frame, words: RenderedText) -> bool:
        interval = PREVIEW_INTERVAL if frame.is_direct else GROUP_PREVIEW_INTERVAL
        return words != last.words and self._clock.monotonic() - last.shown_at >= interval

    async def _edit_frame(self, chat: str, message: str, words: RenderedText) -> bool:
        """False when the message is not there any more."""
        try:
            await self._worded(words, partial(self._api.edit, chat, message))
        except ApiFailure as failure:
            if not failure.says_unchanged:
                if not failure.says_gone:
                    raise
                return False
        return True

    async def _worded(self, words: RenderedText, call: Callable[..., Awaitable[_T]]) -> _T:
        if words.html is None:
            return await call(words.plain, is_html=False)
        try:
            return await call(words.html, is_html=True)
        except ApiFailure as failure:
            if not failure.refuses_markup:
                raise
        self._counts["markup_refused"] += 1
        return await call(words.plain, is_html=False)

    def _note(self, chat: str, failure: ApiFailure) -> None:
        if failure.retry_after is not None:
            self._flood.closes(chat, failure.retry_after)


def _words(payload: Payload) -> RenderedText:
    return RenderedText(payload["html"], payload["plain"])


def _marked(words: RenderedText, language: str) -> RenderedText:
    """The words with a word that they may have been seen before."""
    return _prefixed(words, _AGAIN.get(language, _AGAIN_ELSE))


def _prefixed(words: RenderedText, mark: str) -> RenderedText:
    """Without the mark where the words fill the message to its end."""
    if len((mark + words.plain).encode("utf-16-le", "surrogatepass")) // 2 > TEXT_LIMIT:
        return words
    return RenderedText(None if words.html is None else mark + words.html, mark + words.plain)
