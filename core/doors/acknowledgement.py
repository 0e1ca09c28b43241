"""An answer whose bytes are all there, and the one that is the same each time: made without what aiohttp does for all
the others.

aiohttp takes a tenth of what an admitted message costs to make and prepare an answer. Here the lines of the head are
made once and not for each request. Whoever wants another answer than the usual (HTTP/1.0, or the connection's end) gets
aiohttp's.
"""

import time
from collections.abc import Mapping
from email.utils import formatdate

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from multidict import CIMultiDict

SERVER_NAME = "frontdesk"  # without a version: that would tell an attacker which holes to try
_NO_LINES: Mapping[str, str] = {}


class Answers:
    """200, of one type and with the same lines of the head; each with a body of its own."""

    def __init__(self, content_type: str, lines: Mapping[str, str] = _NO_LINES) -> None:
        self._type, self._more = content_type, lines
        self._lines = CIMultiDict({"Content-Type": content_type, **lines, "Server": SERVER_NAME})
        self._second = 0  # Unix time of the Date line

    def to(self, request: web.Request, body: bytes) -> web.StreamResponse:
        return _Whole(self, body) if _is_usual(request) else self.usual(200, body)

    def usual(self, status: int, body: bytes, more: Mapping[str, str] = _NO_LINES) -> web.Response:
        """The same by aiohttp's means, for another status or with more lines."""
        return web.Response(status=status, body=body, content_type=self._type, headers={**self._more, **more})

    def lines(self, size: int) -> CIMultiDict[str]:
        """The head of the answer with so many bytes, to be written before anybody asks again."""
        second = int(time.time())
        if second != self._second:
            self._lines[hdrs.DATE], self._second = formatdate(second, usegmt=True), second  # RFC 9110, 6.6.1
        self._lines[hdrs.CONTENT_LENGTH] = str(size)
        return self._lines


class Acknowledgement:
    """The answer to what was taken in, for all requests of a route: its handler returns `to(request)`."""

    def __init__(self, body: bytes, content_type: str) -> None:
        self._body, self._answers = body, Answers(content_type)
        self._whole = _Whole(self._answers, body)

    def to(self, request: web.Request) -> web.StreamResponse:
        return self._whole if _is_usual(request) else self._answers.usual(200, self._body)


class _Whole(web.StreamResponse):
    """Keeps nothing of its request, so that one may answer many."""

    def __init__(self, answers: Answers, body: bytes) -> None:
        super().__init__()
        self._answers, self._bytes = answers, body

    @property
    def keep_alive(self) -> bool:
        """Whose connection ends has another answer."""
        return True

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter:
        """Writes all of it."""
        writer = request.writer
        await writer.write_headers("HTTP/1.1 200 OK", self._answers.lines(len(self._bytes)))
        await writer.write_eof(self._bytes)
        return writer

    async def write_eof(self, data: bytes = b"") -> None:
        """Nothing is left to write."""


def _is_usual(request: web.Request) -> bool:
    return request.keep_alive and request.version == HttpVersion11 and request.method != hdrs.METH_HEAD
