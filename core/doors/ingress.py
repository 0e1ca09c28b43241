"""The one way in: every inbound path is an aiohttp handler made by `Ingress`.

The order is the same everywhere and none of it may be left out:

1. the caller is authenticated from the head, before a byte of the body is read; where a scheme signs the body, its
   headers' presence and freshness are checked here and the rest in step 5;
2. the head must promise a body we take: not encoded, of an expected type, not longer than the cap;
3. only now is a caller that asked (Expect: 100-continue) told to go on;
4. the body is read, at most the cap, within the deadline;
5. `verify` sees the raw bytes (signatures), and then the handler gets them.

A refusal while part of the body is outstanding ends the connection, since that part could not be told from another
request. Methods are matched exactly by aiohttp's router and nothing overrides them; a path it would decode before
matching is not found.
"""

import asyncio
import hmac
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache

from aiohttp import web
from aiohttp.web_protocol import RequestPayloadError

from core.doors.refusal import Refusal, problem
from core.doors.strict_json import BadJson, check_json_bytes, strict_json

__all__ = (
    "Authenticate",
    "BadJson",
    "Handle",
    "Ingress",
    "IngressLimits",
    "Refusal",
    "Route",
    "Verify",
    "check_json_bytes",
    "problem",
    "require_secret",
    "strict_json",
)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Authenticate = Callable[[web.Request], Awaitable[None] | None]
"""Looks at the head only; raises `Refusal`."""
Handle = Callable[[web.Request, bytes], Awaitable[web.StreamResponse]]
Verify = Callable[[web.Request, bytes], None]
"""Looks at the raw body, before anything parses it; raises `Refusal`."""

Route = web.AbstractRouteDef  # what a plugin's `routes` gives

_JSON = ("application/json",)
_NEEDLESSLY_ENCODED = re.compile(r"%(?:2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])")  # RFC 3986, 2.3


@dataclass(frozen=True, slots=True)
class IngressLimits:
    """Bounds on what a stranger can make the process hold. Seconds and bytes; a route may set its own body cap."""

    body: int = 1 << 20  # a Telegram update or an A2A message with inline parts is far smaller; past it: 413
    body_deadline: float = 15.0  # from the end of the head; past it: 408 and close
    head_deadline: float = 10.0  # from a head's first byte, or from the connection's start; past it: close
    keepalive: float = 75.0  # without a request; past it: close. Longer than the usual proxy's 60
    linger: float = 1.0  # a refused caller still sending may read its answer before the close
    connections: int = 4096  # open at once; past it a new one is closed


class Ingress:
    """Makes handlers. `on_refusal` sees every refusal once (audit, metrics); it must not raise."""

    def __init__(
        self,
        limits: IngressLimits | None = None,
        *,
        on_refusal: Callable[[web.Request, Refusal], None] | None = None,
    ) -> None:
        self.limits = limits or IngressLimits()
        self._on_refusal = on_refusal

    def post(
        self,
        path: str,
        *,
        authenticate: Authenticate,
        handle: Handle,
        content_types: tuple[str, ...] | None = _JSON,
        body_limit: int | None = None,
        verify: Verify | None = None,
    ) -> web.RouteDef:
        """A POST route; `add_routes` takes it as it is."""
        handler = self.route(
            authenticate=authenticate,
            handle=handle,
            content_types=content_types,
            body_limit=body_limit,
            verify=verify,
        )
        return web.post(path, handler, expect_handler=_keep_waiting)

    def get(self, path: str, *, authenticate: Authenticate, handle: Handle) -> web.RouteDef:
        """A GET route; a request with a body is refused, and HEAD is not answered in its place."""
        handler = self.route(authenticate=authenticate, handle=handle, content_types=None, body_limit=0)
        return web.get(path, handler, allow_head=False, expect_handler=_keep_waiting)

    def route(
        self,
        *,
        authenticate: Authenticate,
        handle: Handle,
        content_types: tuple[str, ...] | None = _JSON,
        body_limit: int | None = None,
        verify: Verify | None = None,
    ) -> Handler:
        """A handler for other methods, to be added with `expect_handler=Ingress.keep_waiting`.

        `content_types=None` takes any type; `body_limit` is in bytes, None for the process's own. A `BadJson` raised
        by `verify` or `handle` is answered 400.
        """
        limit = self.limits.body if body_limit is None else body_limit
        deadline = self.limits.body_deadline

        async def admit(request: web.Request) -> web.StreamResponse:
            try:
                _check_path(request)
                pending = authenticate(request)
                if pending is not None:
                    await pending
                _check_head(request, content_types, limit)
                body = await _read_body(request, limit, deadline)
                if verify is not None:
                    verify(request, body)
                return await handle(request, body)
            except Refusal as refusal:
                return self._refuse(request, refusal)
            except BadJson as error:
                return self._refuse(request, Refusal(400, error.reason, detail=str(error)))

        return admit

    @staticmethod
    async def keep_waiting(request: web.Request) -> None:
        """Instead of aiohttp's own answer to Expect, which would ask for the body before anyone is authenticated."""
        if request.headers["Expect"].lower() != "100-continue":
            raise web.HTTPExpectationFailed

    def _refuse(self, request: web.Request, refusal: Refusal) -> web.Response:
        if request.writer.output_size > 0:
            raise refusal  # too late to refuse: the listener cuts the answer off
        if self._on_refusal is not None:
            self._on_refusal(request, refusal)
        close = refusal.close or not request.content.is_eof()
        return problem(refusal.status, headers=refusal.headers, detail=refusal.detail, close=close)


