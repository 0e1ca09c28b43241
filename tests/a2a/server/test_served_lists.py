"""Lists: the newest status first, for their owner only, page by page."""

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from a2a.server.port import BadRequest, Filter
from core.agent import Ask, TaskEvent, TaskState
from core.parts import text_of
from core.store import Store
from tests.a2a.server.desk import ANN, Desk, desk
from tests.doubles.agent import FakeAgent, task


async def by_word(ask: Ask) -> AsyncIterator[TaskEvent]:
    state = TaskState.INPUT_REQUIRED if text_of(ask.parts) == "ask" and not ask.task_id else TaskState.COMPLETED
    yield task(ask, state, message="so")


async def listed(there: Desk, wanted: Filter) -> list[str]:
    return [task.id for task in (await there.tasks.list(ANN, wanted)).tasks]


async def test_the_newest_status_comes_first(store: Store) -> None:
    async with desk(store, FakeAgent(by_word)) as there:
        first, second = await there.send("ask"), await there.send("two")
        before = await listed(there, Filter())
        await there.send("answer", task=first.id)

        assert before == [second.id, first.id]
        assert await listed(there, Filter()) == [first.id, second.id]


async def test_a_list_is_filtered_by_context_state_and_time(store: Store) -> None:
    async with desk(store, FakeAgent(by_word)) as there:
        asked, done = await there.send("ask", context="trip"), await there.send("two")

        assert await listed(there, Filter(context_id="trip")) == [asked.id]
        assert await listed(there, Filter(state=TaskState.COMPLETED)) == [done.id]
        assert await listed(there, Filter(since=done.time)) == [done.id]
        assert await listed(there, Filter(context_id="none")) == []


async def test_pages_follow_each_other_without_gap_or_repeat_and_say_how_many_there_are(store: Store) -> None:
    async with desk(store, FakeAgent(by_word)) as there:
        ids = [(await there.send(str(n))).id for n in range(5)]
        found: list[str] = []
        wanted = Filter(size=2)
        while True:
            page = await there.tasks.list(ANN, wanted)
            found += [task.id for task in page.tasks]
            assert page.total == 5
            if not page.next:
                break
            wanted = replace(wanted, after=page.next)

        assert found == ids[::-1]


@pytest.mark.parametrize("token", ["x", "eyJ", "W10", "MQ", "e30=", "é", "W251bGwsbnVsbCxudWxsXQ"])
async def test_a_page_token_that_nobody_gave_is_refused(store: Store, token: str) -> None:
    async with desk(store, FakeAgent(by_word)) as there:
        with pytest.raises(BadRequest, match="pageToken"):
            await there.tasks.list(ANN, Filter(after=token))


@pytest.mark.parametrize("size", [0, -1, 101])
async def test_a_page_has_from_one_to_a_hundred_tasks(store: Store, size: int) -> None:
    async with desk(store, FakeAgent(by_word)) as there:
        with pytest.raises(BadRequest, match="pageSize"):
            await there.tasks.list(ANN, Filter(size=size))


async def test_a_caller_that_may_not_list_sees_nothing(store: Store) -> None:
    async with desk(store, FakeAgent(by_word)) as there:
        done = await there.send("hello")
        stranger = replace(ANN, may_list=False)

        assert (await there.tasks.list(stranger, Filter())).total == 0
        assert await there.tasks.get(stranger, done.id) == done
