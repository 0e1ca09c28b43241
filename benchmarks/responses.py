"""Reads HTTP/1.1 responses from bytes as they arrive and trusts no server: what does not add up is an error by name.

A server that frames its answers wrongly would otherwise count as fast. RFC 9112 sections 6 and 7.
"""

from dataclasses import dataclass

HEAD_LIMIT = 64 << 10  # bytes
BODY_LIMIT = 8 << 20  # bytes
END_OF_HEAD = b"\r\n\r\n"


class BrokenResponse(Exception):
    """Not an HTTP/1.1 response, or not one to the request that was sent; the text is a short name for the count."""


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    head: bytes  # lower case
    body: bytes

    def header(self, name: str) -> str:
        """ "" when it is absent."""
        start = self.head.find(b"\r\n" + name.lower().encode() + b":")
        if start < 0:
            return ""
        end = self.head.find(b"\r\n", start + 2)
        line = self.head[start + 2 :] if end < 0 else self.head[start + 2 : end]
        return line.split(b":", 1)[1].strip().decode("latin-1")

    @property
    def keeps_alive(self) -> bool:
        return self.header("connection").lower() != "close"


class ResponseReader:
    """One response; `feed` returns it once it is whole. Bytes beyond it are an error, since nothing is pipelined."""

    def __init__(self) -> None:
        self._pending = b""
        self._head = b""
        self._status = 0
        self._length: int | None = None
        self._is_chunked = False
        self._body = b""

    def feed(self, data: bytes) -> Response | None:
        """Raises BrokenResponse."""
        self._pending += data
        if not self._head and not self._read_head():
            return None
        if self._is_chunked:
            return self._read_chunks()
        if self._length is None:
            return None
        if len(self._pending) < self._length:
            return None
        return self._whole(self._pending[: self._length], self._pending[self._length :])

    def close(self) -> Response:
        """The response that the end of the connection completes; raises BrokenResponse when it is cut short."""
        if self._head and not self._is_chunked and self._length is None:
            return self._whole(self._pending, b"")
        raise BrokenResponse("connection_lost")

    def _read_head(self) -> bool:
        end = self._pending.find(END_OF_HEAD)
        if end < 0:
            if len(self._pending) > HEAD_LIMIT:
                raise BrokenResponse("head_too_long")
            return False
        self._head, self._pending = self._pending[:end].lower(), self._pending[end + len(END_OF_HEAD) :]
        if not self._head.startswith(b"http/1.1 ") or not self._head[9:12].isdigit():
            raise BrokenResponse("not_http")
        self._status = int(self._head[9:12])
        self._is_chunked = b"\r\ntransfer-encoding: chunked" in self._head
        self._length = self._length_of(Response(self._status, self._head, b"").header("content-length"))
        return True

    def _length_of(self, declared: str) -> int | None:
        if self._status in (204, 304):
            return 0
        if not declared or self._is_chunked:
            return None
        if not declared.isdigit() or int(declared) > BODY_LIMIT:
            raise BrokenResponse("bad_length")
        return int(declared)

    def _read_chunks(self) -> Response | None:
        while (end := self._pending.find(b"\r\n")) >= 0:
            size = _chunk_size(self._pending[:end])
            if len(self._body) + size > BODY_LIMIT:
                raise BrokenResponse("body_too_long")
            past = end + 2 + size + 2
            if len(self._pending) < past:
                return None
            self._body += self._pending[end + 2 : end + 2 + size]
            self._pending = self._pending[past:]
            if size == 0:
                return self._whole(self._body, self._pending)
        return None

    def _whole(self, body: bytes, surplus: bytes) -> Response:
        if surplus:
            raise BrokenResponse("surplus_bytes")
        return Response(self._status, self._head, body)


def _chunk_size(line: bytes) -> int:
    try:
        return int(line.split(b";")[0], 16)
    except ValueError:
        raise BrokenResponse("bad_chunk") from None
