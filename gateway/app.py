"""The composition root: one process, its parts nested in the order in which they stop.

    telemetry
      store                       closed last: everything writes to it
        client                    the one way out
          listener                /healthz and /readyz from the first moment
            (wait for the store)  a second process stands by here
            tasks                 one visible TaskGroup: lanes, pursuits, previews, outbox, plugins, housekeeping

SIGTERM and SIGINT drain: plugins stop receiving, no new turn begins, turns and attempts at work may finish within
`shutdown_grace`, and what is left is cut off, which the next start takes up. What waits on a remote task is not waited
for, nor for long a store that cannot commit (gateway/draining.py).
"""

import asyncio
import gc
import os
import signal
import socket
from collections.abc import Callable

from config.settings import GatewaySettings, Settings
from core.clock import Clock, SystemClock
from core.doors.outbound import GuardedClient
from core.errors import ConfigurationError, StoreUnavailable
from core.ids import new_id
from core.persistence import patiently
from core.plugin import Host
from gateway.composition import ConfiguredLine
from gateway.draining import Stop, cut_off, drain
from gateway.files import FolderFiles
from gateway.health import Health
from gateway.listening import listening
from gateway.missing import missing, tell
from gateway.reload import applied, changes
from gateway.sealing import SECRET_KEY, KeySeal
from gateway.store.records import Records
from gateway.store.rules import Policy
from gateway.store.sqlite import SqliteStore
from gateway.supervisor import Supervisor, innermost
from gateway.telemetry import Telemetry, standard_telemetry
from gateway.version import VERSION

STANDBY_SAID = 1.0  # seconds without the store after which the process says that it stands by
HOUSEKEEPING = 60.0  # seconds between two looks at what may be removed


def run(settings: Settings, reread: Callable[[], Settings]) -> int:
    """Serve until told to stop; the process's exit code. `reread` gives the settings anew, on SIGHUP."""
    telemetry = standard_telemetry(
        level=settings.gateway.log_level,
        form=settings.gateway.log_format,
        secrets=settings.secrets(),
        version=VERSION,
    )
    with telemetry:
        telemetry.route_logging()
        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                runner.run(_serve(settings, reread, telemetry))
        except (ConfigurationError, OSError, ExceptionGroup) as failure:
            error = innermost(failure)
            if not isinstance(error, ConfigurationError | OSError):
                raise
            telemetry.event("gateway.failed", level="error", error=str(error))
            return 2 if isinstance(error, ConfigurationError) else 1
    return 0


async def _serve(settings: Settings, reread: Callable[[], Settings], telemetry: Telemetry) -> None:
    clock, holder, stop = SystemClock(), new_id(), Stop(telemetry)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.signalled, number)
    public_url = settings.gateway.public_url
    files, store = _files(settings.gateway, clock), _store(settings.gateway, clock)
    try:
        async with cut_off(stop, store, telemetry), store, GuardedClient() as client, asyncio.TaskGroup() as tasks:
            seal = KeySeal(SECRET_KEY.ensure(settings.gateway))
            host = Host(
                client, store, store, store, clock, holder, public_url, telemetry=telemetry, files=files, seal=seal
            )
            line = ConfiguredLine(settings, store, host, tasks)
            supervisor = Supervisor(clock, telemetry)
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _reload, line, supervisor, reread, telemetry)
            health = Health(lambda: store.healthy, supervisor.states, lambda: store.holder, pressure=line.pressure)
            async with listening(line, supervisor, health, telemetry) as where:
                if await _held(store, where, stop, telemetry):
                    await _work(line, files, supervisor, health, stop, tasks, telemetry)
            raise _Stopped
    except* _Stopped:
        telemetry.event("gateway.stopped")


def _files(gateway: GatewaySettings, clock: Clock) -> FolderFiles:
    bounds = {"limit": gateway.file_limit, "total": gateway.files_limit}
    return FolderFiles(gateway.files, clock, retention=gateway.retention, **bounds)


