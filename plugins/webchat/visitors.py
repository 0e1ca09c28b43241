"""Who is at the page: a visitor is whoever holds an unguessable cookie, and only a hash of it is ever an id.

The page itself never sets the cookie: a link from elsewhere opens the page without it (SameSite=Strict), and a new one
would then take the place of the visitor's own. The page's own requests carry it, and get one when there is none.

A request must name us as its Host, or a name that somebody points at this machine could read a chat on loopback (DNS
rebinding); and where it says from which page it comes, that must be ours.
"""

import hashlib
import re
import secrets
from dataclasses import dataclass
from urllib.parse import urlsplit

from aiohttp import web

from core.doors.ingress import Refusal

LOOPBACK = frozenset(("localhost", "127.0.0.1", "[::1]"))
COOKIE_AGE = 365 * 86_400  # seconds; each visit begins it anew
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}  # which browsers leave out
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_HOST = re.compile(r"(\[[0-9a-f:]+\]|[a-z0-9_.-]+)(?::[0-9]{1,5})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Visitor:
    id: str  # the chat and the sender; says nothing about the cookie
    token: str
    is_new: bool = False


class Visitors:
    def __init__(self, account: str, public_url: str) -> None:
        self._account = account
        self._cookie = f"frontdesk-{account}"
        public = urlsplit(public_url)
        self._public_host = public.netloc.lower().removesuffix(_DEFAULT_PORTS.get(public.scheme, ""))
        self._public_origin = f"{public.scheme}://{self._public_host}" if public_url else ""
        self._public_path = public.path.rstrip("/")
        self._is_secure = public.scheme == "https"

    def check_host(self, request: web.Request) -> None:
        """Raises Refusal 421 for a request that was meant for another name."""
        if not self._is_ours(_one(request, "Host")):
            raise Refusal(421, "foreign_host", detail="This name is not served here.", close=True)

    def check_page(self, request: web.Request) -> None:
        """Raises Refusal for a request that another site's page made."""
        self.check_host(request)
        if "Origin" in request.headers:
            is_ours = self._is_our_origin(_one(request, "Origin"), _one(request, "Host"))
        else:
            is_ours = request.headers.get("Sec-Fetch-Site", "none") in ("same-origin", "none")
        if not is_ours:
            raise Refusal(403, "foreign_origin")

    def known(self, request: web.Request) -> Visitor | None:
        token = request.cookies.get(self._cookie, "")
        return self._visitor(token) if _TOKEN.fullmatch(token) else None

    def require(self, request: web.Request) -> None:
        """For what only a visitor may do. Raises Refusal 401."""
        self.check_page(request)
        if self.known(request) is None:
            raise Refusal(401, "no_visitor", detail="Open the page first.")

    def present(self, request: web.Request) -> Visitor:
        """Whoever asks; somebody new when there is no cookie."""
        return self.known(request) or self._visitor(secrets.token_urlsafe(32), is_new=True)

    def remember(self, request: web.Request, response: web.StreamResponse, visitor: Visitor) -> None:
        is_public = _one(request, "Host").lower() == self._public_host
        path = f"{self._public_path}/chat/" if is_public else "/chat/"
        response.set_cookie(
            self._cookie,
            visitor.token,
            max_age=COOKIE_AGE,
            path=path,
            httponly=True,
            secure=self._is_secure,
            samesite="Strict",
        )

    def _visitor(self, token: str, *, is_new: bool = False) -> Visitor:
        digest = hashlib.sha256(f"frontdesk webchat\0{self._account}\0{token}".encode()).hexdigest()
        return Visitor(digest[:32], token, is_new)

    def _is_ours(self, host: str) -> bool:
        match = _HOST.fullmatch(host.lower())
        return match is not None and (match[1] in LOOPBACK or host.lower() == self._public_host)

    def _is_our_origin(self, origin: str, host: str) -> bool:
        """The public one, or this very one on loopback: another port of this machine is another site."""
        if self._public_origin and origin.lower() == self._public_origin:
            return True
        scheme, _, rest = origin.partition("://")
        return scheme in ("http", "https") and rest.lower() == host.lower() and self._is_ours(host)


def _one(request: web.Request, name: str) -> str:
    """The header's only value, "" when there is none or more than one."""
    values = request.headers.getall(name, [])
    return values[0] if len(values) == 1 else ""
