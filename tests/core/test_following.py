"""How a task is followed: over its own interface, out of reach and back, silent, pushed, and resumed by itself."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from core.agent import Artifact, ArtifactUpdate, Ask, Snapshot, TaskEvent, TaskRef, TaskState
from core.errors import AgentPaused, Busy, Declined, InterfaceGone, NotAuthorised, OutcomeUnknown, Unreachable
from core.parts import Text
from core.patience import Patience
from core.plugin import Capabilities
from core.push import PushTarget
from core.routes import Route, Routes
from core.store import Store
from core.tracker import PUSHES_WAITING
from core.turn import Disposition, Observation, Turn
from tests.core.turns import is_waiting
from tests.doubles.agent import FakeAgent, Parked, context, status, task, task_id
from tests.doubles.plugin import FakePlugin
from tests.doubles.world import SOON, World, world
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


async def test_an_agent_that_refused_the_credentials_once_is_subscribed_to_again(store: Store) -> None:
    """They may have been changed since; GetTask alone would hear of the end as late as polls are apart."""
    agent, refused = FakeAgent(works), list[TaskRef]()

    async def follows(ref: TaskRef) -> AsyncIterator[TaskEvent]:
        if not refused:
            refused.append(ref)
            raise NotAuthorised("HTTP 401")
        yield task(agent.asks[0], TaskState.COMPLETED, "done")

    agent.follows = follows
    async with world(store, agent) as desk:
        await desk.says("hi")
        assert await desk.plugin.until(1) == ["done"]


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


# ---------------------------------------------------------------------------------------------- push

SLOW = replace(SOON, poll_first=60.0, poll_most=60.0, quiet=60.0)  # whatever is learned soon is learned by push


class Silent:
    """A stream that stays open and says nothing more after the task's beginning."""

    def __init__(self) -> None:
        self.released = asyncio.Event()

    async def __call__(self, ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING, time=1.0)
        await self.released.wait()


def pushing(script: object = works, way: str = "send") -> FakeAgent:
    agent = FakeAgent(script)  # type: ignore[arg-type]
    agent.way = way  # type: ignore[assignment]
    return agent


async def given(desk: World) -> PushTarget:
    """The target that the agent was told of, once its task is stored."""
    await until(lambda: desk.agent.pushes)
    target = desk.pushes.find(desk.agent.pushes[-1][1].id)
    assert target is not None
    await until(lambda: target.task_id)
    return target


@pytest.mark.case("DEL-04")
async def test_a_result_that_is_pushed_is_delivered_once_although_the_stream_has_it_too(store: Store) -> None:
    silent = Silent()
    agent = pushing(silent)
    async with world(store, agent, patience=SLOW) as desk:
        await desk.says("hi")
        target = await given(desk)
        done = task(agent.asks[0], TaskState.COMPLETED, "done", time=2.0)
        agent.tasks[done.task_id] = done
        for _ in range(3):
            desk.tracker.pushed(target, done)
        assert await desk.plugin.until(1) == ["done"]
        silent.released.set()
        await until(lambda: agent.unregistered == [target.id])
        assert desk.pushes.find(target.id) is None
        assert desk.plugin.shown() == ["done"]
        assert await store.push_targets() == []


async def test_a_pushed_bare_end_is_confirmed_by_the_task_itself(store: Store) -> None:
    agent = pushing(Silent())
    async with world(store, agent, patience=SLOW) as desk:
        await desk.says("hi")
        target = await given(desk)
        agent.tasks[target.task_id] = task(agent.asks[0], TaskState.COMPLETED, "whole", time=2.0)
        desk.tracker.pushed(target, status(agent.asks[0], TaskState.COMPLETED, time=2.0))
        assert await desk.plugin.until(1) == ["whole"]


@pytest.mark.case("T39a")
async def test_pushes_out_of_order_and_after_the_end_take_nothing_back_and_are_told(store: Store) -> None:
    agent = pushing(Silent())
    async with world(store, agent, patience=SLOW) as desk:
        await desk.says("hi")
        target = await given(desk)
        ask = agent.asks[0]
        done = task(ask, TaskState.COMPLETED, "done", time=5.0)
        desk.tracker.pushed(target, done)
        assert await desk.plugin.until(1) == ["done"]
        for late in (status(ask, TaskState.WORKING, time=3.0), task(ask, TaskState.COMPLETED, "other", time=6.0)):
            desk.tracker.pushed(target, late)
        await until(lambda: not desk.tracker.pushes_waiting)
        assert desk.plugin.shown() == ["done"]
        told = desk.events.of("task.late_event")
        assert sorted((late["kind"], late["road"]) for late in told) == [("status", "push"), ("task", "push")]


@pytest.mark.case("T39a")
async def test_a_push_that_contradicts_an_end_not_yet_confirmed_is_recorded_and_told(store: Store) -> None:
    agent = pushing(Silent())
    async with world(store, agent, patience=replace(SLOW, confirm=60.0)) as desk:
        await desk.says("hi")
        target = await given(desk)
        ask = agent.asks[0]
        agent.tasks[target.task_id] = Unreachable("not now")
        desk.tracker.pushed(target, status(ask, TaskState.COMPLETED, time=5.0))
        desk.tracker.pushed(target, status(ask, TaskState.WORKING, time=6.0))
        await until(lambda: desk.events.of("task.late_event"))
        desk.tracker.pushed(target, task(ask, TaskState.COMPLETED, "done", time=5.0))
        assert await desk.plugin.until(1) == ["done"]
        assert [late["kind"] for late in desk.events.of("task.late_event")] == ["status"]


async def test_chunks_are_not_taken_from_pushes_beside_a_stream(store: Store) -> None:
    silent = Silent()

    async def streams(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING, time=1.0)
        yield _chunk(ask, "Hello, ")
        await silent.released.wait()
        yield _chunk(ask, "world", append=True)
        yield status(ask, TaskState.COMPLETED, time=2.0)

    agent = pushing(streams)
    async with world(store, agent, patience=replace(SLOW, confirm=0.05)) as desk:
        await desk.says("hi")
        target = await given(desk)
        agent.tasks[target.task_id] = Declined("not now")
        desk.tracker.pushed(target, _chunk(agent.asks[0], "Hello, "))
        desk.tracker.pushed(target, _chunk(agent.asks[0], "world", append=True))
        desk.tracker.pushed(target, task(agent.asks[0], TaskState.WORKING, "Hel", time=1.0))
        await until(lambda: not desk.tracker.pushes_waiting)
        silent.released.set()
        assert (await desk.plugin.until(1))[0] == "Hello, world"


def _chunk(ask: Ask, text: str, *, append: bool = False) -> ArtifactUpdate:
    return ArtifactUpdate(task_id(ask), context(ask), Artifact("a1", (Text(text),)), append=append)


async def test_a_push_names_the_task_whose_answer_to_the_message_was_lost(store: Store) -> None:
    agent = pushing()
    agent.find_error = None
    found = asyncio.Event()

    async def lost(ask: Ask) -> AsyncIterator[TaskEvent]:
        if ask.push:
            raise OutcomeUnknown("cut")
        yield task(ask, TaskState.COMPLETED)

    async def never(context_id: str | None, message_id: str) -> Snapshot | None:
        del context_id, message_id
        await found.wait()
        raise Declined("no listing here")

    agent.script, agent.find = lost, never  # type: ignore[method-assign]
    async with world(store, agent, patience=SLOW) as desk:
        await desk.says("hi")
        await until(lambda: agent.pushes)
        target = desk.pushes.find(agent.pushes[0][1].id)
        assert target is not None
        done = task(agent.asks[0], TaskState.COMPLETED, "done", time=2.0)
        desk.tracker.pushed(target, done)
        assert await desk.plugin.until(1) == ["done"]
        found.set()


@pytest.mark.case("A2A-25")
async def test_after_a_restart_a_push_reaches_the_task_it_is_about(store: Store) -> None:
    agent = pushing()
    async with world(store, agent, patience=SLOW) as before:
        await before.says("hi")
        target = await given(before)
    async with world(store, agent, patience=SLOW) as after:
        known = after.pushes.find(target.id)
        assert known is not None
        assert (known.turn, known.task_id) == (target.turn, target.task_id)
        await until(lambda: after.tracker.at_work)
        after.tracker.pushed(known, task(agent.asks[0], TaskState.COMPLETED, "done", time=2.0))
        assert await after.plugin.until(1) == ["done"]
        assert len(agent.pushes) == 1


async def test_the_answer_to_a_question_uses_the_target_that_the_task_has(store: Store) -> None:
    agent = pushing(asks_back)
    async with world(store, agent, patience=SLOW) as desk:
        await desk.says("book")
        await desk.plugin.until(1)
        await desk.says("Friday")
        await until(lambda: "booked" in desk.plugin.shown())
        assert [ask.push is not None for ask in agent.asks] == [True, False]
        await until(lambda: agent.unregistered)


async def test_what_a_streaming_agent_answers_at_once_needs_no_push(store: Store) -> None:
    async with world(store, pushing(_at_once, way="call")) as desk:
        await desk.says("hi")
        assert await desk.plugin.until(1) == ["at once"]
        assert desk.agent.pushes == []


async def test_a_streaming_agent_is_told_where_to_push_when_its_task_takes_long(store: Store) -> None:
    slow = pushing(Silent(), way="call")
    async with world(store, slow, patience=replace(SLOW, foreground=0.01)) as desk:
        await desk.says("hi")
        target = await given(desk)
        assert slow.pushes[0][0] == target.task_id
        desk.tracker.pushed(target, task(slow.asks[0], TaskState.COMPLETED, "done", time=2.0))
        assert await desk.plugin.until(1) == ["done"]


async def _at_once(ask: Ask) -> AsyncIterator[TaskEvent]:
    yield task(ask, TaskState.COMPLETED, "at once")


async def test_an_agent_that_refuses_the_call_is_asked_as_before_and_that_is_shown(store: Store) -> None:
    agent = pushing(Silent(), way="call")
    agent.push_error = Declined("no")
    async with world(store, agent, patience=replace(SOON, foreground=0.01)) as desk:
        await desk.says("hi")
        await until(lambda: desk.events.of("push.refused"))
        await until(lambda: agent.gets)
        assert await store.push_targets() == []


async def test_with_push_alive_asking_becomes_sparse_and_never_stops() -> None:
    patience = Patience()
    assert [patience.poll(silent, 0.5) for silent in (0, 100, 86_400)] == [1.0, 10.0, 300.0]
    assert [patience.poll_pushed(silent, 0.5) for silent in (0, 100, 86_400)] == [60.0, 60.0, 300.0]


async def test_asking_goes_on_beside_pushes(store: Store) -> None:
    agent = pushing()
    async with world(store, agent, patience=replace(SOON, pushed_least=0.02)) as desk:
        await desk.says("hi")
        target = await given(desk)
        desk.tracker.pushed(target, status(agent.asks[0], TaskState.WORKING, "on it", time=2.0))
        await until(lambda: not desk.tracker.pushes_waiting)
        assert target.is_alive
        asked = len(agent.gets)
        await until(lambda: len(agent.gets) > asked + 1)
        agent.tasks[target.task_id] = task(agent.asks[0], TaskState.COMPLETED, "done", time=3.0)
        assert await desk.plugin.until(1) == ["done"]


class Noting:
    """The store, which lets be seen what is written to it of a turn, and what happens meanwhile happen."""

    def __init__(self, store: Store, canceling: asyncio.Event) -> None:
        self._store, self._canceling = store, canceling
        self.written: list[Observation] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def observe(self, observation: Observation, now: float) -> Turn | None:
        self.written.append(observation)
        if observation.task is not None and observation.task.state is TaskState.CANCELED:
            self._canceling.set()
            for _ in range(200):  # the reader of the stream has the end by then, and waits behind this
                await asyncio.sleep(0)
        return await self._store.observe(observation, now)

    async def note(self, observation: Observation, now: float) -> None:
        self.written.append(observation)
        await self._store.note(observation, now)

    @property
    def states(self) -> list[TaskState]:
        return [known.task.state for known in self.written if known.task]

    @property
    def recorded(self) -> list[tuple[object, object]]:
        facts = [record.facts for known in self.written for record in known.records]
        return [(each["change"], each["state"]) for each in facts if "state" in each]


