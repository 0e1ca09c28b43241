"""From tables to Settings: secrets resolved, every model applied, and what only the whole can show checked.

Nothing stops at the first fault: all problems are gathered and raised together.
"""

import os
import stat
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from config.doubts import doubts
from config.problems import ConfigurationProblems, Problem, problems_of, unknown
from config.routing import exposure_problems, routing_problems
from config.secrets import Secrets
from config.settings import (
    NAME,
    AccountSettings,
    AgentEntry,
    GatewaySettings,
    LocalAgentSettings,
    PluginEntry,
    Settings,
)
from config.sources import Source, as_variable, read_source
from config.truths import misplaced
from config.variables import unread

Model = TypeVar("Model", bound=BaseModel)
Entry = TypeVar("Entry", AgentEntry, PluginEntry)


@dataclass(frozen=True, slots=True)
class Kinds:
    """What can be configured. The mappings may import a model only when it is looked up; iterating must not."""

    plugins: Mapping[str, type[BaseModel]]
    agents: Mapping[str, type[BaseModel]]
    local_agents: Collection[str] = ()  # the entries that an agent of kind local can name


def load(
    kinds: Kinds, *, config: Path | None = None, environ: Mapping[str, str] = os.environ, cwd: Path | None = None
) -> Settings:
    """The settings of a whole gateway. Raises ConfigurationProblems with everything that is wrong."""
    return _Composition(read_source(config, environ, cwd or Path.cwd()), environ, kinds).settings()


def load_gateway(
    *, config: Path | None = None, environ: Mapping[str, str] = os.environ, cwd: Path | None = None
) -> GatewaySettings:
    """`[gateway]` alone, for those who talk to a running gateway and lack the secrets of its agents and plugins."""
    source = read_source(config, environ, cwd or Path.cwd())
    source.problems.clear()  # a fault elsewhere is none for these
    composition = _Composition(source, environ, Kinds({}, {}))
    gateway = composition.model(GatewaySettings, "gateway", source.tables.get("gateway", {}))
    if gateway is None or composition.secrets.problems:
        raise composition.refusal()
    return gateway


