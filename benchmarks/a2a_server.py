"""The A2A server: SendMessage and streams of a local echo agent, beside the official SDKs and the bare handler.

Every answer is checked. Frontdesk authenticates the caller, and its tasks are on disk before they are spoken of; the
SDKs keep theirs in memory, but for the one that says otherwise.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp

from benchmarks.a2a_calls import SEND, STREAM, Call
from benchmarks.a2a_programs import BARE, CALLER, FRONTDESK, JAVASCRIPT, SDK_MEMORY, SDK_SQLITE
from benchmarks.cost import cpu_seconds, peak_mb
from benchmarks.gates import Gate
from benchmarks.line import until_ready
from benchmarks.load import Plan, drive
from benchmarks.outcome import Effort, Outcome
from benchmarks.processes import Server, free_port
from benchmarks.programs import Program, Site
from benchmarks.rounds import alternate, median
from benchmarks.series import Numbering, Series
from benchmarks.tables import Table, figure

PROGRAMS = (BARE, SDK_MEMORY, SDK_SQLITE, JAVASCRIPT, FRONTDESK)
CONNECTIONS = (1, 16, 64)
JUDGED_AT = (16, 64)  # connections
SINGLE_SHARE = 4  # one connection sends a quarter of the calls: it is slower, and no less precise
TIME_LIMIT = 5.0  # seconds; a slow server is sent fewer messages
MICROSECONDS = 1e6  # in a second
LEAST = {SDK_MEMORY.name: 5.0, SDK_SQLITE.name: 40.0, JAVASCRIPT.name: 0.9}  # times their rate
LEAST_STREAMED = 5.0  # times the events of the SDK with tasks in memory


@dataclass(frozen=True, slots=True)
class Served:
    rate: float  # right answers a second
    events: float  # of streams, a second; 0 where there are none
    p50: float  # milliseconds
    p99: float
    cpu: float  # server's microseconds a call
    peak: float  # server's MB, from its start on
    failed: float


Figures = Mapping[str, Mapping[int, Served]]  # by program and connections


async def run(effort: Effort) -> Outcome:
    tables, gates, every = list[Table](), list[Gate](), dict[str, Any]()
    for call in (SEND, STREAM):
        rounds = await _compare(call, effort)
        medians = {name: {at: median([it[at] for it in its]) for at in CONNECTIONS} for name, its in rounds.items()}
        tables.append(_table(call, medians))
        gates += _gates(call, medians)
        every[call.name] = {
            name: [{str(at): asdict(it) for at, it in levels.items()} for levels in its] for name, its in rounds.items()
        }
    return Outcome("a2a-server", tuple(tables), tuple(gates), every)


async def _compare(call: Call, effort: Effort) -> dict[str, list[Mapping[int, Served]]]:
    taken = await alternate(PROGRAMS, effort.rounds, lambda program: _measure(program, call, effort))
    return {program.name: its for program, its in zip(PROGRAMS, taken, strict=True)}


async def _measure(program: Program, call: Call, effort: Effort) -> Mapping[int, Served]:
    numbering = Numbering()
    async with serving(program) as server:
        await _load(server, program, numbering, call, 8, effort.scaled(200, 50))
        total = effort.scaled(4000, 800) if not call.chunks else effort.scaled(800, 200)
        return {
            at: await _load(server, program, numbering, call, at, total // (4 if at == 1 else 1)) for at in CONNECTIONS
        }


@asynccontextmanager
async def serving(program: Program) -> AsyncIterator[Server]:
    with TemporaryDirectory(prefix="frontdesk-bench-") as folder:
        site = Site(free_port(), Path(folder))
        async with Server(program.name, program.command(site), site.port, site.folder / "server.log") as server:
            if program is FRONTDESK:
                async with aiohttp.ClientSession() as http:
                    await until_ready(http, server.url)
            yield server


async def _load(
    server: Server, program: Program, numbering: Numbering, call: Call, connections: int, total: int
) -> Served:
    series = Series.fresh(numbering, "stream" if call.chunks else "send", total, 1)
    secret = CALLER if program is FRONTDESK else ""
    plan = Plan(
        f"{server.url}{program.hook}{call.agent if program is FRONTDESK else ''}",
        series,
        connections,
        secret,
        seconds=TIME_LIMIT,
        make=call.requests,
        judge=call.judge(series.number),
    )
    before = cpu_seconds(server.pid)
    report = await drive(plan)
    spent = cpu_seconds(server.pid) - before
    return Served(
        rate=report.rate,
        events=report.rate * call.chunks,
        p50=report.latency.p50,
        p99=report.latency.p99,
        cpu=spent / max(1, report.answers) * MICROSECONDS,
        peak=peak_mb(server.pid),
        failed=report.failed,
    )


def _table(call: Call, medians: Figures) -> Table:
    headings = (call.name, "connections", "a second", "events a second", "CPU us a call", "p50 ms", "p99 ms", "peak MB")
    rows = tuple(
        (
            name,
            str(at),
            figure(it.rate),
            figure(it.events) if call.chunks else "-",
            figure(it.cpu),
            figure(it.p50, 1),
            figure(it.p99, 1),
            figure(it.peak),
            figure(it.failed),
        )
        for at in CONNECTIONS
        for name, it in ((name, levels[at]) for name, levels in medians.items())
    )
    return Table(f"A2A server: {call.name}", (*headings, "failed"), rows)


def _gates(call: Call, medians: Figures) -> list[Gate]:
    ours = medians[FRONTDESK.name]
    least = {SDK_MEMORY.name: LEAST_STREAMED} if call.chunks else LEAST
    gates = [
        Gate(
            f"{call.name} at {at} connections, times {name}", ours[at].rate / medians[name][at].rate, "at least", factor
        )
        for at in JUDGED_AT
        for name, factor in least.items()
    ]
    return [*gates, Gate(f"{call.name}, calls that failed", sum(it.failed for it in ours.values()), "exactly", 0)]
