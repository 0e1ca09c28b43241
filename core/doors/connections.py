"""How a connection finds its address: every address of a name is checked, and checked again as the socket is made.

The second check is the net under the first: whatever road led to an address, no socket is made for one that the
pool's policy does not allow.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

from core.doors.addresses import check_address
from core.doors.failures import NameNotFound, Refused

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port in, its addresses out; raises OSError when the name has none."""

_AddrInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[Any, ...]]


class BlockedAddress(OSError):
    """An OSError, because only these pass through the race between several addresses unharmed."""


class CheckedResolver(AbstractResolver):
    """Asks `resolve` once and gives either all its addresses or, when a single one may not be used, none."""

    def __init__(self, resolve: Resolve, *, allow_private: bool) -> None:
        self._resolve = resolve
        self._allow_private = allow_private

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Raises `Refused` for a forbidden address, `NameNotFound` when there is none."""
        origin = f"{host}:{port}"
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:  # UnicodeError: a label that cannot be written in DNS
            raise NameNotFound(origin, "name_not_found") from error
        for address in addresses:
            check_address(origin, address, allow_private=self._allow_private)
        results = [_result(host, port, address) for address in addresses]
        wanted = [result for result in results if family in (socket.AF_UNSPEC, result["family"])]
        if not wanted:
            raise NameNotFound(origin, "no_address")
        return wanted

    async def close(self) -> None:
        """Nothing is held open."""


def checked_socket(*, allow_private: bool) -> Callable[[_AddrInfo], socket.socket]:
    """A socket factory that raises `BlockedAddress` instead of making a socket for a forbidden address."""

    def make(info: _AddrInfo) -> socket.socket:
        family, kind, protocol, _, (address, *_) = info
        try:
            check_address("socket", str(address), allow_private=allow_private)
        except Refused as error:
            raise BlockedAddress(error.reason) from error
        return socket.socket(family, kind, protocol)

    return make


async def system_resolve(host: str, port: int) -> Sequence[str]:
    """The operating system's answer, each address once, in its order."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


def _result(host: str, port: int, address: str) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=address,
        port=port,
        family=socket.AF_INET6 if ":" in address else socket.AF_INET,
        proto=0,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )
