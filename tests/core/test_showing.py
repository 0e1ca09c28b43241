"""Each address is shown what it is due, once, at its own pace."""

from collections.abc import AsyncIterator

import pytest

from core.agent import Ask, TaskEvent, TaskState
from core.delivery import Payload, Piece, Refusal, Rejected, Sent, Unknown
from core.errors import (
    StoreUnavailable,
)
from core.pacing import Limits
from core.parts import text_of
from core.plugin import Accepted
from core.store import Store
from tests.doubles.agent import FakeAgent, task
from tests.doubles.plugin import FakePlugin
from tests.doubles.world import world
from tests.waiting import until


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


@pytest.mark.case("TG-31")
async def test_what_is_queued_follows_a_chat_that_moved(store: Store) -> None:
    plugin = FakePlugin()
    plugin.outcomes.append(Rejected(Refusal.MOVED, "upgraded", moved_to="-100"))
    async with world(store, plugin=plugin) as desk:
        await desk.says("hi", chat="group", is_direct=False)
        assert await plugin.until(1, "-100") == ["HI"]


async def test_the_pace_a_channel_allows_is_kept(store: Store) -> None:
    async with world(store, limits=Limits(per_chat_second=1)) as desk:
        await desk.says("one")
        await desk.says("two")
        await desk.plugin.until(1)
        await until(lambda: len(desk.events.of("turn.finished")) == 2)
        assert desk.plugin.shown() == ["ONE"]


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
