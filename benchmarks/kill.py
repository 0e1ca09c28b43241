"""`kill -9` in the middle of the load, again and again, and then what the gateway promised, looked at from outside.

Two runs: one with duplicates, which counts what was lost, shown as unknown or sent twice; one in which each chat's
messages come strictly one after the other, which looks at the order. What may be unknown or doubled is bounded by what
was in flight at the kills: asked of the agent and not yet shown.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from benchmarks.gates import Gate
from benchmarks.line import LOOK_AGAIN, Line, Shown, line
from benchmarks.load import Report, drive
from benchmarks.outcome import Effort, Outcome
from benchmarks.programs import FRONTDESK
from benchmarks.series import Series
from benchmarks.tables import Table, figure

MESSAGES = 2000
CONNECTIONS = 32
CHATS = 96  # a multiple of the connections, so that order can be asked for
DUPLICATES = 0.05
KILLED_AT = (0.2, 0.4, 0.6, 0.8)  # shares of the messages shown
RETRIES = 300  # 30 s of a gateway that is away
PATIENCE = 30.0  # seconds without progress after which what is missing counts as missing
LATE = 2.0  # seconds after the last message in which a late duplicate would show


@dataclass(frozen=True, slots=True)
class Survival:
    accepted: int
    failed: int  # webhook requests, all retries spent
    shown: int
    lost: int  # accepted, not shown, and not shown as unknown
    unknown: int  # accepted, not shown, and shown as unknown
    twice: int  # showings beyond the first
    in_flight: int  # asked of the agent and not shown, summed over the kills
    inversions: int  # a later message of a chat shown before an earlier one
    restart: float  # seconds until it listened again, at most


async def run(effort: Effort) -> Outcome:
    total = effort.scaled(MESSAGES, MESSAGES // 4)
    doubled = await _survive(total, DUPLICATES)
    ordered = await _survive(total, 0.0)
    gates = (
        Gate("messages lost", doubled.lost + ordered.lost, "exactly", 0),
        Gate("webhooks never accepted", doubled.failed + ordered.failed, "exactly", 0),
        Gate("shown as unknown", doubled.unknown, "at most", doubled.in_flight),
        Gate("sent twice", doubled.twice, "at most", doubled.in_flight),
        Gate("order inversions, without duplicates", ordered.inversions, "exactly", 0),
    )
    rows = (_row("5 % duplicates", doubled), _row("strictly in order", ordered))
    headings = ("Frontdesk", "accepted", "shown", "lost", "unknown", "twice", "in flight at the kills", "inversions")
    table = Table(f"{len(KILLED_AT)} kills -9 under load", (*headings, "restart s"), rows)
    return Outcome("kill", (table,), gates, {"duplicates": asdict(doubled), "in_order": asdict(ordered)})


async def _survive(total: int, duplicates: float) -> Survival:
    async with line(FRONTDESK) as running:
        series = Series.fresh(running.numbering, "kill", total, CHATS)
        plan = running.plan(series, CONNECTIONS, duplicates=duplicates, in_order=not duplicates, retries=RETRIES)
        async with asyncio.TaskGroup() as group:
            killing = group.create_task(
                _kill(running, series, [int(at * total * (1 - duplicates)) for at in KILLED_AT])
            )
            report = await drive(plan)
        await running.until_shown(len(report.accepted), PATIENCE)
        await asyncio.sleep(LATE)
        unknown = await _unknown(running, series)
        in_flight, restart = killing.result()
        return _survival(report, await running.shown(series), unknown, in_flight, restart)


async def _kill(running: Line, series: Series, thresholds: Sequence[int]) -> tuple[int, float]:
    """What was in flight at all kills together, and the longest restart in seconds."""
    in_flight, restart = 0, 0.0
    for threshold in thresholds:
        await running.until_shown(threshold, PATIENCE)
        given_up = len(await _unknown(running, series) - (await running.shown(series)).keys())
        await running.server.kill()
        in_flight += await _left_in_flight(running) - given_up  # which was counted at an earlier kill
        await running.server.start()
        await running.until_ready()  # it listens before it has the database
        restart = max(restart, running.server.started_in)
    return in_flight, restart


async def _unknown(running: Line, series: Series) -> set[int]:
    """The messages whose submission or delivery Frontdesk shows as unknown, by index."""
    return {int(number) - series.first for number in (await running.summary())["unknown_ids"]}


async def _left_in_flight(running: Line) -> int:
    """Counted once the stubs have read what the dead gateway had already sent."""
    before = None
    while before != (now := ((await running.asked())["messages"], await running.marker_count())):
        before = now
        await asyncio.sleep(LOOK_AGAIN)
    asked, shown = now
    return asked - shown


def _survival(
    report: Report, shown: Mapping[int, Shown], unknown: set[int], in_flight: int, restart: float
) -> Survival:
    missing = report.accepted.keys() - shown.keys()
    return Survival(
        accepted=len(report.accepted),
        failed=report.failed,
        shown=len(shown),
        lost=len(missing - unknown),
        unknown=len(missing & unknown),
        twice=sum(it.count - 1 for it in shown.values()),
        in_flight=in_flight,
        inversions=inversions(shown),
        restart=restart,
    )


def inversions(shown: Mapping[int, Shown]) -> int:
    """How often a message was first shown right after a later one of its chat; `shown` in order of showing."""
    count, latest = 0, dict[int, int]()
    for index, it in shown.items():
        count += index < latest.get(it.chat, -1)
        latest[it.chat] = index
    return count


def _row(name: str, it: Survival) -> tuple[str, ...]:
    counts = (it.accepted, it.shown, it.lost, it.unknown, it.twice, it.in_flight, it.inversions)
    return (name, *map(str, counts), figure(it.restart, 2))
