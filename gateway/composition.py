"""The parts of a running gateway, made from its settings by constructor arguments: nothing here waits or runs."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from config.settings import AccountSettings, AgentEntry, GatewaySettings, LocalAgentSettings, PluginEntry, Settings
from core.access import Access
from core.agent import Agent
from core.doors.ingress import Ingress
from core.doors.ingress import Route as HttpRoute
from core.followed import FollowedWork, FollowingPlugin
from core.helm import Delegate
from core.identity import Source
from core.intake import Account
from core.line import Ends, Line, Rules
from core.outbox import Channel
from core.pacing import Limits
from core.patience import Patience
from core.plugin import AgentPlugin, ChangingPlugin, Host
from core.routes import Route, Routes
from core.session import Bounds
from gateway import catalogue
from gateway.agents.making import make_local
from gateway.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from a2a.client import RemoteAgent


class ConfiguredLine(Line):
    """The line of one process as its settings have it.

    What may change while it runs (access, bounds, limits, agents, policies) is read through `settings` at each use.
    """

    def __init__(self, settings: Settings, store: SqliteStore, host: Host, tasks: asyncio.TaskGroup) -> None:
        self.store, self.host, self._of_turns = store, host, tasks
        self._use(settings)
        work = FollowedWork(store, lambda: self.tracker, lambda: self.lanes, host.clock, self._card_of)
        self.plugins: Mapping[str, AgentPlugin] = make_plugins(settings.plugins, replace(host, following=work))
        self.delegates = {name: self._delegate(entry) for name, entry in settings.agents.items()}
        followers = {
            name: cast(FollowingPlugin, plugin).follower
            for name, plugin in self.plugins.items()
            if plugin.capabilities.follows
        }
        channels = {name: self._channel(name) for name in self.plugins}
        ends = Ends(self.plugins, channels, followers, self.delegates)
        rules = Rules(
            lambda: self._bounds,
            lambda account: self._accounts[account],
            Patience(foreground=settings.gateway.foreground_patience, stale=settings.gateway.task_silence),
            push_base(settings),
        )
        super().__init__(store, ends, rules, tasks, host.clock, host.telemetry, host.files)

    def change(self, settings: Settings, agents: Sequence[str]) -> None:
        """Go on with other settings; these agents are made anew, or gone. What raises changes nothing."""
        made = {name: self._delegate(settings.agents[name]) for name in agents if name in settings.agents}
        for name in agents:
            self.delegates.pop(name, None)
        self.delegates.update(made)
        self._use(settings)
        for name, plugin in self.plugins.items():
            if plugin.capabilities.live:
                cast(ChangingPlugin, plugin).change(settings.plugins[name].settings)
        self.lanes.refill()

    @property
    def live(self) -> dict[str, frozenset[str]]:
        """By account, its own settings that may change while it runs."""
        return {name: plugin.capabilities.live for name, plugin in self.plugins.items()}

    def _use(self, settings: Settings) -> None:
        """What every message asks of the settings is made once."""
        self.settings = settings
        self._bounds = bounds_of(settings.gateway)
        self._accounts = {name: account_of(entry) for name, entry in settings.plugins.items()}

    def remote(self, name: str) -> "RemoteAgent | None":
        """The agent of that name, where it is a remote one."""
        delegate = self.delegates.get(name)
        return None if delegate is None or delegate.is_local else cast("RemoteAgent", delegate.agent)

    async def _card_of(self, agent: str) -> Mapping[str, Any]:
        remote = self.remote(agent)
        return {} if remote is None else await remote.card()

    def agents_ready(self) -> dict[str, bool]:
        """Whether messages may go to each agent, as far as it is known without asking."""
        found = {name: self.remote(name) for name in self.delegates}
        return {name: agent is None or agent.connection.report().is_ready for name, agent in found.items()}

    def agents_away(self) -> dict[str, float]:
        """For how many seconds each remote agent has been away; 0 while it takes calls."""
        found, now = {name: self.remote(name) for name in self.delegates}, self.host.clock.now()
        return {name: agent.connection.report().away_for(now) for name, agent in found.items() if agent is not None}

    def pressure(self) -> str:
        """Why new messages are told to come back later; "" while there is room."""
        queued, most = self.lanes.queued, self._bounds.max_queued
        return f"queue: full, {queued} messages wait of gateway.max_queued = {most}" if queued >= most else ""

    def push_routes(self, ingress: Ingress) -> list[HttpRoute]:
        """What remote agents push to; none where they are never told to."""
        if not self.pushes.is_usable:
            return []
        from a2a.push import PushDoor  # imported only where a remote agent is configured

        return PushDoor(self.pushes, self.tracker.pushed, self._passes).routes(ingress)

    def _passes(self, agent: str) -> Sequence[str]:
        """What of an agent's metadata is handed on, as it is configured now."""
        entry = self.settings.agents.get(agent)
        return getattr(entry.settings, "passes", ()) if entry is not None else ()

    def _channel(self, name: str) -> Channel:
        plugin = self.plugins[name]
        able = plugin.capabilities
        return Channel(
            plugin,
            lambda: limits_of(self.settings.plugins[name].settings),
            lambda: "repeat" if able.repeats_unknown else self.settings.plugins[name].account.on_unknown,
        )

    def _delegate(self, entry: AgentEntry) -> Delegate:
        return make_delegate(entry, self.host, self._of_turns, lambda: self.tracker.agent_is_back(entry.name))


