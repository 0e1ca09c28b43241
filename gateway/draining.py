"""The end of a line: nothing new begins, and what is at work may finish within the grace.

Two things end it earlier. A second signal ends the process at once. And while the store cannot commit nothing can
finish, nor can its file be closed in order, so a stop waits for it no longer than STORE_PATIENCE. Either is no worse
than a kill: what was accepted is on the disk, and the next start takes it up.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from typing import NoReturn, Protocol

from gateway.composition import ConfiguredLine
from gateway.health import Health
from gateway.telemetry import Telemetry

STORE_PATIENCE = 5.0  # seconds; a database locked for a backup is mostly free again by then
GLANCE = 0.1  # seconds between two looks at the store during a stop


class Stop(asyncio.Event):
    """Set by the first signal."""

    def __init__(self, telemetry: Telemetry) -> None:
        super().__init__()
        self._telemetry = telemetry

    def signalled(self, number: signal.Signals) -> None:
        """From the second one on the signal does what it does to a process that does not mind it."""
        if self.is_set():
            self._telemetry.event("gateway.ended_at_once", level="warning", signal=number.name)
            self._telemetry.close()
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self.set()


class Store(Protocol):
    @property
    def healthy(self) -> str | None: ...

    @property
    def waiting(self) -> int: ...


@contextlib.asynccontextmanager
async def cut_off(stop: Stop, store: Store, telemetry: Telemetry) -> AsyncIterator[None]:
    """Ends the process, with exit code 1, when a store that cannot commit holds up the stop."""
    watching = asyncio.create_task(_watch(stop, store, telemetry), name="stop")
    try:
        yield
    finally:
        watching.cancel()


async def _watch(stop: Stop, store: Store, telemetry: Telemetry) -> NoReturn:
    await stop.wait()
    loop = asyncio.get_running_loop()
    well = loop.time()
    while True:
        if not (trouble := store.healthy):
            well = loop.time()
        elif loop.time() - well >= STORE_PATIENCE:
            error = f"the store could not commit for {STORE_PATIENCE:g} s ({trouble}), so the stop did not wait for it"
            remedy = "give its disk room, or free its lock; the next start takes up what was at work"
            telemetry.event("gateway.cut_off", level="error", error=error, remedy=remedy, writes=store.waiting)
            telemetry.close()
            os._exit(1)  # a thread that waits for the disk cannot be ended, and an ordinary end would wait for it
        await asyncio.sleep(GLANCE)


async def drain(
    line: ConfiguredLine, health: Health, receiving: list[asyncio.Task[None]], telemetry: Telemetry
) -> None:
    """Let what is at work finish, within the grace."""
    health.is_draining = True
    _say_draining(line, telemetry)
    for task in receiving:
        task.cancel()
    line.lanes.stop()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(line.settings.gateway.shutdown_grace):
            await _quiet(line)
    line.outbox.stop()
    telemetry.event("gateway.drained", turns=line.lanes.running, attempts=line.outbox.at_work)


def _say_draining(line: ConfiguredLine, telemetry: Telemetry) -> None:
    """Who waits at a terminal is told for what, and how not to."""
    turns, attempts = line.lanes.running, line.outbox.at_work
    fields: dict[str, object] = {"turns": turns, "attempts": attempts}
    if turns or attempts:
        waits = f"up to {line.settings.gateway.shutdown_grace:g} s; a second Ctrl-C or SIGTERM ends at once"
        fields |= {"level": "warning", "waits": waits}
    telemetry.event("gateway.draining", **fields)


async def _quiet(line: ConfiguredLine) -> None:
    await line.lanes.quiet()
    await line.outbox.quiet()