@pytest.mark.case("A2A-14")
@pytest.mark.parametrize("road", ["stream", "answer", "push"])
async def test_an_end_that_comes_after_the_cancel_overwrites_nothing_and_is_not_shown(store: Store, road: str) -> None:
    """A stream says it while the cancel is written, a GetTask was under way, or the agent pushes it later."""
    canceling, answered = asyncio.Event(), asyncio.Event()
    noting = Noting(store, canceling)

    async def overtakes(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING, time=1.0)
        if road == "stream":
            await canceling.wait()
            yield task(ask, TaskState.COMPLETED, "too late", time=9.0)

    class Slow(FakeAgent):
        async def get(self, task: TaskRef) -> Snapshot:
            found = await super().get(task)
            await answered.wait()
            return replace(found, state=TaskState.COMPLETED, time=9.0, artifacts=LATE)

    agent = pushing(Silent()) if road == "push" else Slow(overtakes)
    async with world(noting, agent, patience=SLOW) as desk:  # type: ignore[arg-type]
        await desk.says("hi")
        await until(lambda: agent.gets if road == "answer" else agent.tasks)
        target = await given(desk) if road == "push" else None
        await desk.says("/cancel")
        await until(lambda: "Cancelled." in desk.plugin.shown())
        if target is not None:
            desk.tracker.pushed(target, task(agent.asks[0], TaskState.COMPLETED, "too late", time=9.0))
        answered.set()
        await until(lambda: desk.events.of("task.late_event"))
        await until(lambda: not desk.tracker.pushes_waiting and not desk.tracker.at_work)
        await desk.says("/status")
        await until(lambda: any("Nothing" in text for text in desk.plugin.shown()))
        assert "too late" not in "".join(desk.plugin.shown())
        assert [late["road"] for late in desk.events.of("task.late_event")] == [road]
    assert noting.states[-1] is TaskState.CANCELED
    assert TaskState.COMPLETED not in noting.states
    late = [] if road == "push" else [("late", "completed")]  # a push of a task that nobody follows is told, no more
    assert noting.recorded[-1 - len(late) :] == [("applied", "canceled"), *late]


LATE = (Artifact("a1", (Text("too late"),)),)


async def test_too_many_pushes_at_once_are_put_off(store: Store) -> None:
    agent = pushing(Silent())
    async with world(store, agent, patience=SLOW) as desk:
        await desk.says("hi")
        target = await given(desk)
        event = status(agent.asks[0], TaskState.WORKING, time=2.0)
        for _ in range(PUSHES_WAITING):
            desk.tracker.pushed(target, event)
        with pytest.raises(Busy):
            desk.tracker.pushed(target, event)
        await until(lambda: not desk.tracker.pushes_waiting)
        desk.tracker.pushed(target, event)


# ---------------------------------------------------------------------------------------------- signing in


class SignsIn:
    """Demands a sign-in; what the task is after that stands in `tasks`."""

    async def __call__(self, ask: Ask) -> AsyncIterator[TaskEvent]:
        if ask.task_id:
            yield task(ask, TaskState.COMPLETED, "as you say", time=3.0)
        else:
            yield task(ask, TaskState.AUTH_REQUIRED, message="Sign in at https://idp.example", time=1.0)


async def demanded(desk: World) -> Ask:
    await desk.says("my invoices")
    await until(lambda: "Sign in" in "".join(desk.plugin.shown()))
    return desk.agent.asks[0]


async def test_a_task_that_waits_for_a_sign_in_goes_on_by_itself_and_answers_where_it_asked(store: Store) -> None:
    agent = FakeAgent(SignsIn())
    async with world(store, agent) as desk:
        ask = await demanded(desk)
        await until(lambda: len(agent.gets) > 2)
        agent.tasks[task_id(ask)] = task(ask, TaskState.WORKING, time=2.0)
        await until(lambda: desk.tracker.at_work)
        agent.tasks[task_id(ask)] = task(ask, TaskState.COMPLETED, "three invoices", time=3.0)
        shown = await desk.plugin.until(2)
        assert shown == ["Sign in at https://idp.example", "three invoices"]
    assert len(agent.asks) == 1


