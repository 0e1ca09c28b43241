"""The watch over a task that waits for a sign-in ends with its question, however the watch before it ended."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import cast

from core.agent import Snapshot, TaskRef, TaskState
from core.clock import SystemClock
from core.helm import Delegate, Helm
from core.identity import Address, Source
from core.turn import RemoteTask, Turn
from core.vigil import Vigils
from tests.doubles.agent import FakeAgent
from tests.doubles.events import Events
from tests.doubles.world import SOON
from tests.waiting import until, within

DEMAND = Snapshot("task", "context", TaskState.AUTH_REQUIRED)
PATIENCE = 20.0  # seconds


class SlowAtFirst(FakeAgent):
    """Its first answer to a get waits for `gate`."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.tasks["task"] = DEMAND

    async def get(self, task: TaskRef) -> Snapshot:
        found = await super().get(task)
        if len(self.gets) == 1:
            await self.gate.wait()
        return found


def asking(id: str) -> Turn:
    address = Address(Source("fake", "desk"), "ann")
    known = RemoteTask("task", "context", TaskState.AUTH_REQUIRED)
    return Turn(id, "thread", "session", "owner", "7", address, True, "agent", (), id, 0.0, "context", task=known)


async def test_a_demand_that_came_again_while_its_agent_was_slow_is_watched_until_it_is_closed() -> None:
    agent, watches, roused = SlowAtFirst(), list[asyncio.Future[None]](), list[str]()

    def spawn(work: Callable[[], Awaitable[None]], name: str) -> None:
        watches.append(asyncio.ensure_future(work()))

    async def rouse(turn: str) -> None:
        roused.append(turn)

    helm = SimpleNamespace(
        delegate=lambda _: Delegate(agent), telemetry=Events(), clock=SystemClock(), patience=SOON, spawn=spawn
    )
    vigils = Vigils(cast(Helm, helm), rouse)
    vigils.keep(asking("first"))
    await until(lambda: agent.gets)
    vigils.keep(asking("second"))
    agent.gate.set()
    async with within(PATIENCE):
        await watches[0]
        vigils.end_of_task("agent", "task")
        agent.tasks["task"] = Snapshot("task", "context", TaskState.COMPLETED)
        await watches[1]
    assert roused == []
