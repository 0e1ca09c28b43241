"""`frontdesk doctor`: how the running gateway and its connections are doing, and what to do where they do not well."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.isolation import Isolating, isolating, left_out
from config.loading import load_gateway
from config.problems import ConfigurationProblems
from config.settings import Settings
from gateway.cli_agents import COLUMNS
from gateway.cli_client import CommandFailed, GatewayClient, Item, base_of, segment
from gateway.cli_show import Column, Show, printable
from gateway.proving import proved


def doctor(config: Path | None, show: Show) -> None:
    """Raises ConfigurationProblems for a wrong configuration, CommandFailed with one line for each trouble.

    Only the gateway's own environment may have its secrets; where nothing else is missing, the doctor does without.
    """
    settings, unchecked = _settings(config)
    try:
        found = Examination.of(GatewayClient.of(config))
    except CommandFailed as failure:
        raise CommandFailed("\n".join((str(failure), *unchecked)), code=failure.code) from failure
    if show.is_json:
        show.json(found.as_json(settings))
    else:
        found.tell(settings, show)
    if troubles := found.troubles:
        raise CommandFailed("\n".join(troubles))


def _settings(config: Path | None) -> tuple[Settings, tuple[str, ...]]:
    """As far as they are known in this shell, and what could not be checked here."""
    try:
        return proved(config), ()
    except ConfigurationProblems as refusal:
        missing = dict.fromkeys(problem.variable for problem in refusal.problems)
        if "" in missing:
            raise
        unchecked = (
            f"the configuration was not checked, since this shell has not {', '.join(missing)}; to check it as well, "
            "set what the gateway's own environment sets",
        )
        return Settings(load_gateway(config=config), {}, {}, refusal.origin, unchecked), unchecked


@dataclass(frozen=True, slots=True)
class Examination:
    """What a running gateway says of itself, of its accounts and of its agents."""

    ready: dict[str, Any]  # as /readyz shows it to the operator
    connections: dict[str, Item]  # by account
    agents: list[Item]  # each with its card as it is now
    running: dict[str, Item]  # its settings by table, such as "plugins.desk"

    @classmethod
    def of(cls, client: GatewayClient) -> "Examination":
        """One that stands by has nothing to look at yet: its accounts and agents are at work in another process."""
        ready = client.readiness()
        if ready.get("holder"):
            return cls(ready, {}, [], {})
        accounts = client.get("/api/v1/plugins")["items"]
        agents = [_looked_at(client, agent) for agent in client.get("/api/v1/agents")["items"]]
        running = {f"plugins.{item['name']}": item["settings"] for item in accounts}
        running |= {f"agents.{item['name']}": item["settings"] for item in agents}
        return cls(ready, {item["name"]: item["connection"] for item in accounts}, agents, running)

    @property
    def plugins(self) -> list[Item]:
        states = self.ready.get("plugins", {}).items()
        return [{"account": name, **health, "connection": self.connections.get(name, {})} for name, health in states]

    @property
    def troubles(self) -> list[str]:
        ready = self.ready
        found = [*_obstacles(ready), *_pressure(ready), *_absent(ready), *map(_trouble, self.plugins)]
        return [line for line in (*found, *map(_trouble_of_agent, self.agents)) if line]

    @property
    def status(self) -> str:
        if self.ready.get("holder"):
            return "standing by"
        is_ready = self.ready["status"] == "ready"
        return "troubled" if is_ready and self.troubles else str(self.ready["status"])

    def as_json(self, settings: Settings) -> dict[str, Any]:
        of_settings = {"configuration": settings.origin, "warnings": settings.warnings}
        more: dict[str, Any] = {"status": self.status, "troubles": self.troubles, "agents": self.agents}
        more["left_out"] = {each.setting: each.value for each in isolating(settings) if not each.is_set}
        more["differs"] = {
            each.setting: {"configured": each.value, "in_force": each.in_force(self.running)}
            for each in self.differing(settings)
        }
        return {**of_settings, **self.ready, "connections": self.connections, **more}

    def tell(self, settings: Settings, show: Show) -> None:
        for warning in settings.warnings:
            show.line(f"warning: {warning}")
        show.line(f"{base_of(settings.gateway)} is {self.status}")
        if holder := self.ready.get("holder"):
            show.line(f"{printable(holder)} serves; this one takes over when that one ends")
            return
        show.table(self.plugins, _PLUGIN, none="no plugin is configured")
        show.line("")
        show.table(self.agents, COLUMNS, none="no agent is configured")
        for line in left_out(settings):
            show.line(f"left out: {line} (the strictest)")
        for each in self.differing(settings):
            show.line(self._difference(each))
        for line in self._warnings():
            show.line(line)

    def _warnings(self) -> Iterator[str]:
        for agent in self.agents:
            for warning in agent["connection"].get("warnings", ()):
                yield f"warning: agent {agent['name']}: {printable(warning)}"

    def differing(self, settings: Settings) -> list[Isolating]:
        """What decides who reaches whom, and is otherwise in the running gateway than the configuration has it."""
        return [each for each in isolating(settings) if each.in_force(self.running) != each.value]

    def _difference(self, each: Isolating) -> str:
        in_force, why = printable(json.dumps(each.in_force(self.running))), "" if each.is_set else " (left out)"
        return (
            f"differs: {each.setting} is {in_force} in the running gateway and {json.dumps(each.value)} by the "
            f"configuration{why}; send SIGHUP, or start it again"
        )


def _looked_at(client: GatewayClient, agent: Item) -> Item:
    """An agent with its card as it is now; one that cannot be had says why in its connection."""
    if agent["kind"] == "local":
        return agent
    path = f"/api/v1/agents/{segment(agent['name'])}"
    with contextlib.suppress(CommandFailed):
        return client.act(f"{path}:discover")
    return client.get(path)


def _trouble_of_agent(agent: Item) -> str:
    """What keeps messages from an agent, with what to do; "" when nothing does."""
    name, connection = agent["name"], agent["connection"]
    if connection.get("state") == "paused":
        return f"agent {name} is paused: its card has changed; `frontdesk agent agree {name}` goes on with it"
    if connection.get("state") == "away":
        return (
            f"agent {name} is away ({printable(str(connection['reason']))}); messages wait, and go on when it is back"
        )
    if connection.get("state") == "unreachable":
        return f"agent {name} is unreachable: {printable(str(connection.get('reason', '')))}"
    return ""


def _obstacles(ready: dict[str, Any]) -> list[str]:
    """Why the gateway itself gets no work, each with what to do."""
    if ready["status"] == "ready":
        return []
    reasons = ready.get("reasons") or ["it does not say why"]
    return [f"not ready: {reason}; {_REMEDIES.get(reason.partition(':')[0], 'look at its log')}" for reason in reasons]


def _pressure(ready: dict[str, Any]) -> list[str]:
    """A queue that is full: the gateway is ready, and takes no messages for the moment."""
    if not ready.get("pressure"):
        return []
    remedy = "look at `frontdesk task list --state working` for an agent that is slow or silent, or raise the bound"
    return [f"{ready['pressure']}, and new ones are told to come back later; {remedy}"]


def _absent(ready: dict[str, Any]) -> list[str]:
    """Whom work was left for at the start, and who was not configured any more."""
    lines = []
    for each in ready.get("missing", ()):
        count, name = f"{each['messages']} messages in {each['threads']} threads", printable(str(each["name"]))
        if each["what"] == "account":
            lines.append(f"account {name} is not configured, and {count} wait for it; configure it again and restart")
        else:
            told = "their people are told that it is not there; configure it again for what they still ask"
            lines.append(f"agent {name} is not configured, and {count} were for it at the start; {told}")
    return lines


def _trouble(plugin: dict[str, Any]) -> str:
    """What keeps one account from working, with what to do; "" when nothing does."""
    account, said = plugin["account"], plugin["connection"].get("trouble", "")
    if plugin["state"] == "stopped":
        return f"{account} is stopped: {plugin['reason']}; then send SIGHUP, or start again"
    if plugin["state"] == "restarting":
        return f"{account} is restarting: {plugin['reason']}; it is tried again by itself, its log says more"
    return f"{account}: {said}" if said else ""  # a sentence, or a state and what of it


_REMEDIES = {
    "starting": "ask again in a moment",
    "draining": "start it again with `frontdesk run`",
    "standing by": "so it should be while that one serves; `frontdesk doctor` with its configuration asks that one",
    "store": "give its disk room and rights, or stop the other process that holds it",
}

_PLUGIN = (
    Column("ACCOUNT", lambda item: item["account"]),
    Column("STATE", lambda item: item["state"]),
    Column("RESTARTS", lambda item: str(item["restarts"])),
    Column("CONNECTION", lambda item: str(item["connection"].get("state", ""))),
    Column(
        "REASON",
        lambda item: item["reason"] or str(item["connection"].get("trouble") or item["connection"].get("note", "")),
    ),
)
