"""`python -m benchmarks`: run them, print tables, say of each gate whether it holds. Ends with 1 if one does not."""

import argparse
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import uvloop

from benchmarks import a2a_client, a2a_memory, a2a_server, document, end_to_end, ingest, kill, overload, start
from benchmarks.gates import Gate
from benchmarks.machine import Machine
from benchmarks.outcome import Effort, Outcome
from benchmarks.processes import NotStarted

BENCHMARKS: dict[str, Callable[[Effort], Awaitable[Outcome]]] = {
    "ingest": ingest.run,
    "end-to-end": end_to_end.run,
    "start": start.run,
    "overload": overload.run,
    "kill": kill.run,
    "a2a-client": a2a_client.run,
    "a2a-server": a2a_server.run,
    "a2a-memory": a2a_memory.run,
}
ALL = "all"
ROUNDS = 3


def main() -> int:
    given = _parser().parse_args()
    names = list(BENCHMARKS) if given.benchmark == ALL else [given.benchmark]
    if given.write_docs and (given.benchmark != ALL or given.quick):
        print("--write-docs takes a full run of all benchmarks: the tables of one document come from one run")
        return 2
    effort, machine = Effort(given.rounds or (1 if given.quick else ROUNDS), given.quick), Machine.now()
    outcomes = uvloop.run(_run(names, effort, machine))
    if given.json:
        given.json.write_text(json.dumps(_figures(outcomes), indent=1) + "\n")
    if given.write_docs:
        document.write(machine, effort, outcomes)
    return 0 if all(outcome.holds for outcome in outcomes) else 1


async def _run(names: Sequence[str], effort: Effort, machine: Machine) -> list[Outcome]:
    print(f"{machine}\n{_rounds(effort)}", flush=True)
    outcomes = []
    for name in names:
        try:
            outcome = await BENCHMARKS[name](effort)
        except NotStarted as error:
            print(f"\n{name}: not measured. {error}", flush=True)
            outcome = Outcome(name, (), (Gate(f"{name} was measured", 0, "exactly", 1),))
        outcomes.append(outcome)
        print("", *(table.as_text() for table in outcome.tables), sep="\n")
        print("", *outcome.gates, sep="\n  ", flush=True)
    failing = [str(gate) for outcome in outcomes for gate in outcome.gates if not gate.holds]
    print("", "Every gate holds." if not failing else f"{len(failing)} gates fail:", *failing, sep="\n")
    return outcomes


def _rounds(effort: Effort) -> str:
    told = "one round" if effort.rounds == 1 else f"medians of {effort.rounds} alternated rounds"
    return f"{told}, quick: figures are rough" if effort.is_quick else told


def _figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    return {
        outcome.name: {
            "gates": [{"gate": str(gate), "holds": gate.holds} for gate in outcome.gates],
            "rounds": outcome.figures,
        }
        for outcome in outcomes
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("benchmark", nargs="?", default=ALL, choices=(*BENCHMARKS, ALL))
    parser.add_argument("--rounds", type=int, default=0, help="alternated rounds; default 3, with --quick 1")
    parser.add_argument("--quick", action="store_true", help="fewer messages: shows gross changes within minutes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures of every round")
    parser.add_argument("--write-docs", action="store_true", help="put the tables into docs/performance.md")
    return parser


if __name__ == "__main__":
    sys.exit(main())