@pytest.mark.parametrize("asks", [TaskState.AUTH_REQUIRED, TaskState.INPUT_REQUIRED])
async def test_what_the_stream_says_right_after_a_question_is_not_lost(store: Store, asks: TaskState) -> None:
    async def hurries(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, asks, message="Sign in", time=1.0)
        yield status(ask, TaskState.WORKING, time=2.0)
        yield task(ask, TaskState.COMPLETED, "three invoices", time=3.0)

    async with world(store, FakeAgent(hurries)) as desk:
        await desk.says("my invoices")
        assert await desk.plugin.until(2) == ["Sign in", "three invoices"]


async def test_a_sign_in_is_waited_for_over_restarts(store: Store) -> None:
    agent = FakeAgent(SignsIn())
    async with world(store, agent) as before:
        ask = await demanded(before)
        await until(lambda: before.outbox.at_work == 0)
    agent.tasks[task_id(ask)] = task(ask, TaskState.COMPLETED, "three invoices", time=3.0)
    async with world(store, agent) as after:
        await until(lambda: "three invoices" in after.plugin.shown())
    assert len(agent.asks) == 1


async def test_the_person_may_answer_the_demand_and_the_watch_ends(store: Store) -> None:
    agent = FakeAgent(SignsIn())
    async with world(store, agent, patience=replace(SOON, quiet=60.0)) as desk:
        ask = await demanded(desk)
        await desk.says("signed in")
        await until(lambda: "as you say" in desk.plugin.shown())
        assert agent.asks[1].task_id == task_id(ask)
        asked = len(agent.gets)
        await desk.says("/status")
        await desk.plugin.until(3)
        assert len(agent.gets) <= asked + 1
    assert await store.watched() == []


async def test_a_demand_that_was_cancelled_is_not_watched_any_more(store: Store) -> None:
    agent = FakeAgent(SignsIn())
    async with world(store, agent) as desk:
        ask = await demanded(desk)
        await desk.says("/cancel")
        await until(lambda: agent.cancels == [task_id(ask)])
        agent.tasks[task_id(ask)] = task(ask, TaskState.COMPLETED, "too late", time=9.0)
        await desk.says("/status")
        await until(lambda: "Nothing is being worked on." in desk.plugin.shown())
        assert "too late" not in desk.plugin.shown()


async def test_after_a_sign_in_the_task_may_ask_something_else(store: Store) -> None:
    agent = FakeAgent(SignsIn())
    async with world(store, agent) as desk:
        ask = await demanded(desk)
        agent.tasks[task_id(ask)] = task(ask, TaskState.INPUT_REQUIRED, message="Which year?", time=2.0)
        assert await desk.plugin.until(2) == ["Sign in at https://idp.example", "Which year?"]
        await desk.says("2026")
        await until(lambda: "as you say" in desk.plugin.shown())
        assert agent.asks[1].task_id == task_id(ask)


async def test_a_demanding_task_that_its_agent_forgot_is_told_as_lost(store: Store) -> None:
    agent = FakeAgent(SignsIn())
    async with world(store, agent) as desk:
        await demanded(desk)
        agent.tasks.clear()
        await until(lambda: "no longer knows this task" in "".join(desk.plugin.shown()))


@pytest.mark.parametrize("state", [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED])
@pytest.mark.parametrize("is_restarted", [False, True])
async def test_a_push_resumes_a_task_that_waits_for_somebody(
    store: Store, state: TaskState, is_restarted: bool
) -> None:
    async def asks(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, state, message="Well?", time=1.0)

    agent = pushing(asks)
    async with world(store, agent, patience=SLOW) as before:
        await before.says("hi")
        await until(lambda: "Well?" in before.plugin.shown())
        target = await given(before)
        done = task(agent.asks[0], TaskState.COMPLETED, "settled elsewhere", time=5.0)
        agent.tasks[done.task_id] = done
        if not is_restarted:
            before.tracker.pushed(target, done)
            await until(lambda: "settled elsewhere" in before.plugin.shown())
            return
        await until(lambda: before.outbox.at_work == 0)
    agent.tasks[done.task_id] = Declined("not now")
    async with world(store, agent, patience=SLOW) as after:
        known = after.pushes.find(target.id)
        assert known is not None
        agent.tasks[done.task_id] = done
        after.tracker.pushed(known, done)
        await until(lambda: "settled elsewhere" in after.plugin.shown())


