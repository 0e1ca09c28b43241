"""What a reread configuration changes at once, and what only a restart can change: pure.

SIGHUP rereads the file. Access, bounds, paces, routes, policies and agents change live, without losing a message, and
so does what a plugin names as live (the callers of an A2A account); an address to listen on, the store, and an
account's own connection (its token, its mode, its webhook's secret) do not, and are named, so that nobody believes in a
change that did not happen.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from config.settings import GatewaySettings, PluginEntry, Settings
from gateway.composition import has_pace

LIVE_GATEWAY = frozenset({"max_turns", "max_turns_per_owner", "max_queued", "max_queued_per_owner", "shutdown_grace"})
Live = Mapping[str, frozenset[str]]  # by account: the settings that its plugin can change while it runs


@dataclass(frozen=True, slots=True)
class Changes:
    live: tuple[str, ...]
    agents: tuple[str, ...]  # to be made anew
    restart: tuple[str, ...]


def changes(old: Settings, new: Settings, named: Live) -> Changes:
    live: list[str] = []
    restart: list[str] = []
    for name in _different(old.gateway, new.gateway):
        (live if name in LIVE_GATEWAY else restart).append(f"gateway.{name}")
    for name in sorted(old.plugins.keys() | new.plugins.keys()):
        if name not in old.plugins or name not in new.plugins:
            restart.append(f"plugins.{name}")
        else:
            _compare(old.plugins[name], new.plugins[name], named.get(name, frozenset()), live, restart)
    agents = tuple(
        name for name in sorted(old.agents.keys() | new.agents.keys()) if old.agents.get(name) != new.agents.get(name)
    )
    return Changes(tuple(live), agents, tuple(restart))


def applied(old: Settings, new: Settings) -> Settings:
    """The new settings, as far as they may be used without a restart."""
    gateway = new.gateway.model_copy(
        update={name: getattr(old.gateway, name) for name in GatewaySettings.model_fields if name not in LIVE_GATEWAY}
    )
    plugins = {name: _as_far_as_live(entry, new.plugins.get(name)) for name, entry in old.plugins.items()}
    return Settings(gateway, new.agents, plugins, new.origin, new.warnings)


def _as_far_as_live(old: PluginEntry, new: PluginEntry | None) -> PluginEntry:
    """Another kind of plugin under the same name takes over at a restart, its access and all."""
    return new if new is not None and new.kind == old.kind else old


def _compare(old: PluginEntry, new: PluginEntry, named: frozenset[str], live: list[str], restart: list[str]) -> None:
    path = f"plugins.{old.name}"
    if old.kind != new.kind:
        restart.append(f"{path}.kind")
        return
    of_host = set(type(new.account).model_fields)
    live += [f"{path}.{key}" for key in _different(old.account, new.account)]
    for key in _different(old.settings, new.settings):
        if key not in of_host:
            is_live = key == "access" or key in named or (key == "limits" and has_pace(new.settings))
            (live if is_live else restart).append(f"{path}.{key}")


def _different(old: BaseModel, new: BaseModel) -> list[str]:
    return [name for name in type(new).model_fields if getattr(old, name, None) != getattr(new, name, None)]
