"""What a configuration may say and seldom means: a warning with its remedy, and the gateway starts all the same.

A kind's settings say what only they can know by properties that are looked for by name: `access`, `closed` (why nobody
is let in), `identity` (who the account is at its platform), `called_by` (who calls its path from outside), `called_on`
(the only ports they call) and `doubt` (anything else, as it goes on behind the account's path).
"""

from collections.abc import Collection, Iterator
from urllib.parse import urlsplit

from config.settings import GatewaySettings, PluginEntry
from core.doors.addresses import OutboundPolicy, check_url
from core.doors.failures import Refused


def doubts(gateway: GatewaySettings, plugins: Collection[PluginEntry]) -> Iterator[str]:
    for entry in plugins:
        for reason in (why_closed(entry), _said(entry, "doubt"), _why_not_called(gateway.public_url, entry)):
            if reason:
                yield f"plugins.{entry.name}{reason}"
        if gateway.public_url.endswith(f"/{entry.name}"):
            yield (
                f"gateway.public_url ({gateway.public_url}) ends as the path of plugins.{entry.name} does; "
                "give only what comes before the path, since each account adds its own"
            )
    yield from _twins(plugins)


def why_closed(entry: PluginEntry) -> str:
    """Allowed, since a list may be filled later; "" where somebody is let in. It goes on behind the account's path."""
    access = getattr(entry.settings, "access", None)
    if access is not None and access.direct == "allow" and not access.allow:
        return ".access.allow is empty, so that nobody is let in; list the ids of people or chats"
    return _said(entry, "closed")


def _why_not_called(public_url: str, entry: PluginEntry) -> str:
    caller, why = _said(entry, "called_by"), _why_unfit(public_url, getattr(entry.settings, "called_on", ()))
    if not caller or not why:
        return ""
    remedy = "set it to the https address at which your proxy takes calls from there"
    return f" is called by {caller} from the internet, and gateway.public_url {why}; {remedy}"


def _why_unfit(public_url: str, ports: Collection[int]) -> str:
    """`ports`: the only ones that are called, () for any."""
    if not public_url:
        return "is not set"
    try:
        check_url(public_url, OutboundPolicy())
    except Refused:
        return f"({public_url}) is no address of the internet"
    parts = urlsplit(public_url)
    if parts.scheme != "https":
        return f"({public_url}) is not https"
    if ports and (parts.port or 443) not in ports:
        return f"({public_url}) has another port than {' and '.join(map(str, ports))}, to which alone it calls"
    return ""


def _said(entry: PluginEntry, name: str) -> str:
    value = getattr(entry.settings, name, "")
    return value if isinstance(value, str) else ""


def _twins(plugins: Collection[PluginEntry]) -> Iterator[str]:
    """Two accounts that are one at their platform, which gives each message to one of them, or to neither."""
    seen: dict[tuple[str, str], str] = {}
    for entry in plugins:
        if identity := _said(entry, "identity"):
            first = seen.setdefault((entry.kind, identity), entry.name)
            if first != entry.name:
                yield (
                    f"plugins.{entry.name} and plugins.{first} are one account of {entry.kind} ({identity}), so that "
                    "they take each other's messages; remove one, or give it credentials of its own"
                )
