"""The way of a message, from a person's words to the answer in the same chat; the names are the manual."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from core.access import Access
from core.agent import Artifact, ArtifactUpdate, Ask, Reply, Snapshot, TaskEvent, TaskRef, TaskState
from core.delivery import Payload, Piece, Refusal, Rejected, Sent, Unknown
from core.errors import (
    Busy,
    CancelRefused,
    Declined,
    FloodFromSender,
    NotAccepted,
    OutcomeUnknown,
    StoreUnavailable,
    TaskEnded,
)
from core.pacing import Limits
from core.parts import Text, text_of
from core.patience import Patience
from core.plugin import Accepted, Duplicate, Refused
from core.session import Bounds
from core.store import Ready, Store
from tests.doubles.agent import FakeAgent, Parked, context, status, task, task_id
from tests.doubles.plugin import FakePlugin
from tests.doubles.world import SOON, world
from tests.waiting import until


async def test_an_answer_returns_to_the_chat_it_came_from(store: Store) -> None:
    async with world(store) as desk:
        await desk.says("hello")
        assert await desk.plugin.until(1) == ["HELLO"]


async def test_a_redelivered_message_is_answered_once(store: Store) -> None:
    async with world(store) as desk:
        first = await desk.says("hello", keys=("update:7",))
        again = await desk.says("hello", keys=("update:7",))
        assert isinstance(first, Accepted)
        assert again == Duplicate(first.envelope)
        await desk.plugin.until(1)
        assert len(desk.agent.asks) == 1


async def test_messages_of_one_chat_are_answered_in_their_order_and_in_one_remote_context(store: Store) -> None:
    async with world(store) as desk:
        await desk.says("one")
        await desk.says("two")
        await desk.says("three")
        assert await desk.plugin.until(3) == ["ONE", "TWO", "THREE"]
    first, second, third = desk.agent.asks
    assert first.context_id is None
    assert second.context_id == third.context_id == context(first)


@pytest.mark.case("DEL-20")
async def test_two_people_have_two_remote_contexts(store: Store) -> None:
    async with world(store) as desk:
        for person in ("ann", "bob"):
            await desk.says("one", person)
            await desk.plugin.until(1, person)
            await desk.says("two", person)
            await desk.plugin.until(2, person)
    assert desk.agent.asks[1].context_id != desk.agent.asks[3].context_id


async def test_a_message_that_arrives_as_the_lane_empties_is_still_answered(store: Store) -> None:
    """The lane race: the store answers "nothing" while the next message is being admitted."""
    looked_empty, begin = asyncio.Event(), store.begin

    class Slow:
        """The store, which answers a moment after it looked, as every database does."""

        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        async def begin(self, thread: str, now: float, *, limit: int = 1) -> object:
            turn = await begin(thread, now, limit=limit)
            if turn is None:
                looked_empty.set()
                for _ in range(200):
                    await asyncio.sleep(0)
            return turn

    async with world(Slow()) as desk:  # type: ignore[arg-type]
        await desk.says("one")
        await desk.plugin.until(1)
        [admitted] = [event for event in desk.events.of("envelope.admitted") if event["outcome"] == "accepted"]
        desk.lanes.add(Ready("desk:ann", str(admitted["thread"]), 0))
        await looked_empty.wait()
        await desk.says("two", reply_to="m1")
        assert await desk.plugin.until(2) == ["ONE", "TWO"]


async def test_a_stranger_is_not_answered(store: Store) -> None:
    async with world(store, access=Access("allow", "all", frozenset({"ann"}))) as desk:
        assert await desk.says("hello", "mallory") == Refused("not_allowed")
        assert isinstance(await desk.says("hello", "ann"), Accepted)
        await desk.plugin.until(1)
        assert desk.plugin.shown("mallory") == []


@pytest.mark.case("F33")
async def test_past_max_queued_the_sender_is_told_to_come_back_and_nothing_is_stored(store: Store) -> None:
    parked = Parked()
    async with world(store, FakeAgent(parked), bounds=Bounds(max_queued=3)) as desk:
        for number in range(3):
            await desk.says("hello", f"p{number}")
        with pytest.raises(Busy):
            await desk.says("one too many", "p3")
        parked.released.set()
        await desk.plugin.until(1, "p0")
        assert isinstance(await desk.says("now there is room", "p3"), Accepted)
        await desk.plugin.until(1, "p3")


@pytest.mark.case("T75")
async def test_one_sender_who_floods_is_refused_and_the_others_are_not(store: Store) -> None:
    async with world(store, FakeAgent(Parked()), bounds=Bounds(max_queued_per_owner=2)) as desk:
        await desk.says("1", "mallory")
        await desk.says("2", "mallory")
        with pytest.raises(FloodFromSender):
            await desk.says("3", "mallory")
        assert isinstance(await desk.says("hello", "ann"), Accepted)


@pytest.mark.case("T76")
async def test_owners_take_turns_however_much_one_of_them_has_queued(store: Store) -> None:
    parked = Parked()
    async with world(store, FakeAgent(parked), bounds=Bounds(max_turns=1, max_turns_per_owner=1)) as desk:
        await desk.says("holds the only turn", "zoe")
        await until(lambda: desk.agent.asks)
        for number in range(20):
            await desk.says(f"a{number}", "ann", reply_to="")
        await desk.says("b", "bob")
        parked.released.set()
        await desk.plugin.until(1, "bob")
        asked = [text_of(ask.parts) for ask in desk.agent.asks]
        assert asked.index("b") <= 3  # behind two of Ann's at most


@pytest.mark.case("DEL-12")
async def test_status_and_cancel_overtake_running_work(store: Store) -> None:
    async with world(store, FakeAgent(Parked()), bounds=Bounds(max_turns=1)) as desk:
        await desk.says("count the stars")
        await until(lambda: desk.agent.tasks)
        await desk.says("/status")
        [line, *_] = await desk.plugin.until(1)
        assert "count the stars" in line
        await desk.says("/cancel")
        await until(lambda: desk.agent.cancels)
        await until(lambda: "Cancelled." in desk.plugin.shown())


async def test_an_agent_whose_answer_grows_is_heard_of_and_not_silent(store: Store) -> None:
    more = asyncio.Event()

    async def grows(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        await more.wait()
        yield ArtifactUpdate(task_id(ask), context(ask), Artifact("a1", (Text("one, "),)))
        await asyncio.Event().wait()

    async with world(store, FakeAgent(grows)) as desk:
        admission = await desk.says("count to a hundred")
        assert isinstance(admission, Accepted)
        first = await until(lambda: desk.tracker.heard(admission.thread))
        more.set()
        await until(lambda: (desk.tracker.heard(admission.thread) or 0) > first + 0.01)
        assert desk.tracker.heard("another") is None
        (turn,) = desk.tracker._pursuits
        assert (desk.tracker.heard_in(turn) or 0) > first
        assert desk.tracker.heard_in("another") is None


@pytest.mark.case("A2A-14")
async def test_output_after_a_confirmed_cancel_is_never_delivered(store: Store) -> None:
    parked = Parked()
    async with world(store, FakeAgent(parked)) as desk:
        await desk.says("long work")
        await until(lambda: desk.agent.tasks)
        await desk.says("/cancel")
        await until(lambda: "Cancelled." in desk.plugin.shown())
        parked.released.set()
        await desk.says("next")
        await until(lambda: "NEXT" in desk.plugin.shown())
        assert "LONG WORK" not in desk.plugin.shown()


@pytest.mark.case("A2A-16")
async def test_a_cancel_before_the_task_has_an_id_is_sent_when_the_id_arrives(store: Store) -> None:
    named = asyncio.Event()

    async def slow_to_name(ask: Ask) -> AsyncIterator[TaskEvent]:
        await named.wait()
        yield task(ask, TaskState.WORKING)
        await asyncio.Event().wait()

    async with world(store, FakeAgent(slow_to_name)) as desk:
        await desk.says("work")
        await until(lambda: desk.agent.asks)
        await desk.says("/cancel")
        await desk.plugin.until(1)
        assert desk.agent.cancels == []
        named.set()
        await until(lambda: desk.agent.cancels)
        await until(lambda: "Cancelled." in desk.plugin.shown())


@pytest.mark.case("A2A-15")
async def test_a_cancel_the_agent_refuses_is_told_truthfully_and_its_output_discarded(store: Store) -> None:
    parked, agent = Parked(), FakeAgent()
    agent.script, agent.cancel_error = parked, CancelRefused("no")
    async with world(store, agent) as desk:
        await desk.says("work")
        await until(lambda: agent.tasks)
        await desk.says("/cancel")
        await until(lambda: any("cannot stop" in text for text in desk.plugin.shown()))
        parked.released.set()
        await desk.says("next")
        await until(lambda: "NEXT" in desk.plugin.shown())
        assert "WORK" not in desk.plugin.shown()


@pytest.mark.case("A2A-17")
async def test_cancel_all_reaches_every_running_task_of_the_chat(store: Store) -> None:
    async with world(store, FakeAgent(Parked()), patience=Patience(foreground=0.01)) as desk:
        await desk.says("first")
        await until(lambda: len(desk.agent.tasks) == 1)
        await until(lambda: _is_waiting(store))
        await desk.says("second")
        await until(lambda: len(desk.agent.tasks) == 2)
        await desk.says("/cancel all")
        await until(lambda: len(desk.agent.cancels) == 2)


async def _is_waiting(store: Store) -> bool:
    return any(turn.waiting for turn in await store.unfinished())


async def _has_task(store: Store) -> bool:
    return any(turn.task for turn in await store.unfinished())


@pytest.mark.case("A2A-01")
async def test_the_answer_to_a_question_continues_exactly_that_task(store: Store) -> None:
    async def books(ask: Ask) -> AsyncIterator[TaskEvent]:
        if ask.task_id is None:
            yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)
        else:
            yield task(ask, TaskState.COMPLETED, f"booked for {text_of(ask.parts)}", time=2.0)

    async with world(store, FakeAgent(books)) as desk:
        await desk.says("book a table")
        assert await desk.plugin.until(1) == ["Which day?"]
        await desk.says("Tuesday")
        assert await desk.plugin.until(2) == ["Which day?", "booked for Tuesday"]
    first, second = desk.agent.asks
    assert (second.task_id, second.context_id) == (task_id(first), context(first))


@pytest.mark.case("A2A-02")
async def test_a_finished_task_is_never_continued_but_its_context_is(store: Store) -> None:
    async with world(store) as desk:
        await desk.says("Tuesday?")
        await desk.plugin.until(1)
        await desk.says("and Friday?")
        await desk.plugin.until(2)
    first, second = desk.agent.asks
    assert second.task_id is None
    assert second.context_id == context(first)


async def test_an_echo_of_the_answered_question_is_not_shown_as_a_new_one(store: Store) -> None:
    """Agents that answer a continuation at once return the task as it was, still asking."""

    async def slow(ask: Ask) -> AsyncIterator[TaskEvent]:
        if ask.task_id is None:
            yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)
            return
        yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)
        yield task(ask, TaskState.COMPLETED, "booked", time=2.0)

    async with world(store, FakeAgent(slow)) as desk:
        await desk.says("book a table")
        await desk.plugin.until(1)
        await desk.says("Tuesday")
        assert await desk.plugin.until(2) == ["Which day?", "booked"]


async def test_what_was_written_before_the_question_does_not_answer_it(store: Store) -> None:
    asked = asyncio.Event()

    async def asks(ask: Ask) -> AsyncIterator[TaskEvent]:
        if text_of(ask.parts) == "book":
            await asked.wait()
            yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)
        else:
            yield task(ask, TaskState.COMPLETED, text_of(ask.parts).upper(), time=2.0)

    async with world(store, FakeAgent(asks)) as desk:
        await desk.says("book")
        await until(lambda: desk.agent.asks)
        await desk.says("what time is it")
        asked.set()
        assert await desk.plugin.until(2) == ["Which day?", "WHAT TIME IS IT"]
        await desk.says("Tuesday")
        await desk.plugin.until(3)
    assert [ask.task_id is not None for ask in desk.agent.asks] == [False, False, True]


async def test_with_several_questions_open_the_gateway_asks_which_and_starts_nothing(store: Store) -> None:
    asking = asyncio.Event()

    async def both(ask: Ask) -> AsyncIterator[TaskEvent]:
        if text_of(ask.parts) == "one":
            yield task(ask, TaskState.WORKING)
            await asking.wait()
        yield task(ask, TaskState.INPUT_REQUIRED, message=f"{text_of(ask.parts)}?", time=1.0)

    async with world(store, FakeAgent(both), patience=Patience(foreground=0.01)) as desk:
        await desk.says("one")
        await until(lambda: _is_waiting(store))
        await desk.says("two")
        assert await desk.plugin.until(1) == ["two?"]
        asking.set()
        await desk.plugin.until(2)
        await desk.says("Tuesday")
        await until(lambda: any("Several questions" in text for text in desk.plugin.shown()))
        assert len(desk.agent.asks) == 2


@pytest.mark.case("A2A-05")
async def test_a_stream_that_closes_cleanly_while_working_is_not_the_end(store: Store) -> None:
    async def closes(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)

    agent = FakeAgent(closes)
    async with world(store, agent) as desk:
        await desk.says("hello")
        await until(lambda: agent.gets)
        agent.tasks[task_id(agent.asks[0])] = task(agent.asks[0], TaskState.COMPLETED, "at last")
        assert await desk.plugin.until(1) == ["at last"]


@pytest.mark.case("A2A-07")
async def test_a_question_the_stream_never_mentions_is_found_by_asking_after_the_silent_task(store: Store) -> None:
    async def silent(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        agent.tasks[task_id(ask)] = task(ask, TaskState.INPUT_REQUIRED, message="Which day?")
        await asyncio.Event().wait()

    agent = FakeAgent(silent)
    async with world(store, agent) as desk:
        await desk.says("book")
        assert await desk.plugin.until(1) == ["Which day?"]


@pytest.mark.case("A2A-07")
async def test_the_silence_after_which_an_open_stream_s_task_is_asked_bounds_when_its_question_is_shown(
    store: Store,
) -> None:
    """Every other wait is too long to show it: one silence and one GetTask do; as set, that is within 20 s."""
    shipped, asks = Patience(), asyncio.Event()

    async def silent(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        agent.tasks[task_id(ask)] = task(ask, TaskState.INPUT_REQUIRED, message="Which day?")
        await asks.wait()

    agent = FakeAgent(silent)
    async with world(store, agent, patience=replace(shipped, quiet=0.02)) as desk:
        await desk.says("book")
        assert await desk.plugin.until(1) == ["Which day?"]
        assert len(agent.gets) == 1
    for silence in (0.0, shipped.quiet, 15.0):  # a question may come up after the first look: the next is as near
        assert max(shipped.quiet, shipped.poll(silence, 1.0)) <= 20.0


@pytest.mark.case("A2A-08")
@pytest.mark.case("A2A-09")
async def test_a_bare_end_is_confirmed_and_the_task_s_own_artifacts_are_delivered(store: Store) -> None:
    async def streams(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        yield ArtifactUpdate(task_id(ask), context(ask), Artifact("a1", (Text("Hello, "),)))
        yield ArtifactUpdate(task_id(ask), context(ask), Artifact("a1", (Text("world!"),)), append=True, last=True)
        agent.tasks[task_id(ask)] = task(ask, TaskState.COMPLETED, "Hello, world!")
        yield status(ask, TaskState.COMPLETED)

    agent = FakeAgent(streams)
    async with world(store, agent) as desk:
        await desk.says("hi")
        assert await desk.plugin.until(1) == ["Hello, world!"]
        assert set(agent.gets) == {task_id(agent.asks[0])}


async def test_what_was_assembled_is_delivered_marked_when_the_task_is_gone_before_it_was_confirmed(
    store: Store,
) -> None:
    async def forgets(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        yield ArtifactUpdate(task_id(ask), context(ask), Artifact("a1", (Text("Hello"),)), last=True)
        agent.tasks.clear()
        yield status(ask, TaskState.COMPLETED)

    agent = FakeAgent(forgets)
    async with world(store, agent, patience=replace(SOON, quiet=30.0)) as desk:  # nobody asks before the stream's end
        await desk.says("hi")
        shown = await desk.plugin.until(3)
        assert shown[0] == "Hello"
        assert "".join(shown[1:]).startswith("(The agent could not confirm")


async def test_a_bare_message_is_a_whole_answer(store: Store) -> None:
    async def replies(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield Reply("r1", context(ask), (Text("just this"),))

    async with world(store, FakeAgent(replies)) as desk:
        await desk.says("hi")
        assert await desk.plugin.until(1) == ["just this"]


@pytest.mark.case("A2A-12")
@pytest.mark.parametrize("state", [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED])
async def test_a_question_that_comes_twice_is_put_once(store: Store, state: TaskState) -> None:
    async def twice(ask: Ask) -> AsyncIterator[TaskEvent]:
        for _ in range(2):
            yield status(ask, state, "May I?", time=2.0)
        yield task(ask, state, message="May I?", time=2.0)

    async with world(store, FakeAgent(twice)) as desk:
        await desk.says("do it")
        await desk.plugin.until(1)
        await desk.says("/status")
        shown = await desk.plugin.until(2)
        assert sum("May I?" in text for text in shown) == 1


@pytest.mark.case("A2A-12")
async def test_an_answer_that_comes_as_status_message_and_as_artifact_is_shown_once(store: Store) -> None:
    async def twice(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.COMPLETED, "the answer", message="the answer")

    async with world(store, FakeAgent(twice)) as desk:
        await desk.says("hi")
        await until(lambda: desk.events.of("turn.finished"))
        await desk.says("/status")
        await until(lambda: any("Nothing" in text for text in desk.plugin.shown()))
        assert desk.plugin.shown().count("the answer") == 1


@pytest.mark.case("A2A-12")
@pytest.mark.parametrize("artifact_first", [True, False])
async def test_an_answer_that_one_stream_says_in_two_events_is_shown_once(store: Store, artifact_first: bool) -> None:
    async def twice(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING, time=1.0)
        agent.tasks[task_id(ask)] = task(ask, TaskState.COMPLETED, "the answer", message="the answer", time=2.0)
        made = ArtifactUpdate(task_id(ask), context(ask), Artifact("a1", (Text("the answer"),)), last=True)
        if artifact_first:
            yield made
            yield status(ask, TaskState.COMPLETED, "the answer", time=2.0)
        else:
            yield status(ask, TaskState.WORKING, "the answer", time=1.5)
            yield made
            yield status(ask, TaskState.COMPLETED, time=2.0)

    async with world(store, agent := FakeAgent(twice)) as desk:
        await desk.says("hi")
        await until(lambda: desk.events.of("turn.finished"))
        await desk.says("/status")
        await until(lambda: any("Nothing" in text for text in desk.plugin.shown()))
        assert desk.plugin.shown().count("the answer") == 1


@pytest.mark.case("A2A-11")
@pytest.mark.parametrize("streaming", [True, False])
async def test_an_artifact_for_each_token_is_one_answer(store: Store, streaming: bool) -> None:
    async def tokens(ask: Ask) -> AsyncIterator[TaskEvent]:
        whole = task(ask, TaskState.COMPLETED, *(f"{n} " for n in range(200)))
        agent.tasks[task_id(ask)] = whole
        for made in whole.artifacts if streaming else ():
            yield ArtifactUpdate(whole.task_id, whole.context_id, made, last=True)
        yield status(ask, TaskState.COMPLETED) if streaming else whole

    async with world(store, agent := FakeAgent(tokens)) as desk:
        await desk.says("hi")
        whole = "".join(f"{n} " for n in range(200)).strip()
        shown = await desk.plugin.until(-(-len(whole) // 40))
        assert "".join(shown) == whole


@pytest.mark.case("TG-16")
@pytest.mark.parametrize("empty", ["  \n", "\x00\x07", "\u200b\ufeff"])
async def test_an_empty_answer_is_one_notice_and_the_turn_is_closed(store: Store, empty: str) -> None:
    """So is one of nothing that a chat would show."""

    async def nothing(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.COMPLETED, empty)

    async with world(store, FakeAgent(nothing)) as desk:
        await desk.says("hi")
        shown = await desk.plugin.until(2)
        assert "".join(shown) == "The agent finished without saying anything."
        assert not await store.unfinished()


@pytest.mark.case("F18")
async def test_a_task_the_agent_forgot_is_told_once_as_lost_and_not_sent_again(store: Store) -> None:
    async def cut(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        agent.tasks.clear()

    agent = FakeAgent(cut)
    async with world(store, agent) as desk:
        await desk.says("hi")
        shown = "".join(await desk.plugin.until(2))
        assert "no longer knows this task" in shown
        assert len(agent.asks) == 1


@pytest.mark.case("A2A-16")
async def test_a_message_that_was_certainly_not_taken_is_sent_again_with_its_same_id(store: Store) -> None:
    agent = FakeAgent()
    agent.errors = [NotAccepted("connection refused"), NotAccepted("503", retry_after=0.01)]
    async with world(store, agent) as desk:
        await desk.says("hi")
        assert await desk.plugin.until(1) == ["HI"]
    assert len({ask.message_id for ask in agent.asks}) == 1
    assert len(agent.asks) == 3


@pytest.mark.case("F05")
async def test_a_lost_answer_is_looked_for_before_anything_is_repeated(store: Store) -> None:
    agent = FakeAgent()
    agent.find_error = None

    async def cut(ask: Ask) -> AsyncIterator[TaskEvent]:
        found = agent.tasks[task_id(ask)] = task(ask, TaskState.COMPLETED, "found")
        if found.state.is_terminal:
            raise OutcomeUnknown("cut")
        yield found

    agent.script = cut
    async with world(store, agent) as desk:
        await desk.says("hi")
        assert await desk.plugin.until(1) == ["found"]
        assert len(agent.asks) == 1


async def test_a_submission_that_cannot_be_found_is_shown_as_unknown_and_repeated_only_when_asked(
    store: Store,
) -> None:
    agent = FakeAgent()
    agent.errors = [OutcomeUnknown("cut")]
    async with world(store, agent) as desk:
        await desk.says("hi")
        shown = "".join(await desk.plugin.until(3))
        assert "cannot tell whether the agent got your message" in shown
        assert len(agent.asks) == 1
        await desk.says("/again")
        await until(lambda: "HI" in desk.plugin.shown())
    first, second = agent.asks
    assert first.message_id == second.message_id


@pytest.mark.case("A2A-16")
async def test_an_agent_known_to_deduplicate_is_simply_asked_again(store: Store) -> None:
    agent = FakeAgent()
    agent.errors = [OutcomeUnknown("cut")]
    async with world(store, agent, resubmits=True) as desk:
        await desk.says("hi")
        assert await desk.plugin.until(1) == ["HI"]


async def test_new_leaves_the_remote_context_behind(store: Store) -> None:
    async with world(store) as desk:
        await desk.says("one")
        await desk.plugin.until(1)
        await desk.says("/new")
        await desk.plugin.until(2)
        await desk.says("two")
        await until(lambda: "TWO" in desk.plugin.shown())
    assert [ask.context_id for ask in desk.agent.asks] == [None, None]


async def test_an_unknown_command_gets_a_clear_word_and_no_agent_is_asked(store: Store) -> None:
    async with world(store) as desk:
        await desk.says("/frobnicate now")
        assert "I do not know the command /frobnicate" in "".join(await desk.plugin.until(1))
        assert desk.agent.asks == []


@pytest.mark.case("TG-35")
@pytest.mark.case("T07")
async def test_an_edited_or_forwarded_command_does_nothing(store: Store) -> None:
    parked = Parked()
    async with world(store, FakeAgent(parked)) as desk:
        await desk.says("work")
        await until(lambda: desk.agent.tasks)
        await desk.says("/cancel", is_edit=True)
        await desk.says("/cancel", is_forward=True)
        parked.released.set()
        assert (await desk.plugin.until(2))[0] == "WORK"
        assert desk.agent.cancels == []


async def test_notices_follow_the_person_s_language(store: Store) -> None:
    async with world(store) as desk:
        await desk.says("/status", language="zh-hans")
        assert await desk.plugin.until(1) == ["目前没有进行中的任务。"]


@pytest.mark.case("TG-23")
@pytest.mark.case("F20")
async def test_a_throttled_chat_waits_by_its_own_due_time_and_others_do_not(store: Store) -> None:
    plugin = FakePlugin()
    plugin.outcomes.append(Rejected(Refusal.THROTTLED, "slow down", retry_after=3600))
    async with world(store, plugin=plugin) as desk:
        await desk.says("one", "ann")
        await until(lambda: not plugin.outcomes)
        await desk.says("two", "ann")
        await desk.says("hello", "bob")
        assert await plugin.until(1, "bob") == ["HELLO"]
        assert plugin.shown("ann") == []
        assert desk.outbox.is_throttled((await _lanes(store))[0])


async def _lanes(store: Store) -> list[str]:
    return [conversation for conversation, _ in await store.lanes()]


@pytest.mark.case("DEL-01")
@pytest.mark.case("F22")
async def test_an_unknown_outcome_is_never_repeated_blindly_and_again_shows_it_marked(store: Store) -> None:
    plugin = FakePlugin()
    plugin.outcomes.append(Unknown("no answer"))
    async with world(store, plugin=plugin) as desk:
        await desk.says("hi")
        notice = "".join(await plugin.until(2))
        assert "may not have arrived" in notice
        assert "HI" not in plugin.shown()
        await desk.says("/again")
        await until(lambda: "HI" in plugin.shown())
        [repeated] = [delivery for delivery in plugin.sent if delivery.payload["text"] == "HI"]
        assert repeated.is_repeat


@pytest.mark.case("F24")
async def test_the_parts_after_an_unknown_one_go_on(store: Store) -> None:
    plugin = FakePlugin()

    async def long(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.COMPLETED, "a" * 40 + "b" * 40 + "c" * 40)

    plugin.outcomes.extend([Sent(("m1",)), Unknown("no answer")])
    async with world(store, FakeAgent(long), plugin, on_unknown="skip") as desk:
        await desk.says("hi")
        assert await plugin.until(2) == ["a" * 40, "c" * 40]


@pytest.mark.case("F23")
async def test_a_blocked_address_is_buried_whole_with_its_reason(store: Store) -> None:
    plugin = FakePlugin()

    async def long(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.COMPLETED, "a" * 200)

    plugin.outcomes.append(Rejected(Refusal.BLOCKED, "bot was blocked by the user"))
    async with world(store, FakeAgent(long), plugin) as desk:
        await desk.says("hi")
        await until(lambda: desk.events.of("delivery.attempted"))
        await until(lambda: desk.outbox.at_work == 0)
        assert plugin.sent == []
        assert not await store.lanes()


@pytest.mark.case("F34")
async def test_an_exception_in_a_plugin_s_send_is_an_unknown_outcome(store: Store) -> None:
    plugin = FakePlugin()
    plugin.outcomes.append(RuntimeError("bug"))
    async with world(store, plugin=plugin, on_unknown="skip") as desk:
        await desk.says("hi")
        await until(lambda: desk.events.of("delivery.attempted"))
        assert desk.events.of("delivery.attempted")[0]["outcome"] == "unknown"
        await desk.says("next")
        assert await plugin.until(1) == ["NEXT"]


@pytest.mark.case("T77")
async def test_an_exception_in_a_turn_is_told_and_stored_and_the_chat_goes_on(store: Store) -> None:
    async def poison(ask: Ask) -> AsyncIterator[TaskEvent]:
        if text_of(ask.parts) == "poison":
            raise RuntimeError("bug")
        yield task(ask, TaskState.COMPLETED, "fine")

    async with world(store, FakeAgent(poison)) as desk:
        await desk.says("poison")
        await desk.says("hello")
        await until(lambda: "fine" in desk.plugin.shown())
        [failed] = desk.events.of("turn.failed")
        assert "RuntimeError" in str(failed["error"])


@pytest.mark.case("A2A-04")
async def test_a_restart_in_the_middle_of_a_task_delivers_the_rest_once(store: Store) -> None:
    agent = FakeAgent(Parked())
    async with world(store, agent) as before:
        await before.says("hi")
        await until(lambda: agent.tasks)
        await until(lambda: _has_task(store))
    agent.tasks[task_id(agent.asks[0])] = task(agent.asks[0], TaskState.COMPLETED, "the rest")
    async with world(store, agent) as after:
        assert await after.plugin.until(1) == ["the rest"]
    assert len(agent.asks) == 1


@pytest.mark.case("A2A-04")
async def test_of_several_artifacts_a_restart_delivers_those_that_were_not_delivered_before_it(store: Store) -> None:
    is_patient = asyncio.Event()
    made = tuple(Artifact(f"a{n}", (Text(text),), name=text) for n, text in enumerate(("one", "two", "three", "four")))

    async def works_on(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        await is_patient.wait()
        for artifact in made[:2]:
            yield ArtifactUpdate(task_id(ask), context(ask), artifact, last=True)
        await asyncio.Event().wait()

    agent = FakeAgent(works_on)
    async with world(store, agent, patience=replace(SOON, foreground=0.01, quiet=60.0)) as before:
        await before.says("hi")
        await until(lambda: _is_waiting(store))
        is_patient.set()
        assert await before.plugin.until(2) == ["one", "two"]
        await until(lambda: len(before.events.of("delivery.attempted")) == 2)
    whole = task(agent.asks[0], TaskState.COMPLETED)
    agent.tasks[whole.task_id] = replace(whole, artifacts=made)
    async with world(store, agent) as after:
        await until(lambda: after.events.of("turn.finished"))
        await after.says("/status", keys=("status",))
        await until(lambda: any("Nothing" in text for text in after.plugin.shown()))
        assert after.plugin.shown()[:2] == ["three", "four"]
        assert not {"one", "two"} & set(after.plugin.shown())
    assert len(agent.asks) == 1


@pytest.mark.case("DEL-03")
async def test_an_attempt_that_had_begun_at_a_kill_is_unknown_after_the_start(store: Store) -> None:
    hanging = FakePlugin()
    hanging.gate = asyncio.Event()
    async with world(store, plugin=hanging) as before:
        await before.says("hi")
        await until(lambda: before.events.of("turn.finished"))
        await until(store.begun)
    plugin = FakePlugin()
    async with world(store, plugin=plugin):
        assert "may not have arrived" in "".join(await plugin.until(2))
        assert "HI" not in plugin.shown()


@pytest.mark.case("DEL-11")
@pytest.mark.case("DEL-09")
async def test_where_an_account_collects_a_burst_is_one_turn_in_order(store: Store) -> None:
    async with world(store, collect=0.05) as desk:
        await asyncio.gather(*(desk.says(text) for text in ("a", "b", "c")))
        assert await desk.plugin.until(1) == ["ABC"]
    assert len(desk.agent.asks) == 1


@pytest.mark.case("TG-31")
async def test_what_is_queued_follows_a_chat_that_moved(store: Store) -> None:
    plugin = FakePlugin()
    plugin.outcomes.append(Rejected(Refusal.MOVED, "upgraded", moved_to="-100"))
    async with world(store, plugin=plugin) as desk:
        await desk.says("hi", chat="group", is_direct=False)
        assert await plugin.until(1, "-100") == ["HI"]


async def test_past_the_foreground_s_patience_the_next_question_starts_a_thread_of_its_own(store: Store) -> None:
    parked = Parked()
    async with world(store, FakeAgent(parked), patience=Patience(foreground=0.01)) as desk:
        await desk.says("slow")
        await until(lambda: _is_waiting(store))
        desk.agent.script = FakeAgent().script
        await desk.says("quick")
        assert await desk.plugin.until(1) == ["QUICK"]
        parked.released.set()
        assert await desk.plugin.until(2) == ["QUICK", "SLOW"]


async def test_the_pace_a_channel_allows_is_kept(store: Store) -> None:
    async with world(store, limits=Limits(per_chat_second=1)) as desk:
        await desk.says("one")
        await desk.says("two")
        await desk.plugin.until(1)
        await until(lambda: len(desk.events.of("turn.finished")) == 2)
        assert desk.plugin.shown() == ["ONE"]


# ---------------------------------------------------------------------- found by reading, each failed first


@pytest.mark.parametrize("late", ["progress", "question", "artifact"])
async def test_what_an_agent_says_after_its_turn_ended_is_recorded_and_ends_nothing(store: Store, late: str) -> None:
    said = asyncio.Event()

    async def talks_on(ask: Ask) -> AsyncIterator[TaskEvent]:
        if text_of(ask.parts) == "next":
            yield task(ask, TaskState.COMPLETED, "NEXT")
            return
        yield task(ask, TaskState.INPUT_REQUIRED if late == "question" else TaskState.COMPLETED, "one", time=1.0)
        if late == "progress":
            yield status(ask, TaskState.WORKING, time=2.0)
        elif late == "question":
            yield status(ask, TaskState.INPUT_REQUIRED, "and?", time=2.0)
        else:
            yield ArtifactUpdate(task_id(ask), context(ask), Artifact("a2", (Text("late"),)), last=True)
        said.set()

    async with world(store, FakeAgent(talks_on)) as desk:
        await desk.says("hi")
        await said.wait()
        await desk.says("next", sender="bob")
        assert await desk.plugin.until(1, "bob") == ["NEXT"]
        assert "late" not in desk.plugin.shown()


@pytest.mark.case("A2A-15")
async def test_a_task_that_goes_on_after_a_refused_cancel_keeps_its_words_to_itself(store: Store) -> None:
    goes_on, agent = asyncio.Event(), FakeAgent()
    agent.cancel_error = CancelRefused("no")

    async def stubborn(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        await goes_on.wait()

    async def follows(ref: TaskRef) -> AsyncIterator[TaskEvent]:
        yield Snapshot(ref.task_id, ref.context_id, TaskState.WORKING)
        await goes_on.wait()
        yield Snapshot(ref.task_id, ref.context_id, TaskState.COMPLETED, None, (), (Artifact("a1", (Text("LATE"),)),))
        told.set()

    told = asyncio.Event()
    agent.script, agent.follows = stubborn, follows
    async with world(store, agent) as desk:
        await desk.says("work")
        await until(lambda: agent.tasks)
        await desk.says("/cancel")
        await until(lambda: any("cannot stop" in text for text in desk.plugin.shown()))
        goes_on.set()
        await told.wait()
        agent.script = FakeAgent().script
        await desk.says("do this instead")
        await until(lambda: "DO THIS INSTEAD" in desk.plugin.shown())
        assert "LATE" not in desk.plugin.shown()


async def test_everything_queued_behind_a_turn_at_a_stop_is_answered_after_the_start(store: Store) -> None:
    agent = FakeAgent(Parked())
    async with world(store, agent) as before:
        await before.says("one")
        await until(lambda: _has_task(store))
        for text in ("two", "three", "four"):
            await before.says(text)
    agent.tasks[task_id(agent.asks[0])] = task(agent.asks[0], TaskState.COMPLETED, "ONE")
    agent.script = FakeAgent().script
    async with world(store, agent) as after:
        assert await after.plugin.until(4) == ["ONE", "TWO", "THREE", "FOUR"]
        await until(lambda: after.lanes.queued == 0)


@pytest.mark.case("A2A-02")
async def test_an_answer_to_a_task_that_ended_meanwhile_starts_a_new_one_in_its_context(store: Store) -> None:
    async def ended(ask: Ask) -> AsyncIterator[TaskEvent]:
        if text_of(ask.parts) == "book":
            yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)
        elif ask.task_id:
            raise TaskEnded("it is completed")
        else:
            yield task(ask, TaskState.COMPLETED, "a new task's answer", time=2.0)

    async with world(store, FakeAgent(ended)) as desk:
        await desk.says("book")
        await desk.plugin.until(1)
        await desk.says("Tuesday")
        assert await desk.plugin.until(2) == ["Which day?", "a new task's answer"]
    book, refused, new = desk.agent.asks
    assert (refused.task_id, new.task_id) == (task_id(book), None)
    assert new.context_id == context(book)


async def test_a_lost_answer_to_a_question_is_looked_for_and_shown_as_unknown(store: Store) -> None:
    async def asks(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)

    agent = FakeAgent(asks)
    async with world(store, agent) as desk:
        await desk.says("book")
        await desk.plugin.until(1)
        agent.errors = [OutcomeUnknown("cut")]
        await desk.says("Tuesday")
        await until(lambda: any("cannot tell" in text for text in desk.plugin.shown()))
        assert len(agent.asks) == 2


async def test_a_cancel_while_the_agent_cannot_be_reached_is_heeded(store: Store) -> None:
    agent = FakeAgent()
    agent.errors = [NotAccepted("refused", retry_after=0.01) for _ in range(1000)]
    async with world(store, agent) as desk:
        await desk.says("hi")
        await until(lambda: len(agent.asks) > 2)
        await desk.says("/cancel")
        await until(lambda: "Cancelled." in desk.plugin.shown())
        count = len(agent.asks)
        await desk.says("/status")
        await until(lambda: any("Nothing" in text for text in desk.plugin.shown()))
        assert len(agent.asks) == count


async def test_what_comes_due_after_its_line_was_cut_off_begins_nothing(store: Store) -> None:
    begun = asyncio.Event()

    async def late() -> None:
        begun.set()

    async with world(store) as desk:
        pass
    desk.tracker.spawn(late, "late")
    await asyncio.sleep(0)
    assert not begun.is_set()


async def test_a_cancel_marked_before_a_stop_is_sent_after_the_start(store: Store) -> None:
    agent = FakeAgent(Parked())
    async with world(store, agent) as before:
        await before.says("one")
        await until(lambda: _has_task(store))
        [turn] = await store.unfinished()
        assert await store.mark_cancel(turn.id)
    async with world(store, agent) as after:
        await until(lambda: agent.cancels)
        await until(lambda: "Cancelled." in after.plugin.shown())


async def test_a_task_whose_agent_s_clock_stepped_back_still_ends(store: Store) -> None:
    async def steps_back(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING, time=100.0)
        agent.tasks[task_id(ask)] = task(ask, TaskState.COMPLETED, "done", time=50.0)

    agent = FakeAgent(steps_back)
    async with world(store, agent) as desk:
        await desk.says("hi")
        assert await desk.plugin.until(1) == ["done"]


@pytest.mark.case("T84")
@pytest.mark.parametrize("text", ["hi", "/status"])
async def test_a_plugin_that_cannot_render_ends_neither_the_others_nor_the_gateway(store: Store, text: str) -> None:
    class Broken(FakePlugin):
        def render(self, piece: Piece) -> tuple[Payload, ...]:
            raise RuntimeError("bug")

    async with world(store, plugin=Broken()) as desk:
        await desk.says(text)
        await until(lambda: desk.events.of("turn.failed"))
        assert await store.unfinished() == []
        assert isinstance(await desk.says("still here"), Accepted)


async def test_a_busy_store_delays_a_command_and_ends_nothing(store: Store) -> None:
    class Flaky:
        """The store, which is locked for the first three looks."""

        left = 3

        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        async def view(self, conversation: str) -> object:
            if self.left:
                self.left -= 1
                raise StoreUnavailable("locked", retry_after=0.001)
            return await store.view(conversation)

    async with world(Flaky()) as desk:  # type: ignore[arg-type]
        await desk.says("/status")
        assert await desk.plugin.until(1) == ["Nothing is being worked on."]


@pytest.mark.case("T75")
async def test_in_a_batch_one_flooding_sender_is_told_and_the_others_are_answered(store: Store) -> None:
    parked = Parked()
    async with world(store, FakeAgent(parked), bounds=Bounds(max_queued_per_owner=2)) as desk:
        await desk.says("1", "mallory")
        await desk.says("2", "mallory")
        await desk.intake.accept([desk.inbound("3", "mallory"), desk.inbound("hello", "ann")])
        parked.released.set()
        assert await desk.plugin.until(1, "ann") == ["HELLO"]
        await until(lambda: any("cannot take more" in text for text in desk.plugin.shown("mallory")))


async def test_two_ways_to_end_a_turn_at_one_instant_are_one_end(store: Store) -> None:
    """The foreground's patience runs out while a message that was not taken is being recorded."""
    agent = FakeAgent()
    agent.errors = [NotAccepted("refused", retry_after=0.001) for _ in range(10)]
    async with world(store, agent, patience=replace(SOON, foreground=0.01)) as desk:
        await desk.says("hi")
        assert await desk.plugin.until(1) == ["HI"]
        assert desk.events.of("turn.failed") == []


