"""How a task is followed: over its own interface, out of reach and back, silent, pushed, and resumed by itself."""

from collections.abc import AsyncIterator

from core.agent import Ask, TaskEvent, TaskState
from core.errors import InterfaceGone
from core.store import Disposition, Store
from tests.doubles.agent import FakeAgent, task, task_id
from tests.doubles.world import world
from tests.waiting import until


async def works(ask: Ask) -> AsyncIterator[TaskEvent]:
    """A stream that is cut while the task works."""
    yield task(ask, TaskState.WORKING)


async def asks_back(ask: Ask) -> AsyncIterator[TaskEvent]:
    if ask.task_id:
        yield task(ask, TaskState.COMPLETED, "booked")
    else:
        yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)


async def test_the_interface_that_created_a_task_is_stored_with_it_and_asked_over_restarts(store: Store) -> None:
    agent = FakeAgent(works)
    agent.binding = "JSONRPC/0.3"
    async with world(store, agent) as before:
        await before.says("hi")
        await until(lambda: agent.refs)
    agent = FakeAgent(works)
    agent.tasks = before.agent.tasks
    async with world(store, agent):
        await until(lambda: agent.refs)
    assert agent.refs[0].binding == "JSONRPC/0.3"


async def test_the_answer_to_a_question_goes_over_the_interface_that_asked_it(store: Store) -> None:
    agent = FakeAgent(asks_back)
    agent.binding = "HTTP+JSON/1.0"
    async with world(store, agent) as before:
        await before.says("book")
        await before.plugin.until(1)
    agent.binding = ""
    async with world(store, agent) as after:
        await after.says("Friday", keys=("update:friday",))
        await until(lambda: "booked" in after.plugin.shown())
    assert [ask.binding for ask in agent.asks] == ["", "HTTP+JSON/1.0"]


async def test_a_task_out_of_reach_is_told_once_and_goes_on_when_its_interface_is_back(store: Store) -> None:
    agent = FakeAgent(works)
    async with world(store, agent) as desk:
        await desk.says("hi")
        await until(lambda: agent.tasks)
        id = task_id(agent.asks[0])
        agent.tasks[id] = InterfaceGone("its card no longer names JSONRPC/0.3")
        await until(lambda: len(agent.gets) > 3)
        [turn] = await store.unfinished()
        assert turn.task is not None
        assert turn.task.disposition is Disposition.OUT_OF_REACH
        told = "".join(await desk.plugin.until(2))
        assert told.count("no longer offers the way") == 1
        agent.tasks[id] = task(agent.asks[0], TaskState.COMPLETED, "done")
        await until(lambda: "done" in desk.plugin.shown())
