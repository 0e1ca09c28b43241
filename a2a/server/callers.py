"""Who calls: told from the head alone, before a byte of the body is read (A2A 1.0, section 7.4).

Secrets are looked up by a keyed digest and then compared in constant time, so that neither the number of callers nor
how much of a guess was right shows in the time an answer takes. A wrong secret is refused even where strangers are let
in, and whoever shows two secrets must be the same by both.
"""

import hashlib
import hmac
import secrets

from aiohttp import web

from a2a.server.port import Caller
from a2a.server.settings import A2AServerSettings, CallerSettings
from core.doors.ingress import Refusal

ANONYMOUS = "anonymous"  # the owner of what strangers make
REALM = "frontdesk"

# By which road a secret came: no scheme that a caller names in Authorization can stand for the header of the keys.
_KEY, _SCHEME = "key", "scheme"


class Callers:
    """The callers of one account, and what strangers may do."""

    def __init__(self, account: str, settings: A2AServerSettings) -> None:
        self._account, self._salt = account, secrets.token_bytes(32)
        self._known: dict[bytes, tuple[bytes, Caller]] = {}
        self.use(settings)

    def use(self, settings: A2AServerSettings) -> None:
        """Who is let in from now on."""
        known: dict[bytes, tuple[bytes, Caller]] = {}
        self._named_here: set[tuple[str, str]] = set()
        for each in settings.callers:
            caller = _caller(self._account, each)
            self._named_here.add((caller.owner, caller.name))
            for kind, secret in ((_KEY, each.key), (f"{_SCHEME} bearer", each.bearer)):
                if secret is not None:
                    shown = _shown(kind, secret.get_secret_value())
                    known[self._digest(shown)] = (shown, caller)
        self._known, self._key_header = known, settings.key_header
        self._stranger = _stranger(self._account, settings)
        self._challenges = _challenges(settings)

    def identify(self, request: web.Request) -> Caller:
        """Raises Refusal (401) with what to authenticate with."""
        headers = request.headers
        shown = [_authorization(value) for value in headers.getall("Authorization", ())]
        if self._key_header in headers:
            shown += [_shown(_KEY, key) for key in headers.getall(self._key_header)]
        if not shown:
            return self._required(self._stranger, "no_credentials")
        if len(shown) > 2:
            return self._required(None, "bad_credentials")
        caller = self._named(shown[0])
        is_one = len(shown) == 1 or self._named(shown[1]) == caller
        return self._required(caller if is_one else None, "bad_credentials")

    def admits(self, owner: str, name: str) -> bool:
        """Whether who was let in as this caller still would be; without a name it was a stranger."""
        return (owner, name) in self._named_here if name else self._stranger is not None

    def known(self, request: web.Request) -> Caller:
        """The same, but a stranger is refused where strangers are not one caller like any other."""
        caller = self.identify(request)
        return self._required(caller if caller.name or caller.may_list else None, "no_credentials")

    def _named(self, shown: bytes) -> Caller | None:
        expected, caller = self._known.get(self._digest(shown), (b"", None))
        return caller if hmac.compare_digest(expected, shown) else None

    def _digest(self, shown: bytes) -> bytes:
        return hashlib.blake2b(shown, key=self._salt, digest_size=32).digest()

    def _required(self, caller: Caller | None, reason: str) -> Caller:
        if caller is None:
            raise Refusal(401, reason, headers={"WWW-Authenticate": self._challenges})
        return caller


def _caller(account: str, settings: CallerSettings) -> Caller:
    """An owner of its own has a form that no configured owner can have."""
    owner = settings.owner or f"a2a:{account}:{settings.name}"
    return Caller(owner, settings.name, is_idempotent=settings.idempotent)


def _stranger(account: str, settings: A2AServerSettings) -> Caller | None:
    if settings.anonymous == "off":
        return None
    return Caller(f"a2a:{account}:{ANONYMOUS}", may_list=settings.anonymous == "shared")


def _challenges(settings: A2AServerSettings) -> str:
    """The schemes of RFC 6750 and, for keys, one without a registered name; of those that some caller can use."""
    bearer = f'Bearer realm="{REALM}"'
    key = f'ApiKey realm="{REALM}", header="{settings.key_header}"'
    offered = [bearer] if any(each.bearer for each in settings.callers) else []
    offered += [key] if any(each.key for each in settings.callers) else []
    return ", ".join(offered or [bearer])


def _authorization(value: str) -> bytes:
    """What an Authorization header shows; another scheme than Bearer shows nothing that anybody has."""
    scheme, _, rest = value.partition(" ")
    return _shown(f"{_SCHEME} {scheme.lower()}", rest.strip(" "))


def _shown(kind: str, secret: str) -> bytes:
    # surrogateescape gives back the very bytes that aiohttp decoded
    return f"{kind} {secret}".encode("utf-8", "surrogateescape")
