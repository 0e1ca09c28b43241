"""How fast a channel lets a bot speak: overall, to one chat, and to one group. Kept before a send, not after a 429."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """0 means no limit."""

    per_second: float = 0.0
    per_chat_second: float = 0.0
    per_group_minute: float = 0.0


class Pacer:
    """One account's pace, by the monotonic clock; a sliding window for each limit."""

    def __init__(self, limits: Callable[[], Limits]) -> None:
        self._limits = limits
        self._overall: deque[float] = deque()
        self._chats: dict[str, deque[float]] = {}

    def delay(self, conversation: str, *, is_group: bool, now: float) -> float:
        """Seconds until one more message may go to this conversation; 0.0 takes the place at once."""
        limits = self._limits()
        if not (limits.per_second or limits.per_chat_second or limits.per_group_minute):
            return 0.0
        windows = [(self._overall, limits.per_second, 1.0)]
        if limits.per_chat_second or (is_group and limits.per_group_minute):
            sent = self._chats.setdefault(conversation, deque())
            windows.append((sent, limits.per_chat_second, 1.0))
            if is_group:
                windows.append((sent, limits.per_group_minute, 60.0))
        wait = max(_wait(sent, limit, span, now) for sent, limit, span in windows)
        if wait <= 0:
            for sent in {id(sent): sent for sent, limit, _ in windows if limit}.values():
                sent.append(now)
            self._forget(now)
            return 0.0
        return wait

    def _forget(self, now: float) -> None:
        while self._overall and now - self._overall[0] > 1.0:
            self._overall.popleft()
        if len(self._chats) > 1000:
            self._chats = {chat: sent for chat, sent in self._chats.items() if sent and now - sent[-1] < 60.0}


def _wait(sent: deque[float], limit: float, span: float, now: float) -> float:
    """Until the window of `span` seconds holds fewer than the limit. Below one message a window, it is stretched."""
    if not limit:
        return 0.0
    if limit < 1:
        limit, span = 1.0, span / limit
    while sent and now - sent[0] >= max(span, 60.0):
        sent.popleft()
    recent = [at for at in sent if now - at < span]
    return 0.0 if len(recent) < limit else recent[-int(limit)] + span - now
