"""Files on the way of a message: kept by the gateway, read for the agent, and kept for the channel that names them."""

from collections.abc import AsyncIterator
from dataclasses import replace

from core.access import Access
from core.agent import Artifact, Ask, TaskEvent, TaskState
from core.delivery import Payload, Piece
from core.files import id_of
from core.parts import File, Part, Text, part_from_json, part_to_json
from core.plugin import Capabilities
from core.store import Store
from tests.doubles.agent import FakeAgent, task
from tests.doubles.files import MemoryFiles
from tests.doubles.plugin import FakePlugin
from tests.doubles.world import world
from tests.waiting import until

PICTURE = b"\x89PNG picture"


class Named(FakePlugin):
    """Its payloads name files by their ids, where it is one that does."""

    def render(self, piece: Piece) -> tuple[Payload, ...]:
        return tuple(
            {"text": part.name, "file": id_of(part.content or b"")} if isinstance(part, File) else {"text": part.text}
            for part in piece.parts
            if isinstance(part, File | Text)
        )


async def drawing(ask: Ask) -> AsyncIterator[TaskEvent]:
    file = File("chart.png", "image/png", size=len(PICTURE), content=PICTURE)
    yield replace(task(ask, TaskState.COMPLETED), artifacts=(Artifact("a1", (Text("Here:"), file)),))


def test_a_stored_file_is_named_in_rows_and_only_there() -> None:
    part = File("a.png", "image/png", size=3, stored="0" * 64)
    assert part_to_json(part) == {
        "file": {"name": "a.png", "media_type": "image/png", "url": "", "size": 3, "stored": "0" * 64}
    }
    assert part_from_json(part_to_json(part)) == part
    assert "stored" not in part_to_json(File("a.png", "image/png"))["file"]


async def test_the_agent_gets_the_bytes_of_a_stored_file_and_the_name_of_one_that_is_gone(store: Store) -> None:
    files = MemoryFiles()
    parts: tuple[Part, ...] = (
        Text("look"),
        File("a.png", "image/png", size=len(PICTURE), stored=await files.keep(PICTURE)),
        File("b.png", "image/png", stored="0" * 64),
    )
    async with world(store, files=files) as there:
        await there.says("", parts=parts)
        await until(lambda: bool(there.agent.asks))
        assert there.agent.asks[0].parts == (
            Text("look"),
            File("a.png", "image/png", size=len(PICTURE), content=PICTURE),
            File("b.png", "image/png"),
        )


async def test_a_file_of_an_answer_is_kept_before_its_delivery_where_the_channel_names_it(store: Store) -> None:
    files, plugin = MemoryFiles(), Named(Capabilities(keeps_files=True))
    async with world(store, FakeAgent(drawing), plugin, files=files) as there:
        await there.says("draw")
        await until(lambda: len(plugin.sent) >= 2)
        assert files.kept == {plugin.sent[1].payload["file"]: PICTURE}


async def test_no_file_is_kept_for_a_channel_that_names_none(store: Store) -> None:
    files, plugin = MemoryFiles(), Named()
    async with world(store, FakeAgent(drawing), plugin, files=files) as there:
        await there.says("draw")
        await until(lambda: len(plugin.sent) >= 2)
        assert files.kept == {}


async def test_a_file_that_cannot_be_kept_does_not_hold_up_its_answer(store: Store) -> None:
    plugin = Named(Capabilities(keeps_files=True))
    async with world(store, FakeAgent(drawing), plugin, files=MemoryFiles(limit=1)) as there:
        await there.says("draw")
        await until(lambda: len(plugin.sent) >= 2)
        assert there.events.of("file.refused")[0]["bytes"] == len(PICTURE)


async def test_whether_a_sender_is_let_in_can_be_asked_before(store: Store) -> None:
    async with world(store, access=Access("allow", "off", frozenset({"ann"}))) as there:
        assert await there.door.lets_in(there.inbound("hello", "ann"))
        assert not await there.door.lets_in(there.inbound("hello", "mallory"))
