"""Why a request that went out brought no whole answer, sorted by the one question that decides about a retry.

OutboundError
├── NotSent                  nothing of the request left: safe to send again
│   ├── Refused              by our own policy; the same request is refused again
│   ├── NameNotFound         the host's name has no address
│   ├── CannotConnect        refused, unreachable, or cut off before the request
│   ├── ConnectTimeout       no connection in time: name, free place in the pool, TCP and TLS together
│   └── TlsFailed            handshake or certificate
└── Ambiguous                the request, or a part of it, may have arrived: look before anything is repeated
    ├── HeadTimeout          no answer's head in time
    ├── ReadTimeout          the answer began and then stalled, or took too long as a whole
    ├── Disconnected         the connection ended before the answer did
    ├── BadAnswer            what came is not HTTP, or is encoded although nobody asked for that
    └── TooLarge             the answer's body passed the limit; it was not read to its end

A message never holds a URL's path or query, since those may carry a token.
"""


class OutboundError(Exception):
    """`origin` is scheme, host and port; `reason` is a machine word."""

    def __init__(self, origin: str, reason: str) -> None:
        super().__init__(f"{origin}: {reason}")
        self.origin = origin
        self.reason = reason


class NotSent(OutboundError):
    """Nothing of the request left."""


class Refused(NotSent):
    """Our own policy forbids it: the URL, an address behind its name, or a header."""


class NameNotFound(NotSent):
    """The host's name has no address, or the resolver failed."""


class CannotConnect(NotSent):
    """No connection could be made."""


class ConnectTimeout(NotSent):
    """No connection in time."""


class TlsFailed(NotSent):
    """The handshake failed or the certificate is not good for this host."""


class Ambiguous(OutboundError):
    """The request may have arrived. `status` is that of the answer whose body failed; None when no head came."""

    def __init__(self, origin: str, reason: str, *, status: int | None = None) -> None:
        super().__init__(origin, reason)
        self.status = status


class HeadTimeout(Ambiguous):
    """No answer's head in time."""


class ReadTimeout(Ambiguous):
    """The answer began and then stalled, or took too long as a whole."""


class Disconnected(Ambiguous):
    """The connection ended before the answer did."""


class BadAnswer(Ambiguous):
    """What came cannot be read as an answer."""


class TooLarge(Ambiguous):
    """The answer's body passed the limit."""
