"""The end of a line: nothing new begins, what is at work may finish within the grace; a second signal ends the wait."""

import asyncio

from core.telemetry import Telemetry
from gateway.composition import Line
from gateway.health import Health


class Stop(asyncio.Event):
    """Set by the first signal; a second one says not to wait for anything."""

    def __init__(self) -> None:
        super().__init__()
        self.at_once = asyncio.Event()

    def again(self) -> None:
        if self.is_set():
            self.at_once.set()
        self.set()


async def drain(
    line: Line, health: Health, stop: Stop, receiving: list[asyncio.Task[None]], telemetry: Telemetry
) -> None:
    """Let what is at work finish, within the grace; a second signal ends the waiting."""
    health.is_draining = True
    _say_draining(line, telemetry)
    for task in receiving:
        task.cancel()
    line.lanes.stop()
    finished = asyncio.ensure_future(_quiet(line))
    hurried = asyncio.ensure_future(stop.at_once.wait())
    grace = line.settings.gateway.shutdown_grace
    _, left = await asyncio.wait({finished, hurried}, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
    for waiting in left:
        waiting.cancel()
    line.outbox.stop()
    telemetry.event("gateway.drained", turns=line.lanes.running, attempts=line.outbox.at_work)


def _say_draining(line: Line, telemetry: Telemetry) -> None:
    """Who waits at a terminal is told for what, and how not to."""
    turns, attempts = line.lanes.running, line.outbox.at_work
    fields: dict[str, object] = {"turns": turns, "attempts": attempts}
    if turns or attempts:
        waits = f"up to {line.settings.gateway.shutdown_grace:g} s; a second Ctrl-C or SIGTERM ends at once"
        fields |= {"level": "warning", "waits": waits}
    telemetry.event("gateway.draining", **fields)


async def _quiet(line: Line) -> None:
    await line.lanes.quiet()
    await line.outbox.quiet()