async def test_an_old_push_that_comes_after_the_question_changes_nothing(store: Store) -> None:
    agent = pushing(SignsIn())
    async with world(store, agent, patience=SLOW) as desk:
        ask = await demanded(desk)
        target = await given(desk)
        asked = len(agent.gets)
        desk.tracker.pushed(target, status(ask, TaskState.WORKING, time=0.5))
        await until(lambda: len(agent.gets) > asked and not desk.tracker.pushes_waiting)
        assert desk.tracker.at_work == 0
        await desk.says("signed in")
        await until(lambda: "as you say" in desk.plugin.shown())
        assert agent.asks[1].task_id == task_id(ask)


# ---------------------------------------------------------------------------------------------- another's task


@pytest.mark.case("F17")
@pytest.mark.parametrize("end", [TaskState.COMPLETED, TaskState.FAILED, TaskState.WORKING])
async def test_an_agent_that_answers_with_the_task_of_another_agent_touches_nothing_of_it(
    store: Store, end: TaskState
) -> None:
    async def impostor(ask: Ask) -> AsyncIterator[TaskEvent]:
        stolen = agent.asks[0]
        yield Snapshot(task_id(stolen), context(stolen), end, 99.0, (), (Artifact("a1", (Text("not yours"),)),))

    parked = Parked()
    agent, other = FakeAgent(parked), FakeAgent(impostor, name="other")
    routes = Routes("agent", (Route("other", command="ask"),))
    async with world(store, agent, routes=routes, others=[other], patience=replace(SOON, quiet=60.0)) as desk:
        await desk.says("work")
        await until(lambda: agent.tasks)
        await desk.says("/ask about it", sender="bob")
        await until(lambda: other.gets if end is TaskState.WORKING else desk.plugin.shown("bob"))
        parked.released.set()
        assert await desk.plugin.until(1) == ["WORK"]
        assert desk.events.of("turn.failed") == []
    assert (len(agent.asks), agent.gets, agent.cancels) == (1, [], [])


@pytest.mark.case("F17")
@pytest.mark.parametrize("resubmits", [False, True])
@pytest.mark.parametrize("is_listed", [False, True])
async def test_an_agent_that_answers_with_the_task_of_another_conversation_shows_nobody_what_is_anothers(
    store: Store, resubmits: bool, is_listed: bool
) -> None:
    """It may not know itself whose is whose; the gateway, which could follow the task, does."""
    released = asyncio.Event()

    async def mixes_up(ask: Ask) -> AsyncIterator[TaskEvent]:
        first = agent.asks[0]
        yield task(first, TaskState.WORKING)
        await released.wait()
        yield task(first, TaskState.COMPLETED, "for ann alone")

    async def finds(context_id: str | None, message_id: str) -> Snapshot | None:
        del context_id, message_id
        return task(agent.asks[0], TaskState.WORKING)

    agent = FakeAgent(mixes_up)
    if is_listed:
        agent.find = finds  # type: ignore[method-assign]
    async with world(store, agent, resubmits=resubmits, patience=replace(SOON, quiet=60.0)) as desk:
        await desk.says("work")
        await until(lambda: agent.tasks)
        await desk.says("hello", sender="bob")
        await until(lambda: "cannot tell whether the agent got" in "".join(desk.plugin.shown("bob")))
        released.set()
        assert await desk.plugin.until(1) == ["for ann alone"]
        assert "for ann alone" not in desk.plugin.shown("bob")
        assert desk.events.of("task.foreign_event")
        assert desk.events.of("turn.failed") == []
    assert len(agent.asks) == 2


