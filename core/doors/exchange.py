"""One request on its way out and its answer on its way in; here every failure gets its name.

The line between `NotSent` and `Ambiguous` is drawn where a request is handed to its connection: before that nothing
can have left, after it anything may have. That is why aiohttp's connections are used without its session, which would
quietly repeat an idempotent request on a connection that turned out to be closed: there is one retry owner, and it is
not here. It also costs a third of what a request does (cookies, redirects, proxies, a task for the body).
"""

import asyncio
import io
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import StreamWriter
from multidict import CIMultiDict
from yarl import URL

from core.doors.addresses import OutboundPolicy, check_url
from core.doors.connections import BlockedAddress
from core.doors.failures import (
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
from core.values import value

_LARGE_BODY = 1 << 20  # bytes; a longer one is sent in pieces, and its answer waited for only when all of it is out
_UNREAD = 1 << 16  # bytes of a body that its peer's kernel may well take without anybody reading them
_LOOKED_AT = 4  # kept connections, for one that can be used
READ_AHEAD = 1 << 16  # bytes of an answer that wait to be read before its sender is held up
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)  # RFC 9110, 5.6.2
_HEADER_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")  # RFC 9110, 5.5; CR and LF would begin another header
# Host and framing belong to the connection; a caller's word on them would let two servers read two requests.
_OWN_HEADERS = frozenset(
    ("accept-encoding", "connection", "content-length", "expect", "host", "te", "transfer-encoding", "upgrade")
)


