"""Keeps each plugin running on its own: one that fails is started again with back-off, and the others do not notice.

A plugin that fails because a setting is wrong is not tried again: trying cannot mend it, and a vendor that sees the
same wrong token every minute blocks the address. It stays stopped, with the reason in its state, until somebody changes
the configuration (`revive`) or restarts the gateway.
"""

import asyncio
import contextlib
import random
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from core.clock import Clock, Instant
from core.errors import ConfigurationError, FrontdeskError
from core.telemetry import Telemetry

FIRST_DELAY = 1.0  # seconds
LONGEST_DELAY = 60.0  # seconds; a vendor that comes back is noticed within a minute
HEALTHY_AFTER = 120.0  # seconds at work after which an earlier failure is forgotten
REASON_LIMIT = 500  # characters of an error kept for the operator


class PluginState(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    RESTARTING = "restarting"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class PluginHealth:
    state: PluginState
    since: Instant
    reason: str = ""  # why it is restarting or stopped
    restarts: int = 0  # since the process began
    next_try: Instant | None = None

    @property
    def is_up(self) -> bool:
        return self.state in (PluginState.STARTING, PluginState.RUNNING)


@dataclass(frozen=True, slots=True)
class RestartDecision:
    failures: int  # in a row, the present one included
    delay: float | None  # seconds; None: not before somebody changes the configuration


def decide_restart(error: BaseException | None, failures: int, uptime: float, jitter: float) -> RestartDecision:
    """What to do after a plugin ended, by `error` or by itself (None).

    `failures` in a row before, `uptime` in seconds, `jitter` from 0 to 1. The delay doubles, and half
    of it is random, so that accounts that failed together do not return together.
    """
    if isinstance(error, ConfigurationError):
        return RestartDecision(failures + 1, None)
    failures = 1 if uptime >= HEALTHY_AFTER else failures + 1
    full = min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(failures - 1, 16))
    return RestartDecision(failures, full * (0.5 + jitter / 2))


RestartPolicy = Callable[[BaseException | None, int, float, float], RestartDecision]


@dataclass(slots=True)
class _Charge:
    """One plugin in the supervisor's care."""

    name: str
    run: Callable[[], Awaitable[None]]
    health: PluginHealth
    report: Callable[[], Mapping[str, object]] | None
    revived: asyncio.Event = field(default_factory=asyncio.Event)


class Supervisor:
    """`start` puts a plugin into the caller's task group, where its task is named and its end is seen."""

    def __init__(
        self,
        clock: Clock,
        telemetry: Telemetry,
        *,
        policy: RestartPolicy | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._clock, self._telemetry, self._jitter = clock, telemetry, jitter
        self._decide = policy or decide_restart
        self._charges: dict[str, _Charge] = {}

    def start(
        self,
        tasks: asyncio.TaskGroup,
        name: str,
        run: Callable[[], Awaitable[None]],
        *,
        report: Callable[[], Mapping[str, object]] | None = None,
    ) -> asyncio.Task[None]:
        """`run` is called anew for each try; `report` is the plugin's own word on how it is doing."""
        health = PluginHealth(PluginState.STARTING, self._clock.now())
        charge = self._charges[name] = _Charge(name, run, health, report)
        return tasks.create_task(self._keep(charge), name=f"plugin {name}")

    def revive(self) -> None:
        """Try every stopped or waiting plugin now."""
        for charge in self._charges.values():
            charge.revived.set()

    def states(self) -> dict[str, PluginHealth]:
        return {name: charge.health for name, charge in self._charges.items()}

    def report(self, name: str) -> Mapping[str, object]:
        """What the plugin itself says of its connection, {} when nothing. Raises KeyError for an unknown plugin."""
        charge = self._charges[name]
        return charge.report() if charge.report else {}

    async def _keep(self, charge: _Charge) -> None:
        failures = 0
        while True:
            begun = self._clock.monotonic()
            charge.revived.clear()
            error = await self._try(charge)
            decision = self._decide(error, failures, self._clock.monotonic() - begun, self._jitter())
            failures = decision.failures
            self._failed(charge, error, decision)
            await self._wait(charge, decision.delay)

    async def _try(self, charge: _Charge) -> BaseException | None:
        self._become(charge, PluginState.RUNNING)
        try:
            await charge.run()
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return error  # something inside was cancelled, not this plugin: a failure like any other
        except Exception as error:
            return innermost(error)
        return None

    def _failed(self, charge: _Charge, error: BaseException | None, decision: RestartDecision) -> None:
        reason = _reason(error)
        if decision.delay is None:
            self._become(charge, PluginState.STOPPED, reason)
        else:
            self._become(charge, PluginState.RESTARTING, reason, decision.delay)
        self._telemetry.event(
            "plugin.failed",
            level="warning" if decision.delay is not None else "error",
            plugin=charge.name,
            outcome=charge.health.state.value,
            error=reason,
            failures=decision.failures,
            retry_in=decision.delay,
            traceback=_trace(error),
        )

    @staticmethod
    async def _wait(charge: _Charge, delay: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(delay):
                await charge.revived.wait()

    def _become(self, charge: _Charge, state: PluginState, reason: str = "", delay: float | None = None) -> None:
        now, before = self._clock.now(), charge.health
        restarts = before.restarts + (state is PluginState.RUNNING and before.state is not PluginState.STARTING)
        charge.health = PluginHealth(state, now, reason, restarts, None if delay is None else now + delay)


def innermost(error: Exception) -> Exception:
    """The one failure inside a task group's wrapping; a group of several stays one."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _reason(error: BaseException | None) -> str:
    if error is None:
        return "it ended by itself"
    words = str(error) or (type(error).__doc__ or "").partition("\n")[0]
    return f"{type(error).__name__}: {words}"[:REASON_LIMIT]


def _trace(error: BaseException | None) -> str:
    """Where an unexpected error came from; our own errors say all in their words."""
    if error is None or isinstance(error, FrontdeskError):
        return ""
    return "".join(traceback.format_exception(error, limit=-6))
