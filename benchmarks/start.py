"""How soon it listens and how much it holds while nothing happens, in the configuration of every other measurement."""

import asyncio
import math
from dataclasses import asdict, dataclass

from benchmarks.cost import resident_mb
from benchmarks.gates import Gate
from benchmarks.line import line
from benchmarks.outcome import Effort, Outcome
from benchmarks.programs import FRONTDESK, MINIMAL, Program
from benchmarks.rounds import alternate, median
from benchmarks.tables import Table, figure

PROGRAMS = (MINIMAL, FRONTDESK)
SETTLING = 2.0  # seconds after the start in which what is imported late shows
LONGEST_START = 1.5  # seconds
MOST_IDLE = 90.0  # MB


@dataclass(frozen=True, slots=True)
class Start:
    listening: float  # seconds from the start of the process
    ready: float  # seconds until /readyz said so; NaN where a program has none
    idle: float  # MB resident


async def run(effort: Effort) -> Outcome:
    taken = await alternate(PROGRAMS, effort.rounds, _measure)
    medians = {program.name: median(rounds) for program, rounds in zip(PROGRAMS, taken, strict=True)}
    rows = tuple((n, figure(it.listening, 2), figure(it.ready, 2), figure(it.idle)) for n, it in medians.items())
    table = Table("Start and idle memory", ("Program", "listening s", "ready s", "idle MB"), rows)
    ours = medians[FRONTDESK.name]
    gates = (
        Gate("from start to listening", ours.listening, "at most", LONGEST_START, "s"),
        Gate("idle memory", ours.idle, "at most", MOST_IDLE, "MB"),
    )
    every = {program.name: [asdict(it) for it in its] for program, its in zip(PROGRAMS, taken, strict=True)}
    return Outcome("start", (table,), gates, every)


async def _measure(program: Program) -> Start:
    async with line(program) as running:
        listening = running.server.started_in
        ready = listening + await running.until_ready() if program is FRONTDESK else math.nan
        await asyncio.sleep(SETTLING)
        return Start(listening, ready, resident_mb(running.server.pid))
