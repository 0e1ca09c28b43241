"""A plugin that fails is started again with back-off, and nobody else notices."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from core.errors import ConfigurationError
from core.telemetry import Silent
from gateway.supervisor import (
    HEALTHY_AFTER,
    LONGEST_DELAY,
    PluginState,
    RestartDecision,
    Supervisor,
    decide_restart,
)
from tests.doubles.clock import ManualClock
from tests.doubles.events import Events
from tests.fakes.serving import Changes
from tests.waiting import within

Run = Callable[[], Awaitable[None]]


class Said(Events):
    """Wakes whoever waits for what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.changes = Changes()

    def event(self, name: str, /, **fields: object) -> None:
        super().event(name, **fields)
        self.changes.mark()


class Plugin:
    """A run that fails as often as it is told, then works until cancelled."""

    def __init__(self, *failures: Exception | None) -> None:
        self.failures, self.tries, self.works = list(failures), 0, asyncio.Event()

    async def run(self) -> None:
        self.tries += 1
        if self.failures:
            failure = self.failures.pop(0)
            if failure is not None:
                raise failure
            return
        self.works.set()
        await asyncio.Event().wait()

    async def until_it_works(self) -> None:
        async with within(10):
            await self.works.wait()


@asynccontextmanager
async def supervised(supervisor: Supervisor, **plugins: Run) -> AsyncIterator[dict[str, asyncio.Task[None]]]:
    """The plugins at work, until the block ends."""
    async with asyncio.TaskGroup() as tasks:
        started = {name: supervisor.start(tasks, name, run) for name, run in plugins.items()}
        try:
            yield started
        finally:
            for task in started.values():
                task.cancel()


def at_once(error: BaseException | None, failures: int, uptime: float, jitter: float) -> RestartDecision:
    """The real policy, without its waiting."""
    decision = decide_restart(error, failures, uptime, jitter)
    return RestartDecision(decision.failures, None if decision.delay is None else 0.0)


def test_the_delay_doubles_from_a_second_to_a_minute() -> None:
    delays = [decide_restart(OSError(), failures, 0.0, 1.0).delay for failures in range(8)]
    assert delays == [1, 2, 4, 8, 16, 32, LONGEST_DELAY, LONGEST_DELAY]
    assert decide_restart(OSError(), 10**6, 0.0, 1.0).delay == LONGEST_DELAY


def test_half_of_the_delay_is_random_so_that_accounts_do_not_return_together() -> None:
    assert [decide_restart(OSError(), 3, 0.0, jitter).delay for jitter in (0.0, 0.5, 1.0)] == [4, 6, 8]


def test_a_plugin_that_worked_for_a_while_starts_its_back_off_anew() -> None:
    assert decide_restart(OSError(), 6, HEALTHY_AFTER, 1.0) == RestartDecision(1, 1.0)


def test_a_wrong_setting_is_not_tried_again() -> None:
    assert decide_restart(ConfigurationError("wrong token"), 0, 0.0, 1.0).delay is None


@pytest.mark.case("T84")
@pytest.mark.case("F34")
async def test_a_failing_plugin_is_started_again_and_the_others_stay_as_they_are(clock: ManualClock) -> None:
    bad, good = Plugin(OSError("no network"), None, KeyError("x")), Plugin()
    supervisor = Supervisor(clock, Silent(), policy=at_once)
    async with supervised(supervisor, bad=bad.run, good=good.run):
        await bad.until_it_works()
        await good.until_it_works()
        states = supervisor.states()
    assert (bad.tries, good.tries) == (4, 1)
    assert (states["bad"].state, states["bad"].restarts) == (PluginState.RUNNING, 3)
    assert (states["good"].state, states["good"].restarts) == (PluginState.RUNNING, 0)


@pytest.mark.case("T84")
async def test_while_it_waits_the_state_says_why_and_until_when(clock: ManualClock) -> None:
    plugin, said = Plugin(OSError("no network")), Said()
    supervisor = Supervisor(clock, said, jitter=lambda: 1.0)
    async with supervised(supervisor, bad=plugin.run):
        await said.changes.until(lambda: said.seen)
        health = supervisor.states()["bad"]
    assert (health.state, health.reason) == (PluginState.RESTARTING, "OSError: no network")
    assert health.next_try == clock.now() + 1.0
    failed = said.of("plugin.failed")[0]
    assert (failed["plugin"], failed["outcome"], failed["retry_in"]) == ("bad", "restarting", 1.0)


async def test_a_plugin_stopped_by_a_wrong_setting_waits_for_somebody_to_change_it(clock: ManualClock) -> None:
    plugin, said = Plugin(ConfigurationError("the token is wrong; set plugins.bad.token")), Said()
    supervisor = Supervisor(clock, said, policy=at_once)
    async with supervised(supervisor, bad=plugin.run):
        await said.changes.until(lambda: said.seen)
        health = supervisor.states()["bad"]
        assert (health.state, health.next_try) == (PluginState.STOPPED, None)
        assert "the token is wrong" in health.reason
        supervisor.revive()
        await plugin.until_it_works()
    assert plugin.tries == 2


async def test_a_wrong_setting_found_inside_a_plugins_own_tasks_is_recognised(clock: ManualClock) -> None:
    plugin, said = Plugin(ExceptionGroup("tasks", [ConfigurationError("the token is wrong")])), Said()
    supervisor = Supervisor(clock, said, policy=at_once)
    async with supervised(supervisor, bad=plugin.run):
        await said.changes.until(lambda: said.seen)
        assert supervisor.states()["bad"].state is PluginState.STOPPED


async def test_a_stray_cancellation_inside_a_plugin_is_a_failure_and_not_its_end(clock: ManualClock) -> None:
    plugin = Plugin()

    async def strayed() -> None:
        if plugin.tries == 0:
            plugin.tries += 1
            raise asyncio.CancelledError
        await plugin.run()

    async with supervised(Supervisor(clock, Silent(), policy=at_once), bad=strayed):
        await plugin.until_it_works()


async def test_the_end_of_the_process_cancels_every_plugin_and_each_task_has_its_name(clock: ManualClock) -> None:
    plugin = Plugin()
    supervisor = Supervisor(clock, Silent())
    async with supervised(supervisor, nest=plugin.run) as tasks:
        await plugin.until_it_works()
        assert tasks["nest"].get_name() == "plugin nest"
    assert tasks["nest"].cancelled()


async def test_a_plugins_own_word_is_passed_on(clock: ManualClock) -> None:
    supervisor, plugin = Supervisor(clock, Silent()), Plugin()
    async with asyncio.TaskGroup() as tasks:
        task = supervisor.start(tasks, "nest", plugin.run, report=lambda: {"state": "polling"})
        task.cancel()
    assert supervisor.report("nest") == {"state": "polling"}
    with pytest.raises(KeyError):
        supervisor.report("other")
