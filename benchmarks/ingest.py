"""Admission alone: from Telegram's webhook to the 200 that promises the message is on disk.

The agent is parked, so that every turn stands still and nothing but admission costs anything. Beside it stand the bare
handler, which is what HTTP costs, and the durable ceiling, which is what the same promise costs at least.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from benchmarks.cost import cpu_seconds, peak_mb
from benchmarks.gates import Gate
from benchmarks.line import Line, line
from benchmarks.load import drive
from benchmarks.outcome import Effort, Outcome
from benchmarks.programs import BARE, DURABLE, FRONTDESK, Program
from benchmarks.rounds import alternate, median
from benchmarks.series import Series
from benchmarks.tables import Table, figure

PROGRAMS = (BARE, DURABLE, FRONTDESK)
CONNECTIONS = (1, 16, 64, 256)
CHATS = 1000
MICROSECONDS = 1e6  # in a second
LEAST_RATE = 0.6  # of the durable ceiling's, at 64 connections
MOST_CPU = 1.8  # times the durable ceiling's
JUDGED_AT = 64  # connections
SINGLE_SHARE = 4  # one connection sends a quarter of the messages: it is slower, and no less precise
TIME_LIMIT = 8.0  # seconds; a machine that is very slow sends fewer messages instead


@dataclass(frozen=True, slots=True)
class Ingest:
    rate: float  # right answers a second
    p50: float  # milliseconds
    p95: float
    p99: float
    cpu: float  # server's microseconds a message
    peak: float  # server's MB, from its start on
    driver: float  # share of a core that the driver took; near 1 it was the limit
    failed: float  # requests


async def run(effort: Effort) -> Outcome:
    taken = await alternate(PROGRAMS, effort.rounds, lambda program: _measure(program, effort))
    figures = {
        program.name: {at: [levels[at] for levels in rounds] for at in CONNECTIONS}
        for program, rounds in zip(PROGRAMS, taken, strict=True)
    }
    medians = {name: {at: median(rounds) for at, rounds in levels.items()} for name, levels in figures.items()}
    every = {name: {str(at): [asdict(it) for it in its] for at, its in by.items()} for name, by in figures.items()}
    return Outcome("ingest", (_table(medians),), _gates(medians), every)


async def _measure(program: Program, effort: Effort) -> Mapping[int, Ingest]:
    async with line(program, is_parked=True) as running:
        await running.warm_up(effort.scaled(500, 200))
        return {at: await _load(running, at, effort.scaled(6_000, 2_000)) for at in CONNECTIONS}


async def _load(running: Line, connections: int, total: int) -> Ingest:
    total = total // SINGLE_SHARE if connections == 1 else total
    series = Series.fresh(running.numbering, f"in{connections}", total, CHATS)
    pid = running.server.pid
    before = cpu_seconds(pid)
    report = await drive(running.plan(series, connections, seconds=TIME_LIMIT))
    spent = cpu_seconds(pid) - before
    return Ingest(
        rate=report.rate,
        p50=report.latency.p50,
        p95=report.latency.p95,
        p99=report.latency.p99,
        cpu=spent / max(1, report.answers) * MICROSECONDS,
        peak=peak_mb(pid),
        driver=report.driver_cpu,
        failed=report.failed,
    )


def _table(medians: Mapping[str, Mapping[int, Ingest]]) -> Table:
    ceiling = medians[DURABLE.name]
    rows = tuple(
        (
            name,
            str(at),
            figure(it.rate),
            figure(it.rate / ceiling[at].rate, 2),
            figure(it.cpu),
            figure(it.cpu / ceiling[at].cpu, 2),
            figure(it.p50, 1),
            figure(it.p95, 1),
            figure(it.p99, 1),
            figure(it.peak),
            figure(it.failed),
        )
        for at in CONNECTIONS
        for name, it in ((name, levels[at]) for name, levels in medians.items())
    )
    headings = ("Telegram webhook to durable 200", "connections", "a second", "x ceiling", "CPU us a message")
    latencies = ("x ceiling", "p50 ms", "p95 ms", "p99 ms", "peak MB", "failed")
    return Table("Ingest, turns parked behind a silent agent", headings + latencies, rows)


def _gates(medians: Mapping[str, Mapping[int, Ingest]]) -> tuple[Gate, ...]:
    ceiling, ours = medians[DURABLE.name][JUDGED_AT], medians[FRONTDESK.name][JUDGED_AT]
    at = f"ingest at {JUDGED_AT} connections"
    return (
        Gate(f"{at}, rate of the durable ceiling's", ours.rate / ceiling.rate, "at least", LEAST_RATE),
        Gate(f"{at}, CPU a message of the ceiling's", ours.cpu / ceiling.cpu, "at most", MOST_CPU),
        Gate(f"{at}, requests that failed", sum(it.failed for it in medians[FRONTDESK.name].values()), "at most", 0),
    )
