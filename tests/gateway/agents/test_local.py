"""How tasks of local agents can be left, found, continued, cancelled, and gone on with after a restart."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise

import pytest

from core.agent import ArtifactUpdate, Ask, Snapshot, TaskRef, TaskState
from core.errors import Declined, NotAccepted, TaskEnded, TaskUnknown, Unreachable
from core.parts import Text, text_of
from gateway.agents import Checkpoint, Question, Step, Task, Words
from gateway.agents.known import RESTED_KEPT
from tests.gateway.agents.world import Memory, all_of, ask, last_of, life, outcome, ref, until_said, words
from tests.waiting import until


class Scripted:
    """Yields what it is given, and waits where an Event stands in between."""

    def __init__(self, *script: Step | asyncio.Event | Exception, resumable: bool = True) -> None:
        self.script, self.resumable, self.tasks = script, resumable, list[Task]()
        self.cancelled = 0

    async def work(self, task: Task) -> AsyncIterator[Step]:
        self.tasks.append(task)
        try:
            for step in self.script[task.state.get("next", 0) :]:
                if isinstance(step, asyncio.Event):
                    await step.wait()
                elif isinstance(step, Exception):
                    raise step
                else:
                    yield step
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


def waiting() -> asyncio.Event:
    return asyncio.Event()


async def test_an_answer_is_streamed_and_ends_as_a_whole() -> None:
    gate = waiting()
    async with life(Scripted(Words("Good "), gate, Words("day")), Memory()) as local:
        stream = local.send(ask("hello"))
        first = await anext(stream)
        gate.set()
        rest = [event async for event in stream]
    assert isinstance(first, Snapshot)
    assert outcome(first) == (TaskState.WORKING, "Good ")
    assert [text_of(e.artifact.parts) for e in rest if isinstance(e, ArtifactUpdate) and e.append] == ["day"]
    assert isinstance(rest[-1], Snapshot)
    assert outcome(rest[-1]) == (TaskState.COMPLETED, "Good day")


@pytest.mark.case("T73")
async def test_an_agent_is_told_which_parts_are_forwarded_after_a_restart_too() -> None:
    memory, gate = Memory(), waiting()
    agent = Scripted(Checkpoint({"next": 1}), gate, Words("done"))
    said = replace(ask("hello"), forwarded=(0,))
    async with life(agent, memory) as local:
        stream = local.send(said)
        task = ref(await anext(stream))
        await until(lambda: memory.kept)
    gate.set()
    async with life(agent, memory) as local:
        await last_of(local.subscribe(task))
    assert [known.forwarded for known in agent.tasks] == [(0,), (0,)]


async def test_an_agent_that_never_waits_does_not_hold_up_the_others() -> None:
    class Endless:
        resumable = False

        async def work(self, task: Task) -> AsyncIterator[Step]:
            while task.text == "on and on":
                yield Words("")
            yield Words("done")

    async with life(Endless(), Memory()) as local:
        endless = local.send(ask("on and on", "m1"))
        await anext(endless)
        held = asyncio.ensure_future(anext(endless))
        assert outcome(await last_of(local.send(ask("short", "m2")))) == (TaskState.COMPLETED, "done")
        held.cancel()


async def test_a_resumable_task_done_in_a_moment_is_said_at_once_and_leaves_nothing_in_the_store() -> None:
    memory = Memory()
    async with life(Scripted(Words("Good "), Words("day")), memory) as local:
        events = await all_of(local.send(ask("hello")))
    assert [type(event) for event in events] == [Snapshot]
    assert memory.writes == 0


async def test_a_conversation_goes_on_as_it_was_named_and_gets_a_new_name_where_it_had_none() -> None:
    async with life(Scripted(Words("yes")), Memory()) as local:
        first = await last_of(local.send(ask("one", "m1")))
        other = await last_of(local.send(ask("two", "m2")))
        again = await last_of(local.send(Ask("m3", (Text("three"),), first.context_id)))
    assert first.context_id == again.context_id != other.context_id
    assert len({first.task_id, other.task_id, again.task_id}) == 3


async def test_a_message_sent_again_does_not_do_the_work_twice() -> None:
    gate = waiting()
    agent = Scripted(gate, Words("once"))
    async with life(agent, Memory()) as local:
        running = await anext(local.send(ask("work", "m1")))
        gate.set()
        ended = await last_of(local.send(ask("work", "m1")))
        after = await last_of(local.send(ask("work", "m1")))
    assert ref(running) == ref(ended) == ref(after)
    assert words(ended) == words(after) == "once"
    assert len(agent.tasks) == 1


async def test_the_work_goes_on_when_its_reader_leaves_and_another_one_joins_it() -> None:
    gate = waiting()
    async with life(Scripted(Words("one "), gate, Words("two")), Memory()) as local:
        task = await until_said(local.send(ask("work")), "one ")
        joined = local.subscribe(task)
        first = await anext(joined)
        gate.set()
        end = [event async for event in joined][-1]
    assert isinstance(first, Snapshot)
    assert words(first) == "one "
    assert isinstance(end, Snapshot)
    assert outcome(end) == (TaskState.COMPLETED, "one two")


async def test_get_shows_a_task_while_it_works_and_after_it_ended() -> None:
    gate = waiting()
    async with life(Scripted(Words("one "), gate), Memory()) as local:
        task = await until_said(local.send(ask("work")), "one ")
        during = await local.get(task)
        gate.set()
        await all_of(local.subscribe(task))
        after = await local.get(task)
    assert outcome(during) == (TaskState.WORKING, "one ")
    assert outcome(after) == (TaskState.COMPLETED, "one ")


async def test_an_ended_task_cannot_be_joined_cancelled_or_continued() -> None:
    async with life(Scripted(Words("done")), Memory()) as local:
        task = ref(await last_of(local.send(ask("work"))))
        with pytest.raises(TaskEnded):
            await all_of(local.subscribe(task))
        with pytest.raises(TaskEnded):
            await local.cancel(task)
        with pytest.raises(TaskEnded):
            await all_of(local.send(ask("more", "m2", task)))


async def test_an_unknown_task_is_unknown() -> None:
    nobody = TaskRef("task-nobody", "c")
    async with life(Scripted(), Memory()) as local:
        with pytest.raises(TaskUnknown):
            await local.get(nobody)
        with pytest.raises(TaskUnknown):
            await all_of(local.subscribe(nobody))
        with pytest.raises(TaskUnknown):
            await local.cancel(nobody)
        with pytest.raises(TaskUnknown):
            await all_of(local.send(ask("more", "m2", nobody)))


async def test_what_an_agent_raises_fails_its_task_and_no_other() -> None:
    async with life(Scripted(Words("so far"), RuntimeError("broken")), Memory()) as local:
        failed = await last_of(local.send(ask("work", "m1")))
        assert outcome(failed) == (TaskState.FAILED, "so far")
        assert (await last_of(local.send(ask("work", "m2")))).state is TaskState.FAILED


async def test_a_step_that_is_none_fails_the_task() -> None:
    async with life(Scripted("words"), Memory()) as local:  # type: ignore[arg-type]
        assert (await last_of(local.send(ask("work")))).state is TaskState.FAILED


async def test_an_endless_answer_fails_instead_of_filling_the_memory() -> None:
    flood = Scripted(*[Words("x" * 300_000)] * 4)
    async with life(flood, Memory()) as local:
        ended = await last_of(local.send(ask("work")))
    assert ended.state is TaskState.FAILED
    assert len(words(ended)) == 900_000


# ---------------------------------------------------------------------------------------------- restarts


async def test_a_resumable_task_goes_on_from_its_last_checkpoint_and_its_answer_is_whole() -> None:
    memory, gate = Memory(), waiting()
    agent = Scripted(Words("one "), Checkpoint({"next": 2}), Words("two "), gate, Words("three"))
    async with life(agent, memory) as local:
        task = await until_said(local.send(ask("count")), "one two ")
    gate.set()
    async with life(agent, memory) as local:
        end = await last_of(local.subscribe(task))
    assert outcome(end) == (TaskState.COMPLETED, "one two three")
    assert [task.text for task in agent.tasks] == ["count", "count"]


async def test_a_resumable_task_without_a_checkpoint_begins_anew() -> None:
    memory, gate = Memory(), waiting()
    agent = Scripted(Words("one "), gate, Words("two"))
    async with life(agent, memory) as local:
        task = await until_said(local.send(ask("count")), "one ")
    gate.set()
    async with life(agent, memory) as local:
        assert (await local.get(task)).state is TaskState.WORKING
        end = await last_of(local.subscribe(task))
    assert words(end) == "one two"


async def test_a_task_that_is_not_resumable_is_unknown_after_a_restart_and_never_begun_again() -> None:
    memory, agent = Memory(), Scripted(Words("one "), asyncio.Event(), resumable=False)
    async with life(agent, memory) as local:
        task = await until_said(local.send(ask("count")), "one ")
    async with life(agent, memory) as local:
        with pytest.raises(TaskUnknown):
            await local.get(task)
    assert len(agent.tasks) == 1
    assert memory.writes == 0


async def test_a_task_that_is_not_resumable_begins_only_after_its_caller_noted_it() -> None:
    agent = Scripted(Words("one"), resumable=False)
    async with life(agent, Memory()) as local:
        stream = local.send(ask("work"))
        first = await anext(stream)
        assert isinstance(first, Snapshot)
        assert (first.state, agent.tasks) == (TaskState.WORKING, [])
        end = [event async for event in stream][-1]
    assert isinstance(end, Snapshot)
    assert outcome(end) == (TaskState.COMPLETED, "one")


async def test_nothing_of_a_task_is_kept_once_its_end_was_heard() -> None:
    memory = Memory()
    async with life(Scripted(Words("one"), Checkpoint({"next": 2})), memory) as local:
        await all_of(local.send(ask("work")))
        assert memory.kept == []


async def test_the_record_stays_until_the_reader_asked_for_more_after_the_end() -> None:
    memory = Memory()
    async with life(Scripted(Words("one"), Checkpoint({"next": 2}), Words(" two")), memory) as local:
        stream = local.send(ask("work"))
        end = await anext(stream)
        assert isinstance(end, Snapshot)
        assert end.state is TaskState.COMPLETED
        assert memory.kept == ["task/task-m1"]
    async with life(Scripted(Words("one"), Checkpoint({"next": 2}), Words(" two")), memory) as local:
        assert words(await last_of(local.subscribe(ref(end)))) == "one two"


async def test_ended_tasks_leave_the_memory() -> None:
    async with life(Scripted(Words("done")), Memory()) as local:
        ended = [ref(await last_of(local.send(ask("work", f"m{n}")))) for n in range(RESTED_KEPT + 1)]
        assert local.at_work == 0
        with pytest.raises(TaskUnknown):
            await local.get(ended[0])
        assert (await local.get(ended[-1])).state is TaskState.COMPLETED


# ---------------------------------------------------------------------------------------------- questions


class Baker:
    """Asks twice, and remembers."""

    resumable = True

    async def work(self, task: Task) -> AsyncIterator[Step]:
        match task.state:
            case {"size": size}:
                yield Words(f"{size}, {task.text}: done")
            case {"asked": True}:
                yield Question("Which colour?", {"size": task.text})
            case _:
                yield Words("A cake. ")
                yield Question("Which size?", {"asked": True})


async def test_a_question_rests_the_task_and_the_answer_continues_exactly_it() -> None:
    memory = Memory()
    async with life(Baker(), memory) as local:
        asked = await last_of(local.send(ask("a cake", "m1")))
        again = await last_of(local.send(ask("large", "m2", ref(asked))))
        assert memory.kept == ["task/task-m1", "answer/m2"]
        done = await last_of(local.send(ask("blue", "m3", ref(again))))
        assert memory.kept == []
    assert (asked.state, text_of(asked.message), words(asked)) == (
        TaskState.INPUT_REQUIRED,
        "Which size?",
        "A cake. ",
    )
    assert (again.state, text_of(again.message), words(again)) == (TaskState.INPUT_REQUIRED, "Which colour?", "")
    assert outcome(done) == (TaskState.COMPLETED, "large, blue: done")
    assert ref(asked) == ref(again) == ref(done)


async def test_each_status_is_later_than_the_one_before_though_the_clock_stands() -> None:
    async with life(Baker(), Memory()) as local:
        asked = await last_of(local.send(ask("a cake", "m1")))
        events = await all_of(local.send(ask("large", "m2", ref(asked))))
    times = [asked.time, *(event.time for event in events if isinstance(event, Snapshot))]
    assert len(times) > 2
    assert all(earlier is not None and later is not None and earlier < later for earlier, later in pairwise(times))


async def test_a_question_outlives_a_restart_resumable_or_not() -> None:
    for resumable in (True, False):
        memory, agent = Memory(), Baker()
        agent.resumable = resumable
        async with life(agent, memory) as local:
            task = ref(await last_of(local.send(ask("a cake", "m1"))))
        async with life(agent, memory) as local:
            shown = await local.get(task)
            assert (shown.state, text_of(shown.message)) == (TaskState.INPUT_REQUIRED, "Which size?")
            again = await last_of(local.send(ask("large", "m2", task)))
            assert text_of(again.message) == "Which colour?"


async def test_an_answer_taken_before_a_restart_is_not_taken_twice() -> None:
    memory, gate = Memory(), waiting()
    agent = Scripted(Question("Which?", {"next": 1}), gate, Words("fine"))
    async with life(agent, memory) as local:
        task = ref(await last_of(local.send(ask("work", "m1"))))
        await anext(local.send(ask("this", "m2", task)))
    gate.set()
    async with life(agent, memory) as local:
        found = await local.find(task.context_id, "m2")
        assert found is not None
        assert (ref(found), found.state) == (task, TaskState.WORKING)
        end = await last_of(local.send(ask("this", "m2", task)))
        assert outcome(end) == (TaskState.COMPLETED, "fine")
    assert [task.text for task in agent.tasks] == ["work", "this"]


async def test_a_second_answer_to_one_question_is_declined() -> None:
    async with life(Scripted(Question("Which?", {"next": 1}), asyncio.Event()), Memory()) as local:
        task = ref(await last_of(local.send(ask("work", "m1"))))
        await anext(local.send(ask("this", "m2", task)))
        with pytest.raises(Declined):
            await all_of(local.send(ask("that", "m3", task)))


# ---------------------------------------------------------------------------------------------- cancel, find, trouble


async def test_a_cancel_ends_the_work_and_keeps_what_was_said() -> None:
    agent, memory = Scripted(Words("one "), Checkpoint({"next": 2}), asyncio.Event()), Memory()
    async with life(agent, memory) as local:
        stream = local.send(ask("work"))
        first = await anext(stream)
        said = await local.cancel(ref(first))
        end = [event async for event in stream][-1]
    assert said == end
    assert said is not None
    assert outcome(said) == (TaskState.CANCELED, "one ")
    assert agent.cancelled == 1
    assert memory.kept == []


async def test_a_task_cancelled_before_it_began_never_begins() -> None:
    agent = Scripted(Words("one"), resumable=False)
    async with life(agent, Memory()) as local:
        stream = local.send(ask("work"))
        said = await local.cancel(ref(await anext(stream)))
        await all_of(stream)
    assert said is not None
    assert said.state is TaskState.CANCELED
    assert agent.tasks == []


async def test_a_task_cancelled_at_the_very_start_ends_cancelled() -> None:
    agent = Scripted(asyncio.Event())
    async with life(agent, Memory()) as local:
        sending = asyncio.ensure_future(last_of(local.send(ask("work"))))
        for _ in range(3):  # up to where the worker was made, and not run
            await asyncio.sleep(0)
        assert local.at_work == 1
        said = await local.cancel(TaskRef("task-m1", ""))
        assert said is not None
        assert (said.state, (await sending).state) == (TaskState.CANCELED, TaskState.CANCELED)


async def test_an_open_question_can_be_cancelled_even_after_a_restart() -> None:
    memory = Memory()
    async with life(Baker(), memory) as local:
        task = ref(await last_of(local.send(ask("a cake"))))
    async with life(Baker(), memory) as local:
        said = await local.cancel(task)
    assert said is not None
    assert said.state is TaskState.CANCELED
    assert memory.kept == []


async def test_a_message_is_found_by_its_id_and_another_one_is_not() -> None:
    memory = Memory()
    async with life(Scripted(asyncio.Event()), memory) as local:
        task = ref(await anext(local.send(ask("work", "m1"))))
        found = await local.find(None, "m1")
        assert found is not None
        assert ref(found) == task
        assert await local.find(task.context_id, "m2") is None
    async with life(Scripted(asyncio.Event()), memory) as local:
        found = await local.find(task.context_id, "m1")
        assert found is not None
        assert ref(found) == task


async def test_an_unavailable_store_takes_no_message_and_answers_no_question() -> None:
    memory = Memory()
    async with life(Scripted(), memory) as local:
        memory.failures = 1
        with pytest.raises(NotAccepted):
            await all_of(local.send(ask("work")))
        for question in (local.get(TaskRef("t", "c")), local.find("c", "m")):
            memory.failures = 1
            with pytest.raises(Unreachable):
                await question


async def test_a_checkpoint_waits_for_the_store_to_come_back() -> None:
    memory, gate = Memory(), waiting()
    async with life(Scripted(gate, Words("one"), Checkpoint({"next": 3})), memory) as local:
        stream = local.send(ask("work"))
        await anext(stream)
        memory.failures = 3
        gate.set()
        end = [event async for event in stream][-1]
        assert isinstance(end, Snapshot)
        assert end.state is TaskState.COMPLETED


async def test_a_task_that_another_process_goes_on_with_falls_silent_here() -> None:
    memory, gate = Memory(), waiting()
    async with life(Scripted(gate, Checkpoint({"next": 2}), Words("mine")), memory) as local:
        stream = local.send(ask("work"))
        await anext(stream)
        value, version = memory.values["agents/local", "task/task-m1"]
        memory.values["agents/local", "task/task-m1"] = (value, version + 1)
        gate.set()
        assert [event async for event in stream] == []