@pytest.mark.case("F17")
@pytest.mark.parametrize("claims", [TaskState.INPUT_REQUIRED, TaskState.COMPLETED, TaskState.WORKING])
@pytest.mark.parametrize("rests", [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED, TaskState.COMPLETED])
@pytest.mark.parametrize("restarts", [False, True])
async def test_a_task_that_asks_or_has_ended_is_still_its_own_conversation_s_and_shown_to_no_other(
    store: Store, rests: TaskState, claims: TaskState, restarts: bool
) -> None:
    async def mixes_up(ask: Ask) -> AsyncIterator[TaskEvent]:
        state = rests if len(agent.asks) == 1 else claims
        yield task(agent.asks[0], state, "for Ann alone", message="Which day, Ann?", time=1.0)

    agent = FakeAgent(mixes_up)
    async with world(store, agent) as desk:
        await desk.says("work")
        await until(lambda: desk.plugin.shown())
        if not restarts:
            await mix_up(desk)
    if restarts:
        async with world(store, agent) as desk:
            await mix_up(desk)


async def mix_up(desk: World) -> None:
    """Bob is told that nobody knows, and nothing of what is Ann's."""
    await desk.says("hello", sender="bob", keys=("bob:1",), message_id="b1")
    await until(lambda: "cannot tell whether the agent got" in "".join(desk.plugin.shown("bob")))
    assert "Ann" not in "".join(desk.plugin.shown("bob"))
    assert desk.events.of("task.foreign_event")
    assert desk.events.of("turn.failed") == []


@pytest.mark.case("F17")
async def test_no_preview_shows_the_task_of_another_conversation(store: Store) -> None:
    async def mixes_up(ask: Ask) -> AsyncIterator[TaskEvent]:
        if len(agent.asks) == 1:
            yield task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=1.0)
        else:
            first = agent.asks[0]
            yield ArtifactUpdate(task_id(first), context(first), Artifact("a1", (Text("for ann alone"),)))
            await asyncio.Event().wait()

    agent, plugin = FakeAgent(mixes_up), FakePlugin(Capabilities(previews=True, preview_interval=0.01))
    agent.find_error = Unreachable("busy")  # so that the message is looked for a while
    async with world(store, agent, plugin) as desk:
        await desk.says("work")
        await desk.plugin.until(1)
        await desk.says("hello", sender="bob")
        await until(lambda: "cannot tell whether the agent got" in "".join(desk.plugin.shown("bob")))
        assert "for ann alone" not in str(plugin.frames)