# What a request says unless its caller says otherwise. Without a word on encodings a server may choose any (RFC 9110,
# 12.5.3).
_USUAL_HEADERS = CIMultiDict({"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "frontdesk"})


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds, by phase. `whole` bounds the phases of a `request` together; a stream has no such end."""

    connect: float = 5.0  # name, free place in the pool, TCP and TLS
    head: float = 30.0  # from the request to the answer's head
    idle: float = 30.0  # between two reads of the body
    whole: float = 60.0


@dataclass(frozen=True, slots=True)
class Pool:
    """Connections of one policy."""

    connections: aiohttp.TCPConnector
    loop: asyncio.AbstractEventLoop


@value(frozen=True, slots=True)
class Answer:
    """Header names compare without case. A 3xx is an answer like any other."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Request(aiohttp.ClientRequest):
    """Written as one piece, its head and `content`. What is too large for that is given as `data`, aiohttp's way."""

    content = b""

    async def send(self, conn: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        protocol = conn.protocol
        if self.body or protocol is None:
            return await super().send(conn)
        writer = StreamWriter(protocol, self.loop)
        await writer.write_headers(f"{self.method} {self.url.raw_path_qs} HTTP/1.1", self.headers)
        await writer.write_eof(self.content)
        protocol.start_timeout()
        return self.response_class(
            self.method,
            self.original_url,
            writer=None,
            continue100=None,
            timer=self._timer,
            request_info=self.request_info,
            traces=[],
            loop=self.loop,
            session=self._session,
            stream_writer=writer,
        )


class Exchange:
    """Checks its URL and headers at once (raises `Refused`); lives for one `begin` and is closed by its owner."""

    def __init__(self, url: str, *, policy: OutboundPolicy, headers: Mapping[str, str], timeouts: Timeouts) -> None:
        self._url = check_url(url, policy)
        self._check_headers(headers)
        self._headers = headers
        self._body_limit = policy.body_limit
        self._timeouts = timeouts
        self._has_begun = self._has_head = False  # its bytes may have left; its answer has begun
        self._response: aiohttp.ClientResponse | None = None

    async def begin(self, pool: Pool, method: str, body: bytes | None) -> aiohttp.ClientResponse:
        """Sends the request and returns once the answer's head is there; what is read after it has no end in time."""
        try:
            async with asyncio.timeout(self._timeouts.connect + self._timeouts.head):
                return await self._sent(pool, method, body)
        except TimeoutError as error:
            raise self._failure(error) from error

    async def whole(self, pool: Pool, method: str, body: bytes | None) -> Answer:
        """The request and its whole answer, within `whole` seconds in all."""
        try:
            async with asyncio.timeout(self._timeouts.whole):
                response = await self._sent(pool, method, body)
                return Answer(response.status, response.headers, await self.body(response))
        except TimeoutError as error:
            if self._response is not None and self._has_head:
                raise ReadTimeout(self._origin, "read_timeout", status=self._response.status) from error
            raise self._failure(error) from error

    async def _sent(self, pool: Pool, method: str, body: bytes | None) -> aiohttp.ClientResponse:
        request = self._request(pool, method, body)
        connection = await self._connected(pool, request)
        protocol = connection.protocol
        self._has_begun = True
        try:
            self._response = response = await request.send(connection)
            await response.start(connection)
        except (aiohttp.ClientError, OSError) as error:
            connection.close()
            raise self._failure(error) from error
        except BaseException:
            connection.close()
            raise
        self._has_head = True
        if protocol is not None and not _took_all(protocol, body, response.status):
            protocol.force_close()
        self._check_encoding(response)
        return response

    async def _connected(self, pool: Pool, request: Request) -> aiohttp.connector.Connection:
        """One whose next words answer this request. A kept one whose peer spoke unasked, or may not have taken the
        request before, is closed, and another one is looked at."""
        timeout = _deadlines(self._timeouts)
        for _ in range(_LOOKED_AT):
            connection = await self._connection(pool, request, timeout)
            protocol = connection.protocol
            if protocol is not None and not protocol.should_close:
                protocol.set_response_params(
                    skip_payload=request.method == "HEAD",
                    read_until_eof=True,
                    auto_decompress=False,
                    read_timeout=timeout.sock_read,
                    read_bufsize=READ_AHEAD,
                )
                return connection
            connection.close()
        raise CannotConnect(self._origin, "cannot_connect")

    async def _connection(
        self, pool: Pool, request: Request, timeout: aiohttp.ClientTimeout
    ) -> aiohttp.connector.Connection:
        try:
            return await pool.connections.connect(request, traces=[], timeout=timeout)
        except (aiohttp.ClientError, OSError) as error:
            raise self._failure(error) from error

    def _request(self, pool: Pool, method: str, body: bytes | None) -> Request:
        headers = _USUAL_HEADERS.copy()
        headers.update(self._headers)
        if body and len(body) > _LARGE_BODY:
            return Request(method, URL(self._url), headers=headers, data=io.BytesIO(body), loop=pool.loop)
        if body:
            headers["Content-Length"] = str(len(body))
        request = Request(method, URL(self._url), headers=headers, loop=pool.loop)
        request.content = body or b""
        return request

    async def body(self, response: aiohttp.ClientResponse) -> bytes:
        """The whole body, within the policy's limit."""
        if (response.content_length or 0) > self._body_limit:
            raise TooLarge(self._origin, "body_too_large", status=response.status)
        content = response.content
        if content.is_eof() and content.exception() is None:  # a small answer is all there by now
            body = content.read_nowait()
            self._check_size(len(body), response)
            return body
        gathered = bytearray()
        async for piece in self.pieces(response):
            gathered += piece
            self._check_size(len(gathered), response)
        return bytes(gathered)

    async def pieces(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        """The body as it comes; `idle` counts from here on."""
        if response.connection is not None and response.connection.protocol is not None:
            response.connection.protocol.read_timeout = self._timeouts.idle
            response.connection.protocol.start_timeout()
        try:
            while piece := await response.content.readany():
                yield piece
        except TimeoutError as error:
            raise ReadTimeout(self._origin, "read_timeout", status=response.status) from error
        except (aiohttp.ClientError, OSError) as error:
            raise Disconnected(self._origin, "answer_cut_off", status=response.status) from error

    def close(self) -> None:
        """Gives the connection back if the answer was read to its end, else closes it."""
        if self._response is not None and not self._response.closed:
            self._response.close()

    @property
    def _origin(self) -> str:
        return "/".join(self._url.split("/", 3)[:3])

    def _check_headers(self, headers: Mapping[str, str]) -> None:
        for name, text in headers.items():
            if not _is_callers(name) or not _HEADER_VALUE.fullmatch(text):
                raise Refused(self._origin, "header")  # not which one: its name or value may hold a secret

    def _check_encoding(self, response: aiohttp.ClientResponse) -> None:
        """An encoding we did not ask for would have to be undone within the limit; it is refused instead."""
        if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
            raise BadAnswer(self._origin, "encoded_body", status=response.status)

    def _check_size(self, size: int, response: aiohttp.ClientResponse) -> None:
        if size > self._body_limit:
            raise TooLarge(self._origin, "body_too_large", status=response.status)

    def _failure(self, error: Exception) -> OutboundError:
        if not self._has_begun:
            return _not_sent(self._origin, error)
        if isinstance(error, TimeoutError):
            return HeadTimeout(self._origin, "head_timeout")
        if isinstance(error, aiohttp.ClientResponseError):
            return BadAnswer(self._origin, "not_http")
        return Disconnected(self._origin, "no_answer")


def _took_all(protocol: ResponseHandler, body: bytes | None, status: int) -> bool:
    """Whether the peer has read the request whose answer begins; the rest of it would be read as the next request.

    It has not while bytes of it wait here. Who refuses a large body may have done so from its head, and then left it
    to the kernel (RFC 9112, 9.3: a server that does not read a whole request should close, and some do not).
    """
    if protocol.transport is not None and protocol.transport.get_write_buffer_size():
        return False
    return status < 400 or len(body or b"") <= _UNREAD


@lru_cache(maxsize=256)
def _is_callers(name: str) -> bool:
    """Whether a caller may set the header of this name."""
    return _HEADER_NAME.fullmatch(name) is not None and name.lower() not in _OWN_HEADERS


def _not_sent(origin: str, error: Exception) -> NotSent:
    if isinstance(error, TimeoutError):
        return ConnectTimeout(origin, "connect_timeout")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return NameNotFound(origin, "name_not_found")
    if isinstance(error, (aiohttp.ClientSSLError, aiohttp.ClientConnectorCertificateError, ssl.SSLError)):
        return TlsFailed(origin, "tls_failed")
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, BlockedAddress):
        return Refused(origin, "blocked_address")
    return CannotConnect(origin, "cannot_connect")


@lru_cache(maxsize=64)
def _deadlines(timeouts: Timeouts) -> aiohttp.ClientTimeout:
    """Without aiohttp's own end for all of it, which costs more than asyncio's; nor one that would never come."""
    head = timeouts.head if timeouts.head < timeouts.whole else None
    return aiohttp.ClientTimeout(total=None, connect=timeouts.connect, sock_read=head)
