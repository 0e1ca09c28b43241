"""Open streams (A2A 1.0, section 3.5): events as they come, a comment where none does, an end for who does not read.

Nothing is kept for a slow reader: while one write waits, the task's own bounded queue fills up, and when it waits too
long the connection is aborted. A task's life is independent of its streams, and a reader that comes back begins with
the whole task.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, nullcontext
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from a2a.server.faults import Fault, Kind
from a2a.server.settings import LimitSettings

Json = dict[str, Any]

HEARTBEAT = 15.0  # seconds between comments, so that proxies keep a quiet stream and dead ones are noticed
WRITE_LIMIT = 20.0  # seconds for a reader to take what it was sent
SMALL = 32 << 10  # bytes; half of what a connection's buffer holds before its writer has to wait
CROWDED_RETRY = 5.0  # seconds; until a stream may have ended
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"}


@dataclass(frozen=True, slots=True)
class Framing:
    """How a binding writes what a stream carries, as bytes of `text/event-stream`."""

    event: Callable[[Json], bytes]
    fault: Callable[[Fault], bytes]


class Streams:
    """The open streams of one account, over all its agents."""

    def __init__(
        self, limits: LimitSettings, *, heartbeat: float = HEARTBEAT, write_limit: float = WRITE_LIMIT
    ) -> None:
        self._most, self._most_of_owner = limits.streams, limits.streams_per_owner
        self._heartbeat, self._write_limit = heartbeat, write_limit
        self._of_owner: Counter[str] = Counter()
        self._open: set[_Stream] = set()

    def __len__(self) -> int:
        return self._of_owner.total()

    async def serve(
        self,
        request: web.Request,
        owner: str,
        events: AsyncGenerator[list[Json]],
        framing: Framing,
        *,
        headers: Mapping[str, str],
        told: Json,
    ) -> web.StreamResponse:
        """Until the events or their reader end. A Fault before the first event is raised, and the answer not begun.

        `told` gets the outcome: `ok`, `reader_lost`, or the reason of a fault behind the first event.
        """
        self._take_place(owner)
        try:
            async with aclosing(events):
                first: list[Json] = await anext(events, [])
                response = web.StreamResponse(headers={**_HEADERS, **headers})
                response.content_type = "text/event-stream"
                await response.prepare(request)
                stream = _Stream(request, response, framing, self._heartbeat, self._write_limit)
                self._open.add(stream)
                try:
                    await stream.run(first, events)
                finally:
                    self._open.discard(stream)
                told["outcome"] = stream.outcome
            return response
        finally:
            self._leave_place(owner)

    def end(self, refuses: Callable[[web.Request], bool]) -> None:
        """End the open streams of calls that would be refused now."""
        for stream in tuple(self._open):
            if refuses(stream.request):
                stream.end()

    def close(self) -> None:
        """End every open stream; its reader may subscribe again elsewhere."""
        for stream in tuple(self._open):
            stream.end()

    def _take_place(self, owner: str) -> None:
        if self._of_owner[owner] >= self._most_of_owner or len(self) >= self._most:
            raise Fault(Kind.BUSY, "too many streams are open", retry_after=CROWDED_RETRY)
        self._of_owner[owner] += 1

    def _leave_place(self, owner: str) -> None:
        self._of_owner[owner] -= 1
        if not self._of_owner[owner]:
            del self._of_owner[owner]


class _Stream:
    """One open answer."""

    def __init__(
        self,
        request: web.Request,
        response: web.StreamResponse,
        framing: Framing,
        heartbeat: float,
        write_limit: float,
    ) -> None:
        self.request, self._response, self._framing = request, response, framing
        self._heartbeat, self._write_limit = heartbeat, write_limit
        self._telling: asyncio.Task[None] | None = None
        self.outcome = "ok"

    async def run(self, first: list[Json], events: AsyncGenerator[list[Json]]) -> None:
        async with asyncio.TaskGroup() as tasks:
            beating = tasks.create_task(self._beat(), name="a2a-stream-beat")
            self._telling = tasks.create_task(self._tell(first, events), name="a2a-stream")
            self._telling.add_done_callback(lambda _: beating.cancel())

    def end(self) -> None:
        if self._telling is not None:
            self._telling.cancel()

    async def _tell(self, waiting: list[Json], events: AsyncGenerator[list[Json]]) -> None:
        try:
            while waiting and await self._write_all(waiting):
                waiting = await anext(events, [])
        except Fault as fault:
            self.outcome = fault.outcome
            await self._write(self._framing.fault(fault))

    async def _write_all(self, events: list[Json]) -> bool:
        """As few writes as can be, each of about SMALL: a write costs more than all else that an event does."""
        frames, size = list[bytes](), 0
        for event in events:
            frames.append(frame := self._framing.event(event))
            size += len(frame)
            if size >= SMALL:
                if not await self._write(b"".join(frames)):
                    return False
                frames, size = [], 0
        return not frames or await self._write(b"".join(frames))

    async def _beat(self) -> None:
        while await self._write(b":\n\n", after=self._heartbeat):
            pass
        self.end()

    async def _write(self, data: bytes, *, after: float = 0.0) -> bool:
        """Whether the reader took it; the connection of one that does not is aborted."""
        if after:
            await asyncio.sleep(after)
        try:
            async with asyncio.timeout(self._write_limit) if self._may_wait(data) else nullcontext():
                await self._response.write(data)
        except (TimeoutError, ConnectionError):
            self.outcome = "reader_lost"
            if self.request.transport is not None:
                self.request.transport.abort()
            return False
        return True

    def _may_wait(self, data: bytes) -> bool:
        """A small write into an empty buffer never waits, and a timer for each event is dear."""
        transport = self.request.transport
        return len(data) > SMALL or transport is None or transport.get_write_buffer_size() > 0
