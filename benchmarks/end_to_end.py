"""The whole line: webhook, durable admission, the agent's answer, and the answer shown in the chat.

Each message is recognised where it comes out, so a rate counts what was shown and not what was promised. A closed loop
accepts faster than it delivers: its times are backlog and say little, its rate and CPU say what a core can do. The open
loop, at a rate that both gateways bear easily, is where times mean something.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from benchmarks.cost import cpu_seconds, peak_mb
from benchmarks.gates import Gate
from benchmarks.line import Line, Shown, line
from benchmarks.load import Report, drive
from benchmarks.outcome import Effort, Outcome
from benchmarks.percentiles import Spread
from benchmarks.programs import FRONTDESK, MINIMAL, Program
from benchmarks.rounds import alternate, median
from benchmarks.series import Series
from benchmarks.tables import Table, figure

PROGRAMS = (MINIMAL, FRONTDESK)
CONNECTIONS = 32
CHATS = 100
OPEN_RATE = 100.0  # messages a second
RETRIES = 20
PATIENCE = 15.0  # seconds without progress after which what is missing counts as missing
MILLISECONDS = 1000.0  # in a second
LEAST_RATE = 0.5  # of the minimal gateway's
MOST_CPU = 2.2  # times the minimal gateway's
MOST_LATER_MEDIAN = 5.0  # milliseconds
MOST_LATER_P99 = 15.0


@dataclass(frozen=True, slots=True)
class Mode:
    name: str
    is_streaming: bool
    rate: float  # messages a second; 0: closed loop


CLOSED = Mode("closed loop", False, 0.0)
CLOSED_STREAMING = Mode("closed loop, streamed", True, 0.0)
OPEN = Mode("100/s", False, OPEN_RATE)
OPEN_STREAMING = Mode("100/s, streamed", True, OPEN_RATE)
MODES = (CLOSED, CLOSED_STREAMING, OPEN, OPEN_STREAMING)


@dataclass(frozen=True, slots=True)
class EndToEnd:
    rate: float  # messages shown a second, from the first sending to the last showing
    p50: float  # milliseconds from sending, or being due, to being shown
    p95: float
    p99: float
    cpu: float  # server's milliseconds a message
    peak: float  # server's MB, from its start on
    failed: float  # webhook requests
    missing: float  # accepted and never shown
    twice: float  # showings beyond the first


async def run(effort: Effort) -> Outcome:
    figures: dict[str, dict[str, list[EndToEnd]]] = {}
    for mode in MODES:
        figures[mode.name] = await _compare(mode, effort)
    medians = {mode: {name: median(rounds) for name, rounds in by.items()} for mode, by in figures.items()}
    every = {mode: {name: [asdict(it) for it in its] for name, its in by.items()} for mode, by in figures.items()}
    return Outcome("end to end", (_table(medians),), _gates(medians), every)


async def _compare(mode: Mode, effort: Effort) -> dict[str, list[EndToEnd]]:
    taken = await alternate(PROGRAMS, effort.rounds, lambda program: _measure(program, mode, effort))
    return {program.name: rounds for program, rounds in zip(PROGRAMS, taken, strict=True)}


async def _measure(program: Program, mode: Mode, effort: Effort) -> EndToEnd:
    total = effort.scaled(800, 300) if mode.rate else effort.scaled(2000, 800)
    async with line(program, is_streaming=mode.is_streaming) as running:
        warm = effort.scaled(300, 100)
        await running.warm_up(warm)
        await running.until_shown(warm, PATIENCE)
        return await _through(running, mode, total)


async def _through(running: Line, mode: Mode, total: int) -> EndToEnd:
    series = Series.fresh(running.numbering, "e2e", total, CHATS)
    already, pid = await running.marker_count(), running.server.pid
    before = cpu_seconds(pid)
    report = await drive(running.plan(series, CONNECTIONS, rate=mode.rate, retries=RETRIES))
    await running.until_shown(already + len(report.accepted), PATIENCE)
    spent = cpu_seconds(pid) - before
    return _figures(report, await running.shown(series), spent, peak_mb(pid))


def _figures(report: Report, shown: Mapping[int, Shown], spent: float, peak: float) -> EndToEnd:
    accepted = report.accepted
    took = [shown[index].first - it.sent for index, it in accepted.items() if index in shown]
    first = min((it.sent for it in accepted.values()), default=0.0)
    last = max((it.first for it in shown.values()), default=first)
    spread = Spread.of(took)
    return EndToEnd(
        rate=len(took) / (last - first) if last > first else 0.0,
        p50=spread.p50,
        p95=spread.p95,
        p99=spread.p99,
        cpu=spent / max(1, len(took)) * MILLISECONDS,
        peak=peak,
        failed=report.failed,
        missing=len(accepted.keys() - shown.keys()),
        twice=sum(it.count - 1 for it in shown.values()),
    )


def _table(medians: Mapping[str, Mapping[str, EndToEnd]]) -> Table:
    headings = ("Webhook to sendMessage", "load", "a second", "x minimal", "CPU ms a message")
    times = ("x minimal", "p50 ms", "p95 ms", "p99 ms", "peak MB", "missing", "twice")
    rows = tuple(
        _row(mode, name, it, by_program[MINIMAL.name])
        for mode, by_program in medians.items()
        for name, it in by_program.items()
    )
    return Table("End to end through a fast agent", headings + times, rows)


def _row(mode: str, name: str, it: EndToEnd, minimal: EndToEnd) -> tuple[str, ...]:
    return (
        name,
        mode,
        figure(it.rate),
        figure(it.rate / minimal.rate, 2),
        figure(it.cpu, 2),
        figure(it.cpu / minimal.cpu, 2),
        figure(it.p50, 1),
        figure(it.p95, 1),
        figure(it.p99, 1),
        figure(it.peak),
        figure(it.missing),
        figure(it.twice),
    )


def _gates(medians: Mapping[str, Mapping[str, EndToEnd]]) -> tuple[Gate, ...]:
    closed, ours = medians[CLOSED.name][MINIMAL.name], medians[CLOSED.name][FRONTDESK.name]
    calm, calm_ours = medians[OPEN.name][MINIMAL.name], medians[OPEN.name][FRONTDESK.name]
    all_ours = [by_program[FRONTDESK.name] for by_program in medians.values()]
    return (
        Gate("closed loop, rate of the minimal gateway's", ours.rate / closed.rate, "at least", LEAST_RATE),
        Gate("closed loop, CPU a message of the minimal gateway's", ours.cpu / closed.cpu, "at most", MOST_CPU),
        Gate("100/s, median above the minimal gateway's", calm_ours.p50 - calm.p50, "at most", MOST_LATER_MEDIAN, "ms"),
        Gate("100/s, 99th percentile above it", calm_ours.p99 - calm.p99, "at most", MOST_LATER_P99, "ms"),
        Gate("messages missing", sum(it.missing for it in all_ours), "at most", 0),
        Gate("messages shown twice", sum(it.twice for it in all_ours), "at most", 0),
    )
