"""What a benchmark hands back: tables for a person, gates that hold or fail, and the figures of every round."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.gates import Gate
from benchmarks.tables import Table


@dataclass(frozen=True, slots=True)
class Effort:
    """How thorough a run is. Quick finds gross changes in a few minutes; its figures belong in no document."""

    rounds: int = 3
    is_quick: bool = False

    def scaled(self, full: int, quick: int) -> int:
        return quick if self.is_quick else full


@dataclass(frozen=True, slots=True)
class Outcome:
    name: str
    tables: tuple[Table, ...]
    gates: tuple[Gate, ...]
    figures: Mapping[str, Any] = field(default_factory=dict)  # JSON; every round

    @property
    def holds(self) -> bool:
        return all(gate.holds for gate in self.gates)
