"""Whether the A2A server's memory grows with the tasks it has finished: they belong on the disk."""

from dataclasses import asdict, dataclass

from benchmarks.a2a_calls import SEND
from benchmarks.a2a_programs import CALLER, FRONTDESK
from benchmarks.a2a_server import serving
from benchmarks.cost import resident_mb
from benchmarks.gates import Gate
from benchmarks.load import Plan, drive
from benchmarks.outcome import Effort, Outcome
from benchmarks.series import Numbering, Series
from benchmarks.tables import Table, figure

FEW, MANY = 10_000, 100_000  # tasks
CONNECTIONS = 64
MOST_GROWTH = 1.1  # times the memory after few


@dataclass(frozen=True, slots=True)
class Memory:
    few: float  # MB resident
    many: float
    failed: float


async def run(effort: Effort) -> Outcome:
    few, many = effort.scaled(FEW, FEW // 10), effort.scaled(MANY, MANY // 10)
    async with serving(FRONTDESK) as server:
        numbering, failed = Numbering(), 0
        resident = []
        for total in (few, many - few):
            series = Series.fresh(numbering, "memory", total, 1)
            url = f"{server.url}{FRONTDESK.hook}{SEND.agent}"
            plan = Plan(url, series, CONNECTIONS, CALLER, make=SEND.requests, judge=SEND.judge(series.number))
            failed += (await drive(plan)).failed
            resident.append(resident_mb(server.pid))
    memory = Memory(resident[0], resident[1], failed)
    rows = ((FRONTDESK.name, figure(memory.few), figure(memory.many), figure(memory.failed)),)
    table = Table("A2A server: memory", ("Program", f"MB after {few:,}", f"MB after {many:,}", "failed"), rows)
    growth = Gate(
        f"memory after {many:,} tasks, of that after {few:,}", memory.many / memory.few, "at most", MOST_GROWTH
    )
    return Outcome("a2a-memory", (table,), (growth,), {FRONTDESK.name: asdict(memory)})