async def _asks(ask: Ask) -> AsyncIterator[TaskEvent]:
    if text_of(ask.parts) == "book":
        yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)
    else:
        yield task(ask, TaskState.COMPLETED, text_of(ask.parts).upper(), time=2.0)


@pytest.mark.parametrize("command", ["/new", "/cancel", "/cancel all"])
async def test_a_question_that_a_command_closed_is_not_answered_by_the_next_message(store: Store, command: str) -> None:
    async with world(store, FakeAgent(_asks)) as desk:
        await desk.says("book")
        await desk.plugin.until(1)
        await desk.says(command)
        await until(lambda: desk.agent.cancels)
        await desk.says("hello")
        await until(lambda: "HELLO" in desk.plugin.shown())
        assert not any("nothing to cancel" in text for text in desk.plugin.shown())
    assert desk.agent.asks[-1].task_id is None


async def test_why_an_agent_declined_is_for_the_operator_and_not_for_the_person(store: Store) -> None:
    agent = FakeAgent()
    agent.errors = [Declined("http://127.0.0.1:9999 is a private address; set allow_private_network")]
    async with world(store, agent) as desk:
        await desk.says("hi")
        shown = "".join(await desk.plugin.until(2))
        assert "127.0.0.1" not in shown
        [refused] = desk.events.of("submission.refused")
        assert "private address" in str(refused["error"])
        assert "said" not in refused


async def test_what_an_agent_says_of_its_own_failure_is_for_the_operator(store: Store) -> None:
    agent = FakeAgent()
    agent.errors = [Declined("agent x: answered error -32603", code=-32603, sample='{"message": "no such model"}')]
    async with world(store, agent) as desk:
        await desk.says("hi")
        shown = "".join(await desk.plugin.until(2))
        assert "model" not in shown
        [refused] = desk.events.of("submission.refused")
        assert (refused["error"], refused["said"]) == ("agent x: answered error -32603", '{"message": "no such model"}')
