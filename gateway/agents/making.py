"""From a configured entry to an agent that can be asked: our own agents first, then what other distributions offer."""

import asyncio
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from core.agent import Agent
from core.clock import Clock
from core.errors import ConfigurationError
from core.plugin import PluginState
from gateway import catalogue
from gateway.agents.local import LocalAgent
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
    """The agent of `[agents.NAME]` whose entry is `entry`. Raises ConfigurationError."""
    made = _made(name, _factory(name, entry), options)
    if callable(getattr(made, "answer", None)):
        return QuickAgent(name, made)
    if callable(getattr(made, "work", None)) and isinstance(getattr(made, "resumable", None), bool):
        return LocalAgent(name, made, state, clock, tasks)
    raise ConfigurationError(
        f"the local agent {entry!r} has neither `answer` nor `work` with `resumable`; "
        "see gateway/agents/contract.py for what an agent is",
        setting=f"agents.{name}.entry",
    )


def _factory(name: str, entry: str) -> Any:
    setting = f"agents.{name}.entry"
    known = catalogue.kinds().local_agents
    if entry not in known:
        close = get_close_matches(entry, known, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(known))}"
        raise ConfigurationError(f"there is no local agent {entry!r}; {hint}", setting=setting)
    try:
        return catalogue.local_agent(entry)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"the local agent {entry!r} cannot be imported: {error}", setting=setting) from error


def _made(name: str, factory: Any, options: Mapping[str, Any]) -> Any:
    try:
        return factory(**options)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"its options do not fit: {error}", setting=f"agents.{name}.options") from error