_keep_waiting = Ingress.keep_waiting


def require_secret(header: str, secret: bytes) -> Authenticate:
    """Exactly one such header whose bytes equal the secret, compared in constant time; else 401.

    Raises ValueError for an empty or blank secret, which would admit anybody.
    """
    if not secret.strip():
        raise ValueError(f"the secret expected in {header} is empty; it must be set")

    def authenticate(request: web.Request) -> None:
        values = request.headers.getall(header, ())
        # surrogateescape gives back the very bytes that aiohttp decoded
        if len(values) != 1 or not hmac.compare_digest(values[0].encode("utf-8", "surrogateescape"), secret):
            raise Refusal(401, "bad_secret")

    return authenticate


def _check_path(request: web.Request) -> None:
    """Two spellings of one path would let a proxy's rule for the one be passed by with the other."""
    path = request.raw_path
    if "%" in path and _NEEDLESSLY_ENCODED.search(path.partition("?")[0]):
        raise Refusal(404, "odd_path")


def _check_head(request: web.Request, content_types: tuple[str, ...] | None, limit: int) -> None:
    headers = request.headers
    if "Content-Encoding" in headers and any(
        value.lower() != "identity" for value in headers.getall("Content-Encoding")
    ):
        raise Refusal(415, "content_encoding", headers={"Accept-Encoding": "identity"})
    if content_types is not None:
        values = headers.getall("Content-Type", ())
        if len(values) != 1 or not _is_accepted(values[0], content_types):
            raise Refusal(415, "content_type", headers={"Accept": ", ".join(content_types)})
    if (request.content_length or 0) > limit:
        raise Refusal(413, "body_too_large", close=True)


@lru_cache(maxsize=256)
def _is_accepted(value: str, content_types: tuple[str, ...]) -> bool:
    """The media type, with no parameter but charset=utf-8: any other would have the bytes read in two ways."""
    media_type, *parameters = (part.strip().lower() for part in value.split(";"))
    if media_type not in content_types:
        return False
    return all(parameter in ("charset=utf-8", 'charset="utf-8"', "") for parameter in parameters)


async def _read_body(request: web.Request, limit: int, deadline: float) -> bytes:
    content = request.content
    if content.is_eof() and content.exception() is None:  # the whole body came with its head: the usual case
        body = content.read_nowait()
        if len(body) > limit:
            raise Refusal(413, "body_too_large", close=True)
        return body
    if "Expect" in request.headers:
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the answer itself has not begun
    try:
        async with asyncio.timeout(deadline):
            return await _gather(request, limit)
    except TimeoutError as error:
        raise Refusal(408, "body_timeout", close=True) from error
    except RequestPayloadError as error:
        raise Refusal(400, "bad_framing", close=True) from error


async def _gather(request: web.Request, limit: int) -> bytes:
    gathered = bytearray()
    while chunk := await request.content.readany():
        gathered += chunk
        if len(gathered) > limit:
            raise Refusal(413, "body_too_large", close=True)
    return bytes(gathered)
