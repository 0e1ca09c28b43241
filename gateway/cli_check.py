"""What a configuration would do, said before it does it; and how the gateway that runs by it is doing."""

import contextlib
from pathlib import Path
from typing import Any

from config.problems import ConfigurationProblems
from config.secrets import shown
from config.settings import AccountSettings, Settings
from core.crashpoint import POINTS
from gateway.cli_agents import COLUMNS
from gateway.cli_client import CommandFailed, GatewayClient, Item, base_of, segment
from gateway.cli_show import Column, Show, printable
from gateway.operator_token import token_path
from gateway.proving import proved, surroundings


def check(config: Path | None, show: Show) -> None:
    """Raises ConfigurationProblems, after showing them where JSON is wanted, so that the exit code is 2 either way."""
    try:
        settings = proved(config)
        surroundings(settings)
    except ConfigurationProblems as refusal:
        if show.is_json:
            problems = [{"setting": it.setting, "cause": it.cause, "remedy": it.remedy} for it in refusal.problems]
            show.json({"ok": False, "configuration": refusal.origin, "problems": problems})
        raise
    if show.is_json:
        show.json(_as_json(settings))
        return
    for name, value in _in_words(settings):
        show.line(f"{name:<14} {value}")


def crashpoints(show: Show) -> None:
    items = [{"name": name, "when": when} for name, when in POINTS.items()]
    columns = [Column("POINT", lambda item: item["name"]), Column("THE PROCESS ENDS WHEN", lambda item: item["when"])]
    show.table(items, columns, none="none")


def doctor(config: Path | None, show: Show) -> None:
    """Raises ConfigurationProblems for a wrong configuration, CommandFailed with one line for each trouble."""
    settings = proved(config)
    client = GatewayClient.of(config)
    ready = client.readiness()
    connections = {item["name"]: item["connection"] for item in client.get("/api/v1/plugins")["items"]}
    plugins = [
        {"account": name, **health, "connection": connections.get(name, {})}
        for name, health in ready.get("plugins", {}).items()
    ]
    agents = [_looked_at(client, agent) for agent in client.get("/api/v1/agents")["items"]]
    troubles = [
        *_obstacles(ready),
        *_pressure(ready),
        *_absent(ready),
        *(line for plugin in plugins if (line := _trouble(plugin))),
    ]
    troubles += [line for agent in agents if (line := _trouble_of_agent(agent))]
    status = "troubled" if troubles and ready["status"] == "ready" else ready["status"]
    if show.is_json:
        found = {"configuration": settings.origin, "warnings": settings.warnings, **ready, "connections": connections}
        show.json({**found, "status": status, "troubles": troubles, "agents": agents})
    else:
        for warning in settings.warnings:
            show.line(f"warning: {warning}")
        show.line(f"{base_of(settings.gateway)} is {status}")
        show.table(plugins, _PLUGIN, none="no plugin is configured")
        show.line("")
        show.table(agents, COLUMNS, none="no agent is configured")
        for agent in agents:
            for warning in agent["connection"].get("warnings", ()):
                show.line(f"warning: agent {agent['name']}: {printable(warning)}")
    if troubles:
        raise CommandFailed("\n".join(troubles))


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
    return f"{account} is {said}" if said else ""


_REMEDIES = {
    "starting": "ask again in a moment",
    "draining": "start it again with `frontdesk run`",
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


def _in_words(settings: Settings) -> list[tuple[str, str]]:
    gateway = settings.gateway
    token = "as configured" if gateway.operator_token else f"in {token_path(gateway)}, made at the first start"
    lines = [
        ("configuration", settings.origin),
        ("listens on", base_of(gateway) if gateway.is_loopback else f"{gateway.host}, port {gateway.port}"),
        ("public address", gateway.public_url or "none"),
        ("store", str(gateway.database)),
        ("operator token", token),
    ]
    lines += [("agent", f"{entry.name} ({entry.kind})") for entry in settings.agents.values()]
    lines += [
        ("account", f"{entry.name} ({entry.kind}), answered by {_answering(entry.account)}")
        for entry in settings.plugins.values()
    ]
    return lines + [("warning", warning) for warning in settings.warnings]


def _answering(account: AccountSettings) -> str:
    """The account's agent, and those that its routes name."""
    others = dict.fromkeys(route.agent for route in account.routes if route.agent != account.agent)
    return f"{account.agent}, by routes {', '.join(others)}" if others else account.agent


def _as_json(settings: Settings) -> dict[str, Any]:
    return {
        "ok": True,
        "configuration": settings.origin,
        "warnings": settings.warnings,
        "gateway": shown(settings.gateway),
        "agents": {entry.name: shown(entry.settings) for entry in settings.agents.values()},
        "plugins": {
            entry.name: {**shown(entry.account), **shown(entry.settings)} for entry in settings.plugins.values()
        },
    }
