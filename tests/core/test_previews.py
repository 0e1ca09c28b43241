"""Unfinished text: the answer takes its place, and a cancel leaves what was seen of it."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from core.agent import Artifact, ArtifactUpdate, Ask, TaskEvent, TaskState
from core.delivery import Delivery, Op, Outcome, Refusal, Rejected
from core.errors import CancelRefused
from core.parts import Text
from core.plugin import Capabilities, PreviewFrame
from core.store import Store
from tests.doubles.agent import FakeAgent, Parked, context, task, task_id
from tests.doubles.plugin import FakePlugin
from tests.doubles.world import world
from tests.waiting import until


class Previewing(FakePlugin):
    """A channel that shows unfinished text as a message, which the final answer replaces."""

    def __init__(self) -> None:
        super().__init__(Capabilities(replaces=True, previews=True, preview_interval=0.01))

    async def preview(self, frame: PreviewFrame) -> str:
        await super().preview(frame)
        return "preview-1"


@pytest.mark.case("TG-24")
@pytest.mark.case("TG-15")
async def test_the_final_answer_takes_the_place_of_its_preview_even_when_it_had_to_wait(store: Store) -> None:
    plugin, parked = Previewing(), Parked()
    plugin.outcomes.append(Rejected(Refusal.THROTTLED, "flood", retry_after=0.02))

    async def streams(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        yield ArtifactUpdate(task_id(ask), context(ask), Artifact("a1", (Text("so far"),)))
        await parked.released.wait()
        yield task(ask, TaskState.COMPLETED, "so far and no further")

    async with world(store, FakeAgent(streams), plugin) as desk:
        await desk.says("hi")
        await until(lambda: any(frame.text == "so far" for frame in plugin.frames))
        parked.released.set()
        await until(lambda: plugin.sent)
        [final] = plugin.sent
        assert (final.op, final.replaces) == (Op.REPLACE, ("preview-1",))


async def test_what_an_agent_says_first_is_previewed(store: Store) -> None:
    plugin = Previewing()

    async def streams(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield so_far(ask, "at once")
        await asyncio.Event().wait()

    async with world(store, FakeAgent(streams), plugin) as desk:
        await desk.says("hi")
        await until(lambda: [frame.text for frame in plugin.frames] == ["at once"])


async def test_a_preview_shown_before_a_restart_is_replaced_after_it(store: Store) -> None:
    plugin = Previewing()

    async def streams(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        yield ArtifactUpdate(task_id(ask), context(ask), Artifact("a1", (Text("so far"),)))
        await asyncio.Event().wait()

    agent = FakeAgent(streams)
    async with world(store, agent, plugin) as before:
        await before.says("hi")
        await until(lambda: _is_previewed(store))
    agent.tasks[task_id(agent.asks[0])] = task(agent.asks[0], TaskState.COMPLETED, "the end")
    async with world(store, agent, plugin):
        await until(lambda: plugin.sent)
        assert plugin.sent[0].replaces == ("preview-1",)


async def _is_previewed(store: Store) -> bool:
    return any(turn.preview for turn in await store.unfinished())


def so_far(ask: Ask, *texts: str) -> ArtifactUpdate:
    return ArtifactUpdate(task_id(ask), context(ask), Artifact("a1", tuple(Text(text) for text in texts)))


@pytest.mark.parametrize("refused", [False, True], ids=["the agent stops", "the agent refuses to stop"])
async def test_what_was_seen_before_a_cancel_stays_in_the_place_of_its_preview(store: Store, refused: bool) -> None:
    plugin, goes_on = Previewing(), asyncio.Event()

    async def streams(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        yield so_far(ask, "so far")
        await goes_on.wait()
        yield so_far(ask, "so far and no further")
        await asyncio.Event().wait()

    agent = FakeAgent(streams)
    agent.cancel_error = CancelRefused("no") if refused else None
    async with world(store, agent, plugin) as desk:
        await desk.says("count")
        await until(lambda: any(frame.text == "so far" for frame in plugin.frames))
        plugin.gate = asyncio.Event()
        await desk.says("/cancel")
        await until(lambda: agent.cancels)
        goes_on.set()
        plugin.gate.set()
        end = "The agent cannot stop" if refused else "Cancelled."
        await until(lambda: end in "".join(plugin.shown()))
        turn = next(delivery.turn for delivery in plugin.sent if delivery.replaces == ("preview-1",))
        seen, *_ = [delivery for delivery in plugin.sent if delivery.turn == turn]
        assert (seen.op, seen.payload["text"]) == (Op.REPLACE, "so far")
        assert "no further" not in "".join(plugin.shown())
        assert not any("no further" in frame.text for frame in plugin.frames)


async def test_a_cancel_before_anything_was_seen_leaves_only_the_notice(store: Store) -> None:
    plugin, parked = FakePlugin(), Parked()

    async def streams(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        yield so_far(ask, "written, and shown to nobody")
        await parked.released.wait()

    agent = FakeAgent(streams)
    async with world(store, agent, plugin) as desk:
        await desk.says("count")
        await until(lambda: agent.asks)
        await desk.says("/cancel")
        await until(lambda: "Cancelled." in plugin.shown())
        assert "written" not in "".join(plugin.shown())


class Typing(FakePlugin):
    """A channel that shows a sign of activity alone, and whose answer to the final message never comes."""

    def __init__(self) -> None:
        super().__init__(Capabilities(activity_interval=0.01))
        self.shown_before_the_answer: int | None = None

    async def send(self, delivery: Delivery) -> Outcome:
        self.shown_before_the_answer = len(self.frames)
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")


@pytest.mark.case("TG-25")
async def test_the_sign_of_activity_ends_when_the_answer_begins_to_be_sent_even_where_that_hangs(store: Store) -> None:
    plugin, parked = Typing(), Parked()

    async def works(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.WORKING)
        await parked.released.wait()
        yield task(ask, TaskState.COMPLETED, "done")

    async with world(store, FakeAgent(works), plugin) as desk:
        await desk.says("hi")
        await until(lambda: len(plugin.frames) >= 2)
        parked.released.set()
        await until(lambda: plugin.shown_before_the_answer is not None)
        await until(lambda: not any(each.get_name().startswith("preview ") for each in asyncio.all_tasks()))
        assert len(plugin.frames) == plugin.shown_before_the_answer
