"""What a configuration may say and seldom means: a warning with its remedy, and the gateway starts all the same.

A kind's settings say what only they can know by properties that are looked for by name: `access`, `closed` (why nobody
is let in) and `identity` (who the account is at its platform).
"""

from collections.abc import Collection, Iterator

from config.settings import PluginEntry


def doubts(plugins: Collection[PluginEntry]) -> Iterator[str]:
    for entry in plugins:
        if reason := why_closed(entry):
            yield f"plugins.{entry.name}{reason}"
    yield from _twins(plugins)


def why_closed(entry: PluginEntry) -> str:
    """Allowed, since a list may be filled later; "" where somebody is let in. It goes on behind the account's path."""
    access = getattr(entry.settings, "access", None)
    if access is not None and access.direct == "allow" and not access.allow:
        return ".access.allow is empty, so that nobody is let in; list the ids of people or chats"
    closed = getattr(entry.settings, "closed", "")
    return closed if isinstance(closed, str) else ""


def _twins(plugins: Collection[PluginEntry]) -> Iterator[str]:
    """Two accounts that are one at their platform, which gives each message to one of them, or to neither."""
    seen: dict[tuple[str, str], str] = {}
    for entry in plugins:
        identity = getattr(entry.settings, "identity", "")
        if isinstance(identity, str) and identity:
            first = seen.setdefault((entry.kind, identity), entry.name)
            if first != entry.name:
                yield (
                    f"plugins.{entry.name} and plugins.{first} are one account of {entry.kind} ({identity}), so that "
                    "they take each other's messages; remove one, or give it credentials of its own"
                )
