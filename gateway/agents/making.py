"""From a configured entry to an agent that can be asked: our own agents first, then what other distributions offer."""

import asyncio
from collections.abc import Mapping
from typing import Any

from config.problems import unknown
from core.agent import Agent
from core.clock import Clock
from core.errors import ConfigurationError
from core.plugin import PluginState
from gateway import catalogue
from gateway.agents.local import LocalAgent
from gateway.agents.options import fitting
from gateway.agents.quick import QuickAgent


def make_local(
    name: str,
    entry: str,
    options: Mapping[str, Any],
    *,
    state: PluginState,
    clock: Clock,
    tasks: asyncio.TaskGroup,
) -> Agent:
    """The agent of `[agents.NAME]` whose entry is `entry`. Raises ConfigurationError, whose words name the setting."""
    made = _made(name, entry, _factory(name, entry), options)
    if callable(getattr(made, "answer", None)):
        return QuickAgent(name, made)
    if callable(getattr(made, "work", None)) and isinstance(getattr(made, "resumable", None), bool):
        return LocalAgent(name, made, state, clock, tasks)
    cause = f"the local agent {entry!r} has neither `answer` nor `work` with `resumable`"
    raise _wrong(f"agents.{name}.entry", f"{cause}; see docs/agents.md for what an agent is")


def _factory(name: str, entry: str) -> Any:
    setting = f"agents.{name}.entry"
    known = catalogue.kinds().local_agents
    if entry not in known:
        raise ConfigurationError(str(unknown(setting, entry, known, "local agent")), setting=setting)
    try:
        return catalogue.local_agent(entry)
    except (ImportError, AttributeError) as error:
        cause = f"the local agent {entry!r} cannot be imported ({error})"
        raise _wrong(setting, f"{cause}; install what it needs, or name another one") from error


def _made(name: str, entry: str, factory: Any, options: Mapping[str, Any]) -> Any:
    setting = f"agents.{name}.options"
    given = fitting(factory, options, setting)
    try:
        return factory(**given)
    except (TypeError, ValueError) as error:
        raise _wrong(setting, f"they do not fit the agent {entry!r}: {error}; give what its parameters take") from error


def _wrong(setting: str, words: str) -> ConfigurationError:
    return ConfigurationError(f"{setting}: {words}", setting=setting)
