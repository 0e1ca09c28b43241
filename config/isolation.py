"""The settings that decide who reaches whom: which of them are left out, and what is in force in their place.

A missing one takes its strictest value, so that an upgrade, or a line that was lost, closes a door and opens none. It
may close one that somebody needs, and the configuration does not show it: so it is said, setting by setting. A model
names its own by `isolating`, as paths within it.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pydantic import BaseModel

from config.secrets import shown
from config.settings import Settings


@dataclass(frozen=True, slots=True)
class Isolating:
    """One setting, as the configuration has it."""

    table: str  # "plugins.desk"
    path: str  # within it: "access.direct"
    value: Any  # as JSON has it
    is_set: bool

    @property
    def setting(self) -> str:
        return f"{self.table}.{self.path}"

    @property
    def words(self) -> str:
        return f"{self.path} = {json.dumps(self.value)}"

    def in_force(self, running: Mapping[str, Any]) -> Any:
        """Its value in a gateway that runs with these settings, by table; the configuration's where that is silent."""
        found: Any = running.get(self.table)
        for name in self.path.split("."):
            if not isinstance(found, Mapping) or name not in found:
                return self.value
            found = found[name]
        return found


def isolating(settings: Settings) -> list[Isolating]:
    """In the order of the configuration; a setting that stands in two models is its kind's."""
    found = list(_of(settings.gateway, "gateway"))
    for agent in settings.agents.values():
        found += _of(agent.settings, f"agents.{agent.name}")
    for entry in settings.plugins.values():
        table = f"plugins.{entry.name}"
        own = {each.path: each for each in _of(entry.settings, table)}
        common = {each.path: each for each in _of(entry.account, table)}
        found += (common | own).values()
    return found


def left_out(settings: Settings) -> list[str]:
    """One line for each table that leaves out any: `plugins.desk: access.direct = "allow", owner = "per_sender"`."""
    missing = [each for each in isolating(settings) if not each.is_set]
    by_table = groupby(missing, key=lambda each: each.table)
    return [f"{table}: {', '.join(each.words for each in several)}" for table, several in by_table]


def _of(model: BaseModel, table: str) -> Iterator[Isolating]:
    for path in getattr(model, "isolating", ()):
        value: Any = model
        is_set = True
        for name in path.split("."):
            is_set = is_set and name in value.model_fields_set
            value = getattr(value, name)
        yield Isolating(table, path, shown(value), is_set)
