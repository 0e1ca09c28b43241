"""Puts the tables of a run into docs/performance.md, between two marks; the words around them are a person's."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import Machine
from benchmarks.outcome import Effort, Outcome

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
BEGIN = "<!-- measured: written by `python -m benchmarks --write-docs` -->"
END = "<!-- /measured -->"


def write(machine: Machine, effort: Effort, outcomes: Sequence[Outcome]) -> None:
    PAGE.write_text(filled(PAGE.read_text(), _measured(machine, effort, outcomes)))


def filled(page: str, measured: str) -> str:
    """Raises ValueError when the marks are not there, once each."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in after or END in after:
        raise ValueError(f"the page needs one {BEGIN} and, after it, one {END}")
    return f"{before}{BEGIN}\n\n{measured}\n\n{END}{after}"


def _measured(machine: Machine, effort: Effort, outcomes: Sequence[Outcome]) -> str:
    gates = "\n".join(f"    {gate}" for outcome in outcomes for gate in outcome.gates)
    tables = [table.as_markdown() for outcome in outcomes for table in outcome.tables]
    return "\n\n".join((f"{machine}. Medians of {effort.rounds} alternated rounds.", *tables, gates))
