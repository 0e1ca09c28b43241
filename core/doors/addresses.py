"""Where a request may go: a URL as it is written, and an address as a name resolves to it.

A URL is read by one narrow grammar and put together again from the parts that passed, so that no second parser can
read another host out of it. Addresses are judged by the IANA special-purpose registries (RFC 6890 and its updates),
written out here because the table in `ipaddress` differs between Python's patch releases; forms that carry an IPv4
address inside an IPv6 one are judged by what they carry.
"""

import ipaddress
import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from core.doors.failures import Refused

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_PORTS = {"http": 80, "https": 443}
_MAX_URL = 8192  # characters; longer than any webhook, card or push URL has reason to be
_ODD_CHARACTER = re.compile(r"[\x00-\x20\x7f\\]")
_AUTHORITY = re.compile(
    r"(?:\[([0-9a-f.]*:[0-9a-f:.]*)\]|([a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?))(?::([0-9]{1,5}))?", re.ASCII
)
_NUMBER_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)  # WHATWG URL, "ends in a number"


def _networks(*blocks: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    return tuple(map(ipaddress.ip_network, blocks))


# Credentials of the machine itself are served here; the IPv4 one also falls under link-local.
_METADATA = frozenset(map(ipaddress.ip_address, ("169.254.169.254", "100.100.100.200", "192.0.0.192", "fd00:ec2::254")))
_LINK_LOCAL = _networks("169.254.0.0/16", "fe80::/10")
_PRIVATE = _networks(
    *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "::1/128", "fc00::/7")
)
_SPECIAL = _networks(
    *("0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24"),
    *("192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
    *("2001::/23", "2001:db8::/32", "2620:4f:8000::/48", "3fff::/20"),
)
_UNICAST = ipaddress.IPv6Network("2000::/3")  # all that IANA has given out for public use
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052; its local-use sibling 64:ff9b:1::/48 is never public


@dataclass(frozen=True, slots=True)
class OutboundPolicy:
    """What one request may do. Whoever makes the request states it; nothing is inherited from an earlier one."""

    allow_private: bool = False  # loopback and private ranges; link-local and metadata addresses stay refused
    https_only: bool = False
    body_limit: int = 1 << 20  # bytes of an answer's body


@lru_cache(maxsize=1024)
def check_url(url: str, policy: OutboundPolicy) -> str:
    """The URL put together from its checked parts, without a fragment; raises `Refused`.

    Good for registration: names are not resolved here. The host must be ASCII, so an international name is given in
    its xn-- form and no digits in disguise get through.
    """
    if len(url) > _MAX_URL or _ODD_CHARACTER.search(url):
        raise Refused("URL", "odd_characters")
    scheme, separator, rest = url.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in _PORTS or (policy.https_only and scheme != "https"):
        raise Refused("URL", "scheme")
    authority, target = _split_authority(rest)
    if "@" in authority:
        raise Refused("URL", "userinfo")
    match = _AUTHORITY.fullmatch(authority.lower()) if authority.isascii() else None
    if match is None:
        raise Refused("URL", "host")
    origin = f"{scheme}://[{match[1]}]" if match[1] else f"{scheme}://{match[2]}"
    port = int(match[3] or _PORTS[scheme])
    if port != _PORTS[scheme]:
        origin += f":{port}"
    _check_host(origin, match[1] or match[2], port, policy)
    return origin + target


def check_base(url: str, what: str) -> str:
    """The address of a server that an operator names, without its last slash. `what` it is the address of, in words.

    Raises ValueError: no http(s) address, or one with a user name, a query or a fragment.
    """
    base = url.strip().rstrip("/")
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"{base[:80]!r} is not the address of {what}")
    if parts.username is not None:
        raise ValueError(f"it holds a user name; {what} takes none")
    return base


def _split_authority(rest: str) -> tuple[str, str]:
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    target = rest[end:].partition("#")[0]
    return rest[:end], target if target.startswith("/") else "/" + target


def _check_host(origin: str, host: str, port: int, policy: OutboundPolicy) -> None:
    if not 0 < port < 65536:
        raise Refused(origin, "port")
    if len(host) > 253:
        raise Refused(origin, "host")
    name = host.rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):  # RFC 6761, 6.3: always loopback
        name = "127.0.0.1"
    elif ":" not in host and not _NUMBER_LABEL.fullmatch(name.rpartition(".")[2]):
        return
    elif name != host:  # a number with a trailing dot: some parsers read an address, others a name
        raise Refused(origin, "odd_address")
    check_address(origin, name, allow_private=policy.allow_private)


def check_address(origin: str, address: str, *, allow_private: bool) -> None:
    """Raises `Refused` unless a connection may be made to this address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError as error:
        raise Refused(origin, "odd_address") from error
    reason = _objection(_carried(parsed), allow_private)
    if reason is not None:
        raise Refused(origin, reason)


def _carried(address: _Address) -> _Address:
    """The IPv4 address inside a mapped, 6to4 or NAT64 one; else the address itself, without its zone."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    address = ipaddress.IPv6Address(int(address))
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _objection(address: _Address, allow_private: bool) -> str | None:
    if address in _METADATA:
        return "metadata_address"
    if any(address in block for block in _LINK_LOCAL):
        return "link_local_address"
    if any(address in block for block in _PRIVATE):
        return None if allow_private else "private_address"
    if any(address in block for block in _SPECIAL):
        return "special_address"
    if isinstance(address, ipaddress.IPv6Address) and address not in _UNICAST:
        return "special_address"
    return None
