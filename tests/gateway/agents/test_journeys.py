"""Local agents in the line: through turns, the store and restarts, to what a person is shown."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from core.clock import SystemClock
from core.plugin import Capabilities
from gateway.agents import Step, Task, Words
from gateway.agents.concierge import Concierge
from gateway.agents.echo import Echo
from gateway.agents.local import LocalAgent
from gateway.agents.quick import QuickAgent
from gateway.store.sqlite.engine import SqliteStore
from tests.doubles.plugin import FakePlugin
from tests.doubles.world import World, world
from tests.waiting import until


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with SqliteStore(tmp_path / "frontdesk.db") as store:
        await store.hold()
        yield store


@asynccontextmanager
async def line(store: SqliteStore, agent: Any, plugin: FakePlugin | None = None) -> AsyncIterator[World]:
    """One process with this agent; what is at work at its end is cut off."""
    async with asyncio.TaskGroup() as tasks:
        if hasattr(agent, "work"):
            agent = LocalAgent("agent", agent, store, SystemClock(), tasks)
        async with world(store, agent, plugin, resubmits=True) as there:
            yield there
        for left in asyncio.all_tasks():
            if left.get_name().startswith("agent "):
                left.cancel()


async def test_an_echo_comes_back_and_leaves_no_state(store: SqliteStore) -> None:
    async with line(store, QuickAgent("agent", Echo())) as there:
        await there.says("hello")
        assert await there.plugin.until(1) == ["hello"]
    assert await store.read("agents/agent", "task/x") is None


async def test_a_question_is_asked_and_the_next_message_answers_it_even_after_a_restart(store: SqliteStore) -> None:
    async with line(store, Concierge(pace=0)) as there:
        await there.says("book a table")
        assert await there.plugin.until(1) == ["For which day?"]
        await until(lambda: there.outbox.at_work == 0)
    async with line(store, Concierge(pace=0)) as there:
        await there.says("Friday", keys=("update:2",))
        booked = "Your table is booked for Friday. Enjoy your meal!"
        await until(lambda: "".join(there.plugin.shown()) == booked)


async def test_a_count_cut_by_a_restart_is_shown_once_and_whole(store: SqliteStore) -> None:
    plugin = FakePlugin(Capabilities(previews=True, preview_interval=0.01))
    async with line(store, Concierge(pace=0.005), plugin) as there:
        await there.says("count to 60")
        await until(lambda: any(" 20" in frame.text for frame in plugin.frames))
    assert plugin.shown() == []
    async with line(store, Concierge(pace=0), plugin):
        whole = "".join(map(str, range(1, 61)))
        await until(lambda: "".join(plugin.shown()).replace(" ", "") == whole)


async def test_a_count_is_cancelled_by_the_person(store: SqliteStore) -> None:
    async with line(store, Concierge(pace=30)) as there:
        await there.says("count to 30")
        await until(lambda: there.tracker.at_work)
        await there.says("/cancel")
        shown = await there.plugin.until(2)
    assert sorted(shown) == ["Cancelled.", "I am asking the agent to stop."]


async def test_work_that_cannot_be_resumed_is_told_to_be_lost_once(store: SqliteStore) -> None:
    class Fragile:
        resumable = False
        begun = 0

        async def work(self, task: Task) -> AsyncIterator[Step]:
            self.begun += 1
            yield Words("one")
            await asyncio.Event().wait()

    fragile, plugin = Fragile(), FakePlugin()
    async with line(store, fragile, plugin) as there:
        await there.says("go")
        await until(lambda: fragile.begun)
    async with line(store, fragile, plugin):
        await plugin.until(1)
        assert "".join(plugin.shown()).startswith("This was interrupted by a restart")
    assert fragile.begun == 1
