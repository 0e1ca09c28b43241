"""One keep-alive connection of the driver: one request at a time, answered in time or an error by name.

A protocol instead of asyncio's streams, since the driver shares the machine's cores with the server it measures.
"""

import asyncio
from typing import cast

from benchmarks.responses import BrokenResponse, Response, ResponseReader

CONNECT_TIMEOUT = 5.0  # seconds; loopback refuses at once, so only a full backlog takes long


class Connection:
    """Connects when it must; after an error the next request goes over a new connection."""

    def __init__(self, host: str, port: int, timeout: float) -> None:
        """`timeout` in seconds, of a whole exchange."""
        self._host = host
        self._port = port
        self._timeout = timeout
        self._wire: _Wire | None = None

    async def ask(self, request: bytes) -> Response:
        """Raises BrokenResponse: `connect`, `timeout`, `connection_lost`, or what was wrong with the answer."""
        wire = self._wire if self._wire is not None and self._wire.is_open else await self._connect()
        try:
            response = await wire.exchange(request, self._timeout)
        except BrokenResponse:
            self.close()
            raise
        if not response.keeps_alive:
            self.close()
        return response

    def close(self) -> None:
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.abort()

    async def _connect(self) -> "_Wire":
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                _, self._wire = await asyncio.get_running_loop().create_connection(_Wire, self._host, self._port)
        except (OSError, TimeoutError) as error:
            raise BrokenResponse("connect") from error
        return self._wire


class _Wire(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._reader = ResponseReader()
        self._answer: asyncio.Future[Response] | None = None

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, request: bytes, timeout: float) -> Response:
        if self._transport is None or self._transport.is_closing():
            raise BrokenResponse("connection_lost")
        loop = asyncio.get_running_loop()
        self._reader = ResponseReader()
        self._answer = loop.create_future()
        # A plain timer: asyncio.timeout would cost the driver a tenth of its work on a request.
        timer = loop.call_later(timeout, self._fail, "timeout")
        self._transport.write(request)
        try:
            return await self._answer
        finally:
            timer.cancel()
            self._answer = None

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but ancestry

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            self.abort()  # bytes nobody asked for: no later answer on this connection could be trusted
            return
        try:
            response = self._reader.feed(data)
        except BrokenResponse as error:
            self._fail(str(error))
            return
        if response is not None:
            self._answer.set_result(response)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - the protocol's shape
        self._transport = None
        if self._answer is None or self._answer.done():
            return
        try:
            self._answer.set_result(self._reader.close())
        except BrokenResponse as broken:
            self._answer.set_exception(broken)

    def _fail(self, name: str) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(BrokenResponse(name))
