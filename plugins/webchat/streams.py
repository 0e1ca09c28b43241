"""Open pages: each has a bounded buffer of what it has not been sent yet, and a slow one loses its connection, not us.

Nothing here is kept for who is not there: a page that (re)connects reads the history, which has everything. Entries of
a chat go to all of its pages in order; of previews only the latest of each turn waits to be sent.
"""

import asyncio
import json
from collections import deque
from itertools import chain

from aiohttp import web

HEARTBEAT = 15.0  # seconds between comments on a quiet stream, so that proxies keep it and dead ones are noticed
WRITE_LIMIT = 20.0  # seconds for a page to take what it was sent
ENTRIES_MOST = 100  # not yet sent to one page; past it the page is dropped, and reads the history when it is back
PER_VISITOR = 8  # open pages of one visitor


class TooManyStreams(Exception):
    """`is_own`: the visitor has too many pages open, not everybody together."""

    def __init__(self, *, is_own: bool) -> None:
        super().__init__("too many open pages")
        self.is_own = is_own


class Stream:
    """One open page, on one connection."""

    def __init__(self, connection: asyncio.Transport | None) -> None:
        self._connection = connection
        self._entries: deque[bytes] = deque()
        self._previews: dict[str, bytes] = {}
        self._news = asyncio.Event()
        self.is_closed = False

    def entry(self, frame: bytes, turn: str) -> None:
        """The turn's preview, if one waits, is outdated by it."""
        self._previews.pop(turn, None)
        if len(self._entries) < ENTRIES_MOST:
            self._entries.append(frame)
            self._news.set()
        else:
            self.drop()

    def preview(self, frame: bytes, turn: str) -> None:
        self._previews[turn] = frame
        self._news.set()

    def close(self) -> None:
        self.is_closed = True
        self._news.set()

    def drop(self) -> None:
        """End the connection without waiting for the page to read what is on its way."""
        self.close()
        if self._connection is not None:
            self._connection.abort()

    @property
    def is_gone(self) -> bool:
        """A page that left is noticed here at once, and by its handler at the next heartbeat."""
        return self.is_closed or self._connection is None or self._connection.is_closing()

    async def serve(self, response: web.StreamResponse, visitor: str) -> None:
        """Until the page leaves, is too slow, or the plugin closes it."""
        await self._write(response, frame_of("hello", {"visitor": visitor}))
        while not self.is_closed:
            try:
                async with asyncio.timeout(HEARTBEAT):
                    await self._news.wait()
            except TimeoutError:
                await self._write(response, b":\n\n")
            else:
                await self._write(response, self._taken())

    def _taken(self) -> bytes:
        waiting = b"".join((*self._entries, *self._previews.values()))
        self._entries.clear()
        self._previews.clear()
        self._news.clear()
        return waiting

    async def _write(self, response: web.StreamResponse, data: bytes) -> None:
        try:
            async with asyncio.timeout(WRITE_LIMIT):
                await response.write(data)
        except (TimeoutError, ConnectionError):
            self.drop()


class Streams:
    """The open pages of one account."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pages: dict[str, list[Stream]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def open(self, chat: str, connection: asyncio.Transport | None) -> Stream:
        """Raises TooManyStreams."""
        self._forget_gone(chat)
        if len(self._pages.get(chat, ())) >= PER_VISITOR:
            raise TooManyStreams(is_own=True)
        if self._count >= self._limit:
            raise TooManyStreams(is_own=False)
        stream = Stream(connection)
        self._pages.setdefault(chat, []).append(stream)
        self._count += 1
        return stream

    def leave(self, chat: str, stream: Stream) -> None:
        pages = self._pages.get(chat, [])
        if stream in pages:
            pages.remove(stream)
            self._count -= 1
            if not pages:
                del self._pages[chat]

    def entry(self, chat: str, entry: dict[str, object]) -> None:
        """Show an entry on every open page of the chat."""
        if pages := self._pages.get(chat):
            frame = frame_of("entry", entry)
            for page in pages:
                page.entry(frame, str(entry.get("turn", "")))

    def preview(self, chat: str, turn: str, text: str) -> None:
        if pages := self._pages.get(chat):
            frame = frame_of("preview", {"turn": turn, "text": text})
            for page in pages:
                page.preview(frame, turn)

    def close(self) -> None:
        for page in chain.from_iterable(self._pages.values()):
            page.close()

    def _forget_gone(self, chat: str) -> None:
        """Of this visitor, or of everybody when there is no room left."""
        chats = list(self._pages) if self._count >= self._limit else [chat]
        for each in chats:
            for page in [page for page in self._pages.get(each, ()) if page.is_gone]:
                page.close()
                self.leave(each, page)


def frame_of(event: str, data: dict[str, object]) -> bytes:
    """One event (WHATWG HTML, 9.2); JSON has no line breaks of its own."""
    return f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
