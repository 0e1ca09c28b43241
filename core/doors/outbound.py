"""The one way out: every request that a payload, a card or a caller can influence is made by `GuardedClient`.

A name is resolved once, when a connection is made; every address it has must pass, and the connection goes to one of
exactly those, with the name kept for Host and TLS. Redirects are answers, not instructions. Nothing is repeated here:
the error says whether bytes may have left (see `failures`), and whoever owns the work decides.

Connections that may reach private addresses, and those that may not, live in pools of their own, so a connection made
for one policy never serves another; long streams have pools of their own too, so that they cannot starve short calls.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Self

import aiohttp

from core.doors.addresses import OutboundPolicy, check_url
from core.doors.connections import CheckedResolver, Resolve, checked_socket, system_resolve
from core.doors.exchange import Answer, Exchange, Pool, Timeouts
from core.doors.failures import (
    Ambiguous,
    BadAnswer,
    CannotConnect,
    ConnectTimeout,
    Disconnected,
    HeadTimeout,
    NameNotFound,
    NotSent,
    OutboundError,
    ReadTimeout,
    Refused,
    TlsFailed,
    TooLarge,
)

__all__ = (
    "Ambiguous",
    "Answer",
    "BadAnswer",
    "CannotConnect",
    "ConnectTimeout",
    "Disconnected",
    "GuardedClient",
    "HeadTimeout",
    "NameNotFound",
    "NotSent",
    "OutboundError",
    "OutboundPolicy",
    "ReadTimeout",
    "Refused",
    "Resolve",
    "StreamedAnswer",
    "Timeouts",
    "TlsFailed",
    "TooLarge",
    "check_url",
)

CONNECTIONS = 1024  # of one policy, at once; whoever comes then waits within its `connect`
KEEPALIVE = 60.0  # seconds for which an idle connection is kept

_NO_HEADERS: Mapping[str, str] = {}
_TIMEOUTS = Timeouts()


class StreamedAnswer:
    """An answer whose body is read as it comes. Whoever reads bounds what it keeps of it."""

    def __init__(self, exchange: Exchange, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self._exchange = exchange
        self._response = response

    def chunks(self) -> AsyncIterator[bytes]:
        """Pieces of any size, never empty. Ends only at a clean end; raises `ReadTimeout` or `Disconnected`."""
        return self._exchange.pieces(self._response)

    async def read(self) -> bytes:
        """The whole body within the policy's limit, for an answer that turned out not to be a stream."""
        return await self._exchange.body(self._response)


class GuardedClient:
    """Use as `async with`, one for the process. Limits count connections, per host and policy and in all."""

    def __init__(
        self,
        *,
        resolve: Resolve = system_resolve,
        limit_per_host: int = 64,
        streams_per_host: int = 256,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._resolve = resolve
        self._per_host = {False: limit_per_host, True: streams_per_host}
        self._tls = tls
        self._pools: dict[tuple[bool, bool], Pool] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for private in (False, True):
            for streaming in (False, True):
                connections = self._connections(private, self._per_host[streaming])
                await self._stack.enter_async_context(connections)
                self._pools[private, streaming] = Pool(connections, asyncio.get_running_loop())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()
        self._pools.clear()

    async def request(
        self,
        method: str,
        url: str,
        *,
        policy: OutboundPolicy,
        headers: Mapping[str, str] = _NO_HEADERS,
        body: bytes | None = None,
        timeouts: Timeouts = _TIMEOUTS,
    ) -> Answer:
        """One request and its whole answer; raises `NotSent` or `Ambiguous`, and repeats nothing by itself."""
        exchange = Exchange(url, policy=policy, headers=headers, timeouts=timeouts)
        try:
            return await exchange.whole(self._pools[policy.allow_private, False], method, body)
        finally:
            exchange.close()

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        url: str,
        *,
        policy: OutboundPolicy,
        headers: Mapping[str, str] = _NO_HEADERS,
        body: bytes | None = None,
        timeouts: Timeouts = _TIMEOUTS,
    ) -> AsyncIterator[StreamedAnswer]:
        """The answer as soon as its head is there; raises as `request` does. Leaving early closes the connection."""
        exchange = Exchange(url, policy=policy, headers=headers, timeouts=timeouts)
        try:
            response = await exchange.begin(self._pools[policy.allow_private, True], method, body)
            yield StreamedAnswer(exchange, response)
        finally:
            exchange.close()

    def _connections(self, private: bool, limit_per_host: int) -> aiohttp.TCPConnector:
        return aiohttp.TCPConnector(
            resolver=CheckedResolver(self._resolve, allow_private=private),
            socket_factory=checked_socket(allow_private=private),
            use_dns_cache=False,  # resolved and checked anew for each connection
            limit=CONNECTIONS,
            limit_per_host=limit_per_host,
            keepalive_timeout=KEEPALIVE,
            ssl=self._tls or True,
        )
