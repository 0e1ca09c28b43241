"""What a configuration would do, said before it does it."""

from pathlib import Path
from typing import Any

from config.isolation import isolating, left_out
from config.problems import ConfigurationProblems
from config.secrets import shown
from config.settings import AccountSettings, GatewaySettings, PluginEntry, Settings
from core.crashpoint import POINTS
from gateway.cli_client import base_of
from gateway.cli_show import Column, Show
from gateway.operator_token import OPERATOR_TOKEN
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


def _in_words(settings: Settings) -> list[tuple[str, str]]:
    gateway = settings.gateway
    token = "as configured" if gateway.operator_token else f"in {OPERATOR_TOKEN.path(gateway)}, made at the first start"
    lines = [
        ("configuration", settings.origin),
        ("listens on", base_of(gateway) if gateway.is_loopback else f"{gateway.host}, port {gateway.port}"),
        ("public address", gateway.public_url or "none"),
        ("store", str(gateway.database)),
        ("operator token", token),
    ]
    lines += [("agent", f"{entry.name} ({entry.kind})") for entry in settings.agents.values()]
    lines += [
        ("account", f"{entry.name} ({entry.kind}), answered by {_answering(entry.account)}{_called(entry, gateway)}")
        for entry in settings.plugins.values()
    ]
    lines += [("left out", f"{line} (the strictest)") for line in left_out(settings)]
    return lines + [("warning", warning) for warning in settings.warnings]


def _answering(account: AccountSettings) -> str:
    """The account's agent, and those that its routes name."""
    others = dict.fromkeys(route.agent for route in account.routes if route.agent != account.agent)
    return f"{account.agent}, by routes {', '.join(others)}" if others else account.agent


def _called(entry: PluginEntry, gateway: GatewaySettings) -> str:
    """At which address, where its platform has to be told that."""
    caller = getattr(entry.settings, "called_by", "")
    return f"; {caller} is to call {gateway.public_url}/hooks/{entry.name}" if caller and gateway.public_url else ""


def _as_json(settings: Settings) -> dict[str, Any]:
    return {
        "ok": True,
        "configuration": settings.origin,
        "warnings": settings.warnings,
        "left_out": {each.setting: each.value for each in isolating(settings) if not each.is_set},
        "gateway": shown(settings.gateway),
        "agents": {entry.name: shown(entry.settings) for entry in settings.agents.values()},
        "plugins": {
            entry.name: {**shown(entry.account), **shown(entry.settings)} for entry in settings.plugins.values()
        },
    }