@dataclass(slots=True)
class _Composition:
    source: Source
    environ: Mapping[str, str]
    kinds: Kinds
    secrets: Secrets = field(init=False)
    problems: list[Problem] = field(init=False)

    def __post_init__(self) -> None:
        self.secrets = Secrets(self.environ, self.source.base)
        self.problems = list(self.source.problems)

    def settings(self) -> Settings:
        tables = self.source.tables
        gateway = self.model(GatewaySettings, "gateway", tables.get("gateway", {}))
        agents = self._entries("agents", self._agent)
        plugins = self._entries("plugins", self._plugin)
        if gateway is not None:
            self.problems += exposure(gateway, plugins.values())
        if gateway is None or self.problems or self.secrets.problems:
            raise self.refusal()
        models = {
            "agents": {name: type(agent.settings) for name, agent in agents.items()},
            "plugins": {name: type(account.settings) for name, account in plugins.items()},
        }
        unused = unread(self.environ, self.secrets.referred, models)
        warnings = (*self._warnings(), *unused, *doubts(gateway, plugins.values()))
        return Settings(gateway, agents, plugins, self.source.origin, warnings)

    def refusal(self) -> ConfigurationProblems:
        problems = dict.fromkeys([*self.problems, *self.secrets.problems])  # two models may name one fault
        return ConfigurationProblems(self.source.origin, problems)

    def model(
        self, model: type[Model], path: str, table: Mapping[str, Any], *, beside: Iterable[str] = ()
    ) -> Model | None:
        """None, with the problems noted, when the table does not fit. `beside`: what other models read of it."""
        known = {problem.setting for problem in self.problems}  # by another model of the same table
        found = misplaced(table, model, path, as_text=self.source.variables)
        self.problems += [each for each in found if each.setting not in known]
        known |= {problem.setting for problem in self.problems}
        unresolved = len(self.secrets.problems)
        resolved = self.secrets.resolved(table, model, path)
        try:
            return model.model_validate(resolved)
        except ValidationError as error:
            known |= {problem.setting for problem in self.secrets.problems[unresolved:]}
            wrong = problems_of(error, path, model, written=resolved, sources=self.source.variables, beside=beside)
            # A reference that led nowhere is reported as that, not again as a value of the wrong shape.
            self.problems += [problem for problem in wrong if problem.setting not in known]
            return None

    def _entries(self, section: str, build: Callable[[str, str, Mapping[str, Any]], Entry | None]) -> dict[str, Entry]:
        entries: dict[str, Entry | None] = {}
        seen: dict[str, str] = {}
        for name, table in self.source.tables.get(section, {}).items():
            path = f"{section}.{name}"
            if not NAME.fullmatch(name):
                remedy = "use 1 to 64 of a-z, 0-9, - and _, as it becomes part of addresses"
                self.problems.append(Problem(path, f"{name!r} cannot be a name", remedy))
            elif (other := seen.setdefault(as_variable(name), name)) != name:
                self.problems.append(Problem(path, f"its name differs from '{other}' by dashes alone", "rename one"))
            else:
                entries[name] = build(name, path, table)
        return {name: entry for name, entry in entries.items() if entry is not None}

    def _agent(self, name: str, path: str, table: Mapping[str, Any]) -> AgentEntry | None:
        kind = self._kind(table, self.kinds.agents, path)
        if not kind:
            return None
        model = self.kinds.agents[kind]
        settings = self.model(model, path, _declared(model, table, host=("kind",)), beside=("kind",))
        if isinstance(settings, LocalAgentSettings) and settings.entry not in self.kinds.local_agents:
            self.problems.append(unknown(f"{path}.entry", settings.entry, self.kinds.local_agents, "local agent"))
        return AgentEntry(name, kind, settings) if settings else None

    def _plugin(self, name: str, path: str, table: Mapping[str, Any]) -> PluginEntry | None:
        kind = self._kind(table, self.kinds.plugins, path)
        if not kind:
            return None
        model, common = self.kinds.plugins[kind], AccountSettings.model_fields
        account = self.model(AccountSettings, path, {key: value for key, value in table.items() if key in common})
        agents = self.source.tables.get("agents", {})
        if account:
            self.problems += routing_problems(path, account, agents)
            table = {**table, **{key: getattr(account, key) for key in common & table.keys()}}  # units are read once
        settings = self.model(model, path, _declared(model, table, host=common), beside=common)
        self.problems += exposure_problems(path, settings, agents)
        return PluginEntry(name, kind, _as_its_kind(account, settings), settings) if account and settings else None

    def _kind(self, table: Mapping[str, Any], known: Mapping[str, Any], path: str) -> str:
        """The table's kind, "" with the problem noted when it has none that is known."""
        kind = table.get("kind")
        if isinstance(kind, str) and kind in known:
            return kind
        if kind is None:
            remedy = f"choose {' or '.join(known)}"
            self.problems.append(Problem(f"{path}.kind", "is required and not set", remedy))
        else:
            self.problems.append(unknown(f"{path}.kind", str(kind)[:64], known, "kind"))
        return ""

    def _warnings(self) -> Iterable[str]:
        path = self.source.path
        if path is None or not self.secrets.literal:
            return
        in_file = [setting for setting in self.secrets.literal if setting not in self.source.variables]
        if in_file and path.stat().st_mode & stat.S_IROTH:
            yield (
                f"{path} holds secrets ({', '.join(in_file)}) and everybody on this machine can read it; "
                f"chmod 600 {path}, or use env:NAME or file:PATH"
            )


def exposure(gateway: GatewaySettings, plugins: Iterable[PluginEntry]) -> list[Problem]:
    """Why this gateway may not listen beyond loopback: it, or one of its accounts, would answer strangers unasked."""
    if gateway.is_loopback:
        return []
    problems = []
    if gateway.operator_token is None:
        cause = f"{gateway.host} is reachable by others and gateway.operator_token is not set"
        problems.append(Problem("gateway.host", cause, "set operator_token, or listen on 127.0.0.1"))
    for entry in plugins:
        if reason := why_open(entry.settings):
            cause = f"{gateway.host} is reachable by others and this account is not authenticated: {reason}"
            problems.append(Problem(f"plugins.{entry.name}", cause, "restrict it, or listen on 127.0.0.1"))
    return problems


def why_open(settings: BaseModel) -> str:
    """Why an account would take anybody's word over HTTP, "" when it authenticates; a model that is silent is open.

    A plugin's settings say so by a property `unauthenticated`.
    """
    answer = getattr(settings, "unauthenticated", "its kind does not say how it authenticates")
    return answer if isinstance(answer, str) else ""


def _as_its_kind(account: AccountSettings, settings: BaseModel) -> AccountSettings:
    """A kind that declares a common setting too has the last word on its default."""
    shared = AccountSettings.model_fields.keys() & type(settings).model_fields.keys()
    return account.model_copy(update={name: getattr(settings, name) for name in shared})


def _declared(model: type[BaseModel], table: Mapping[str, Any], *, host: Collection[str]) -> dict[str, Any]:
    """The table without what only the host reads; a model that declares such a setting too gets it as well."""
    own = {field.alias or name for name, field in model.model_fields.items()}
    return {key: value for key, value in table.items() if key in own or key not in host}
