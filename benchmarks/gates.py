"""Gates: what a release holds, each a measured figure and its bound."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Gate:
    """`sense` says where the figure has to lie; the bound itself holds. NaN never holds."""

    name: str
    measured: float
    sense: Literal["at least", "at most", "exactly"]
    bound: float
    unit: str = ""

    @property
    def holds(self) -> bool:
        match self.sense:
            case "at least":
                return self.measured >= self.bound
            case "at most":
                return self.measured <= self.bound
            case "exactly":
                return self.measured == self.bound

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        verdict = "holds" if self.holds else "FAILS"
        return f"{verdict}  {self.name}: {self.measured:.4g}{unit} ({self.sense} {self.bound:g}{unit})"