def push_base(settings: Settings) -> str:
    """Where agents reach this gateway; "" where nobody said, or no remote agent is configured that could push."""
    has_remote = any(not isinstance(entry.settings, LocalAgentSettings) for entry in settings.agents.values())
    return settings.gateway.public_url if has_remote else ""


def make_delegate(
    entry: AgentEntry, host: Host, tasks: asyncio.TaskGroup, on_back: Callable[[], None] | None = None
) -> Delegate:
    """`on_back` is called when a remote agent was away and takes calls again. Raises ConfigurationError; no I/O."""
    settings: Any = entry.settings
    if isinstance(settings, LocalAgentSettings):
        agent: Agent = make_local(
            entry.name, settings.entry, settings.options, state=host.state, clock=host.clock, tasks=tasks
        )
        return Delegate(agent, resubmits=True, is_local=True)
    from a2a.client import make  # imported only where a remote agent is configured

    remote = make(entry.name, settings, host.client, telemetry=host.telemetry, state=host.state, on_back=on_back)
    return Delegate(remote, resubmits=settings.resubmit == "same_message_id", pushes=remote)


def make_plugins(entries: Mapping[str, PluginEntry], host: Host) -> dict[str, AgentPlugin]:
    """Every configured account, in order. Raises ConfigurationError; does no I/O."""
    hosts = lent(entries, host)
    return {name: make_plugin(entry, hosts[name]) for name, entry in entries.items()}


def make_plugin(entry: PluginEntry, host: Host) -> AgentPlugin:
    return catalogue.plugin(entry.kind).create(entry.name, entry.settings, host)


def lent(entries: Mapping[str, PluginEntry], host: Host) -> dict[str, Host]:
    """What each account is lent; the first of a kind is that kind's default."""
    first = {entries[name].kind: name for name in reversed(list(entries))}
    return {name: replace(host, is_default=first[entry.kind] == name) for name, entry in entries.items()}


def bounds_of(gateway: GatewaySettings) -> Bounds:
    return Bounds(
        max_turns=gateway.max_turns,
        max_turns_per_owner=gateway.turns_per_owner,
        max_queued=gateway.max_queued,
        max_queued_per_owner=gateway.max_queued_per_owner,
    )


def account_of(entry: PluginEntry) -> Account:
    access: Any = getattr(entry.settings, "access", None)
    allowed = Access(
        direct=getattr(access, "direct", "allow"),
        groups=getattr(access, "groups", "off"),
        allow=frozenset(str(one) for one in getattr(access, "allow", ())),
    )
    return Account(
        source=Source(entry.kind, entry.name),
        routes=routes_of(entry.account),
        access=allowed,
        owner=entry.account.fixed_owner,
        language=entry.account.language,
        collect=entry.account.collect,
        exposed=frozenset(getattr(entry.settings, "exposed", ())),
    )


def routes_of(account: AccountSettings) -> Routes:
    table = [Route(each.agent, each.chat, each.topic, each.command, each.language) for each in account.routes]
    fallbacks = {each.agent: each.fallback for each in account.routes if each.fallback}
    if account.fallback:
        fallbacks[account.agent] = account.fallback
    return Routes(account.agent, tuple(table), fallbacks, may_choose=account.choose)


def limits_of(settings: object) -> Limits:
    """The channel's own limits, where its settings have such."""
    if not has_pace(settings):
        return Limits()
    limits: Any = getattr(settings, "limits", None)
    return Limits(limits.per_second, limits.per_chat_second, limits.per_group_minute)


def has_pace(settings: object) -> bool:
    """Whether `limits` are the pace that the host keeps; a plugin may call bounds of another kind so too."""
    return hasattr(getattr(settings, "limits", None), "per_second")