async def test_a_task_that_its_conversation_goes_on_with_is_nobody_elses(store: Store) -> None:
    """Some agents keep one task for all of a context, and answer the next message with it."""
    released = asyncio.Event()

    async def keeps_one(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(agent.asks[0], TaskState.WORKING)
        await released.wait()
        yield task(agent.asks[0], TaskState.COMPLETED, "for both")

    agent = FakeAgent(keeps_one)
    async with world(store, agent, patience=replace(SOON, quiet=60.0, foreground=0.01)) as desk:
        await desk.says("one")
        await until(lambda: is_waiting(store))
        await desk.says("two")
        await until(lambda: len(agent.asks) == 2)
        released.set()
        assert await desk.plugin.until(2) == ["for both", "for both"]
        assert desk.events.of("task.foreign_event") == []
        await until(lambda: not desk.tracker.holders._held)


# ---------------------------------------------------------------------------------------------- silence


@pytest.mark.case("A2A-19")
async def test_a_task_that_does_not_move_after_its_question_was_answered_is_shown_to_its_owner_once(
    store: Store,
) -> None:
    async def deaf(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.INPUT_REQUIRED, message="May I?", time=1.0)

    agent = FakeAgent(deaf)
    patience = replace(SOON, stale=0.1)
    async with world(store, agent, patience=patience) as desk:
        await desk.says("do it")
        await until(lambda: "May I?" in desk.plugin.shown())
        await desk.says("yes")
        await until(lambda: desk.events.of("task.silent"))
        asked = len(agent.gets)
        await until(lambda: len(agent.gets) > asked + 5)
        await until(lambda: task_id(agent.asks[0]) in "".join(desk.plugin.shown()))
        assert "".join(desk.plugin.shown()).count("Nothing new of this") == 1
        await until(lambda: desk.outbox.at_work == 0)
    async with world(store, agent, patience=patience) as after:
        await until(lambda: after.events.of("task.silent"))
        asked = len(agent.gets)
        await until(lambda: len(agent.gets) > asked + 5)
        assert "Nothing new" not in "".join(after.plugin.shown())


@pytest.mark.parametrize("asked_before", [False, True])
async def test_a_question_that_an_agent_says_each_time_is_shown_though_its_clock_was_set_back(
    store: Store, asked_before: bool
) -> None:
    async def set_back(ask: Ask) -> AsyncIterator[TaskEvent]:
        if asked_before and ask.task_id is None:
            yield task(ask, TaskState.INPUT_REQUIRED, message="Which town?", time=20.0)
            return
        yield status(ask, TaskState.WORKING, time=10.0)
        agent.tasks[task_id(ask)] = task(ask, TaskState.INPUT_REQUIRED, message="Which day?", time=5.0)

    agent = FakeAgent(set_back)
    async with world(store, agent) as desk:
        await desk.says("book")
        if asked_before:
            await until(lambda: "Which town?" in desk.plugin.shown())
            await desk.says("Bath")
        await until(lambda: "Which day?" in desk.plugin.shown())


async def test_what_only_a_slow_copy_of_an_agent_says_once_is_not_shown(store: Store) -> None:
    """Behind a load balancer one copy may not know yet that the task goes on."""

    async def works(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield status(ask, TaskState.WORKING, time=10.0)

    class Copies(FakeAgent):
        async def get(self, task_of: TaskRef) -> Snapshot:
            said = [
                task(self.asks[0], TaskState.INPUT_REQUIRED, message="Which day?", time=5.0),
                task(self.asks[0], TaskState.WORKING, time=10.0),
            ]
            done = task(self.asks[0], TaskState.COMPLETED, "done", time=20.0)
            self.tasks[task_of.task_id] = said[len(self.gets) % 2] if len(self.gets) < 20 else done
            return await super().get(task_of)

    agent = Copies(works)
    async with world(store, agent) as desk:
        await desk.says("book")
        await until(lambda: "done" in "".join(desk.plugin.shown()))
        assert "Which day?" not in desk.plugin.shown()


async def test_an_open_stream_that_says_nothing_is_no_sign_of_life(store: Store) -> None:
    silent = Silent()
    agent = FakeAgent(silent)
    async with world(store, agent, patience=replace(SOON, stale=0.1)) as desk:
        await desk.says("hi")
        await until(lambda: desk.events.of("task.silent"))
        agent.tasks[task_id(agent.asks[0])] = task(agent.asks[0], TaskState.COMPLETED, "at last", time=9.0)
        await until(lambda: "at last" in desk.plugin.shown())


# ---------------------------------------------------------------------------------------------- a paused agent


async def test_a_message_to_a_paused_agent_is_kept_told_about_once_and_sent_when_it_may_be(store: Store) -> None:
    agent = FakeAgent()
    agent.errors = [AgentPaused("its card has changed") for _ in range(20)]
    async with world(store, agent, patience=replace(SOON, give_up=0.0)) as desk:
        await desk.says("hi")
        await until(lambda: "HI" in desk.plugin.shown())
        told = "".join(desk.plugin.shown())
        assert told.count("description has changed") == 1
    assert len({ask.message_id for ask in agent.asks}) == 1


async def test_a_message_to_an_agent_that_stays_paused_is_given_up_in_the_end(store: Store) -> None:
    agent = FakeAgent()
    agent.errors = [AgentPaused("its card has changed") for _ in range(500)]
    async with world(store, agent, patience=replace(SOON, paused=0.05)) as desk:
        await desk.says("hi")
        await until(lambda: "could not be reached" in "".join(desk.plugin.shown()))


async def test_the_fallback_of_a_paused_agent_is_asked_at_once(store: Store) -> None:
    agent, helper = FakeAgent(), FakeAgent(name="helper")
    agent.errors = [AgentPaused("its card has changed") for _ in range(20)]
    routes = Routes("agent", fallbacks={"agent": "helper"})
    async with world(store, agent, routes=routes, others=[helper], patience=replace(SOON, fallback=60.0)) as desk:
        await desk.says("hi")
        await until(lambda: "HI" in desk.plugin.shown())
    assert (len(agent.asks), len(helper.asks)) == (1, 1)
