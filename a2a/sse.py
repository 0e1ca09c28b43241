"""Server-sent events, parsed as the bytes arrive (HTML Living Standard, section 9.2.6), with a bound on each event.

Only what A2A uses is kept: the data of an event and its name. Comments and unknown fields are dropped without being
kept, `id` and `retry` mean nothing here (A2A 1.0 resumes with SubscribeToTask, not with Last-Event-ID). An event that
the stream's end cuts short is dropped, as the standard says; GetTask has the truth of it.
"""

from collections.abc import Iterator

from core.values import value


class EventTooLarge(ValueError):
    """One event went over the bound; what was kept of it is dropped, the stream must not be read further."""


@value(frozen=True, slots=True)
class ServerEvent:
    data: bytes
    name: str = ""  # of the `event:` field; "" is an ordinary message


class SseParser:
    """One stream. Holds at most `limit` bytes between two calls."""

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._tail: list[bytes] = []  # of a line that is not complete yet; joined once, so a slow drip stays linear
        self._data: list[bytes] = []
        self._size = 0  # bytes in _tail and _data
        self._name = ""
        self._at_start = True
        self._after_cr = False  # the last chunk ended in CR: an LF at the start of the next belongs to it

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """The events that this chunk completes. Raises EventTooLarge after those before it were yielded."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        if not chunk:
            return
        self._after_cr = chunk.endswith(b"\r")
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            if self._tail:
                line = self._take_tail(line)
            if event := self._line(line):
                yield event
        if rest:
            self._grow(len(rest))
            self._tail.append(rest)

    def _take_tail(self, end: bytes) -> bytes:
        line = b"".join(self._tail) + end
        self._size -= len(line) - len(end)
        self._tail.clear()
        return line

    def _line(self, line: bytes) -> ServerEvent | None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        if field == b"data":
            self._grow(len(value) + 1)
            self._data.append(value[1:] if value.startswith(b" ") else value)
        elif field == b"event":
            self._name = value[:100].strip().decode("utf-8", "replace")
        return None

    def _dispatch(self) -> ServerEvent | None:
        name, data = self._name, self._data
        self._name, self._data, self._size = "", [], 0
        return ServerEvent(b"\n".join(data), name) if data else None

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > self._limit:
            self._tail.clear()
            self._data.clear()
            raise EventTooLarge(f"an event is larger than {self._limit} bytes")
