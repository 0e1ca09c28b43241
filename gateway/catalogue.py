"""What this gateway can be configured to use: the kinds of plugins and agents, and the local agents.

Our own stand in explicit lists, in order; what other distributions offer by entry point comes second and cannot take a
listed name. Everything is named by import path and imported when it is first asked for, so that a gateway without
Telegram never imports Telegram's library.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from pydantic import BaseModel

from config.loading import Kinds
from config.settings import LocalAgentSettings
from core.errors import ConfigurationError
from core.plugin import PluginKind

# kind: (the settings model, the plugin itself)
PLUGINS: Mapping[str, tuple[str, str]] = {
    "a2a": ("a2a.server.settings:A2AServerSettings", "a2a.server.plugin:PLUGIN"),
    "telegram": ("plugins.telegram.settings:TelegramSettings", "plugins.telegram.plugin:PLUGIN"),
    "wechat": ("plugins.wechat.settings:WechatSettings", "plugins.wechat.plugin:PLUGIN"),
    "webchat": ("plugins.webchat.settings:WebchatSettings", "plugins.webchat.plugin:PLUGIN"),
}
# kind: the settings model
AGENTS: Mapping[str, str | type[BaseModel]] = {
    "a2a": "a2a.settings:A2AAgentSettings",
    "local": LocalAgentSettings,
}
LOCAL_AGENTS: Mapping[str, str] = {
    "concierge": "gateway.agents.concierge:AGENT",
    "echo": "gateway.agents.echo:AGENT",
}


def kinds() -> Kinds:
    """For config.loading: what can be configured, with models that are imported when looked up."""
    plugins = _Models(PLUGINS, lambda kind: imported(PLUGINS[kind][0]), "frontdesk.plugins")
    agents = _Models(AGENTS, _agent_model, "")
    return Kinds(plugins, agents, _Names(LOCAL_AGENTS, "frontdesk.agents"))


def plugin(kind: str) -> PluginKind:
    """What is configured as this kind."""
    found: PluginKind = imported(PLUGINS[kind][1]) if kind in PLUGINS else _loaded("frontdesk.plugins", kind)
    return found


def local_agent(entry: str) -> Any:
    """The local agent of that name: what an entry point of the group frontdesk.agents names."""
    return imported(LOCAL_AGENTS[entry]) if entry in LOCAL_AGENTS else _offered("frontdesk.agents")[entry].load()


def imported(path: str) -> Any:
    """The object at `module:name`."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def _agent_model(kind: str) -> type[BaseModel]:
    model = AGENTS[kind]
    found: type[BaseModel] = imported(model) if isinstance(model, str) else model
    return found


def _loaded(group: str, name: str) -> Any:
    """Raises ConfigurationError for an entry point that leads nowhere."""
    point = _offered(group)[name]
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"the kind {name!r} of the group {group} cannot be imported ({error}); install what it needs, or remove it"
        ) from error


@cache
def _offered(group: str) -> Mapping[str, EntryPoint]:
    """Entry points of all installed distributions; read once, since that opens a file for each of them."""
    return {point.name: point for point in entry_points(group=group)} if group else {}


class _Names(Mapping[str, Any]):
    """Listed names first; entry points are read only when a name is not listed, or all are asked for."""

    def __init__(self, listed: Mapping[str, Any], group: str) -> None:
        self._listed, self._group = listed, group

    def __contains__(self, name: object) -> bool:
        return name in self._listed or name in _offered(self._group)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._listed, *_offered(self._group)]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __getitem__(self, name: str) -> Any:
        if name in self:
            return name
        raise KeyError(name)


class _Models(_Names):
    def __init__(self, listed: Mapping[str, Any], model: Callable[[str], type[BaseModel]], group: str) -> None:
        super().__init__(listed, group)
        self._model = model

    def __getitem__(self, kind: str) -> type[BaseModel]:
        if kind in self._listed:
            return self._model(kind)
        model = getattr(_loaded(self._group, kind), "Settings", None)
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            raise ConfigurationError(
                f"the plugin kind {kind!r} offers no settings model; its distribution must name a plugin whose "
                "`Settings` is a pydantic model"
            )
        return model
