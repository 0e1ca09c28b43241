"""Where agents may push: kept with the turn that made it, found with its task, gone when it is closed."""

from dataclasses import replace

from core.agent import TaskState
from core.push import PushTarget
from core.turn import Observation, TurnEnd, TurnState
from tests.store.line import Line, asking, task


def target(turn: str, id: str = "p1") -> PushTarget:
    return PushTarget(id, "agent", turn, b"digest")


async def test_a_target_is_found_before_its_agent_named_the_task(line: Line) -> None:
    turn = await line.begin(await line.say())
    await line.store.open_push(target(turn.id))

    [found] = await line.store.push_targets()
    assert (found.id, found.turn, found.digest, found.task_id) == ("p1", turn.id, b"digest", "")


async def test_a_target_knows_its_task_and_the_newest_turn_about_it(line: Line) -> None:
    first = await line.begin(await line.say())
    await line.store.open_push(replace(target(first.id), agent=first.agent))
    await line.observe(asking(first, task_id="t1"))
    second = await line.begin(await line.say("Friday"))
    done = task(second, TaskState.WORKING, task_id="t1")
    await line.observe(Observation(turn=second, task=done, end=TurnEnd(TurnState.WAITING)))

    [found] = await line.store.push_targets()
    assert (found.turn, found.task_id) == (second.id, "t1")


async def test_a_closed_target_is_gone_and_the_others_stay(line: Line) -> None:
    turn = await line.begin(await line.say())
    for id in ("p1", "p2"):
        await line.store.open_push(target(turn.id, id))
    await line.store.close_push("p1")
    await line.store.close_push("p1")

    assert [found.id for found in await line.store.push_targets()] == ["p2"]


async def test_a_task_keeps_the_interface_that_created_it(line: Line) -> None:
    turn = await line.begin(await line.say())
    known = replace(task(turn, TaskState.INPUT_REQUIRED, task_id="t1"), binding="HTTP+JSON/0.3")
    end = TurnEnd(TurnState.COMPLETED, waits_for_input=True)
    await line.observe(Observation(turn=turn, task=known, end=end))
    answer = await line.begin(await line.say("Friday"))

    assert answer.task is not None
    assert answer.task.binding == "HTTP+JSON/0.3"