def _store(gateway: GatewaySettings, clock: Clock) -> SqliteStore:
    policy = Policy(gateway.delivery_max_age, gateway.dedupe_horizon, gateway.retention)
    return SqliteStore(gateway.database, policy=policy, busy_timeout=gateway.busy_timeout, clock=clock)


def _reload(line: ConfiguredLine, supervisor: Supervisor, reread: Callable[[], Settings], telemetry: Telemetry) -> None:
    try:
        new = reread()
        found, gone = changes(line.settings, new, line.live), sorted(line.settings.plugins.keys() - new.plugins.keys())
        line.change(applied(line.settings, new), found.agents)
    except ConfigurationError as error:
        telemetry.event("configuration.refused", level="warning", error=str(error))
        return
    telemetry.hide(new.secrets())
    supervisor.revive()
    telemetry.event(
        "configuration.reread",
        level="warning" if found.restart else "info",  # what was taken away, a caller's key say, still counts
        changed=[*found.live, *found.agents],
        needs_restart=list(found.restart),
        **({"still_served": gone} if gone else {}),
    )


class _Stopped(Exception):
    """Ends the TaskGroup: what still waits on remote tasks is cut off, and taken up by the next start."""


async def _held(store: SqliteStore, where: str, stop: Stop, telemetry: Telemetry) -> bool:
    """Wait until this process holds the store; False when it was told to stop first."""
    said = f"process {os.getpid()} on {socket.gethostname()} at {where}"
    holding, stopping = asyncio.ensure_future(store.hold(said)), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({holding, stopping}, return_when=asyncio.FIRST_COMPLETED, timeout=STANDBY_SAID)
        if not holding.done() and not stop.is_set():
            telemetry.event("gateway.standing_by", level="warning", reason=store.healthy)
            await asyncio.wait({holding, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if holding.done():
            await holding
        return holding.done()
    finally:
        for waiting in (holding, stopping):
            waiting.cancel()


async def _work(
    line: ConfiguredLine,
    files: FolderFiles,
    supervisor: Supervisor,
    health: Health,
    stop: Stop,
    tasks: asyncio.TaskGroup,
    telemetry: Telemetry,
) -> None:
    records = Records(line.store)
    health.missing = await patiently(lambda: missing(records, line.delegates, line.plugins), telemetry)
    tell(health.missing, telemetry)
    recovered = await line.recover()
    telemetry.event("gateway.started", **recovered, plugins=len(line.plugins), agents=len(line.delegates))
    receiving = [_receive(line, supervisor, tasks, name) for name in line.plugins]
    housekeeping = tasks.create_task(_keep_house(line, files, telemetry), name="housekeeping")
    health.is_listening = True
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    await stop.wait()
    await drain(line, health, [*receiving, housekeeping], telemetry)


def _receive(line: ConfiguredLine, supervisor: Supervisor, tasks: asyncio.TaskGroup, name: str) -> asyncio.Task[None]:
    plugin = line.plugins[name]
    return supervisor.start(tasks, name, lambda: plugin.run(line.intake(name)), report=lambda: plugin.health)


async def _keep_house(line: ConfiguredLine, files: FolderFiles, telemetry: Telemetry) -> None:
    """Remove what retention no longer keeps, a little at a time."""
    while True:
        await asyncio.sleep(HOUSEKEEPING)
        try:
            removed = await line.store.prune(line.host.clock.now())
        except StoreUnavailable as error:
            telemetry.event("store.unavailable", error=str(error))
        else:
            forgotten = await files.prune(line.host.clock.now())
            if removed or forgotten:
                telemetry.event("store.pruned", rows=removed, files=forgotten)


def _loop_factory() -> "type[asyncio.AbstractEventLoop] | None":
    """uvloop where it can be had: a sixth less CPU for the same work."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.Loop
