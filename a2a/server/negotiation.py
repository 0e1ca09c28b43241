"""Which version and which extensions a call is made with: told from the head (A2A 1.0, sections 3.6 and 4.6)."""

import re
from collections.abc import Iterable

from aiohttp import web

from a2a import wire, wire_03
from a2a.server.faults import Fault, Kind
from a2a.server.settings import ExtensionSettings

VERSION_HEADER = "A2A-Version"
SUPPORTED = (wire.PROTOCOL_VERSION, wire_03.PROTOCOL_VERSION)
EXTENSIONS_HEADERS = {wire.PROTOCOL_VERSION: "A2A-Extensions", wire_03.PROTOCOL_VERSION: "X-A2A-Extensions"}
MOST_EXTENSIONS = 100  # named by one call; what is beyond is not looked at
_VERSION = re.compile(r"([0-9]{1,3}\.[0-9]{1,3})(?:\.[0-9A-Za-z.+-]{1,40})?", re.ASCII)


def version_of(request: web.Request) -> str:
    """One of SUPPORTED; Major.Minor alone counts, and who says nothing speaks 0.3 (section 3.6.2).

    The header holds over the query parameter of the same name. Raises Fault.
    """
    said = request.headers.get(VERSION_HEADER) or request.query.get(VERSION_HEADER) or ""
    if not (said := said.strip()):
        return wire_03.PROTOCOL_VERSION
    match = _VERSION.fullmatch(said)
    if match is None or match[1] not in SUPPORTED:
        raise unsupported_version(f"version {said[:40]!r} of the protocol is not supported")
    return match[1]


def unsupported_version(message: str) -> Fault:
    supported = ", ".join(SUPPORTED)
    return Fault(Kind.VERSION, f"{message}; supported: {supported}", metadata={"supportedVersions": supported})


class Extensions:
    """What an account offers beyond the protocol."""

    def __init__(self, offered: Iterable[ExtensionSettings]) -> None:
        self._offered = {each.uri: each.required for each in offered}

    def activated(self, request: web.Request) -> tuple[str, ...]:
        """Those of the offered ones that the caller names, in either version's header; unknown ones are ignored.

        Raises Fault when one is missing that callers must know (section 4.6.3).
        """
        if not self._offered:
            return ()
        named = _named(request)
        missing = [uri for uri, required in self._offered.items() if required and uri not in named]
        if missing:
            raise Fault(
                Kind.EXTENSION_REQUIRED,
                f"the agent requires the extension {missing[0]}; name it in A2A-Extensions",
                metadata={"extensions": ", ".join(missing)},
            )
        return tuple(uri for uri in self._offered if uri in named)


def echo(activated: tuple[str, ...], version: str) -> dict[str, str]:
    """The response header that says what was activated; {} for nothing."""
    return {EXTENSIONS_HEADERS[version]: ", ".join(activated)} if activated else {}


def _named(request: web.Request) -> frozenset[str]:
    values = [value for name in EXTENSIONS_HEADERS.values() for value in request.headers.getall(name, ())]
    uris = [uri.strip() for value in values for uri in value.split(",")]
    return frozenset(uris[:MOST_EXTENSIONS])
