"""What operators see of the records beyond what the store knows: how an answer grows, and no secret."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.agent import TaskState
from core.clock import Instant
from core.delivery import RenderedPiece
from core.envelope import Unreadable
from core.turn import Observation
from gateway.live_records import TEXT_SHOWN, LiveRecords
from gateway.store.records import iso
from gateway.store.sqlite import SqliteStore
from tests.doubles.clock import ManualClock
from tests.store.line import DESK, Line, piece, task

SECRET = "a-token-0123456789"


@dataclass
class Shown:
    line: Line
    records: LiveRecords
    heard: dict[str, Instant] = field(default_factory=dict)  # by turn


@pytest.fixture
async def shown(tmp_path: Path) -> AsyncIterator[Shown]:
    clock, heard = ManualClock(), dict[str, Instant]()
    async with SqliteStore(tmp_path / "desk.db", clock=clock) as store:
        await store.hold()
        yield Shown(Line(store, clock), LiveRecords(store, heard.get, lambda: [SECRET[:7], "", SECRET]), heard)


async def test_a_task_whose_answer_grows_was_heard_with_its_newest_chunk(shown: Shown) -> None:
    turn = await shown.line.begin(await shown.line.say())
    await shown.line.observe(Observation(turn=turn, task=task(turn, TaskState.WORKING)))
    (stored,) = (await shown.records.tasks(limit=9, cursor=None, state=None)).items
    shown.heard[turn.id] = shown.line.clock.time + 60

    (listed,) = (await shown.records.tasks(limit=9, cursor=None, state=None)).items

    assert listed == {**stored, "heard": iso(shown.line.clock.time + 60)}
    one = await shown.records.task(stored["id"])
    assert one is not None
    assert one["heard"] == listed["heard"]
    shown.heard[turn.id] = 0.0
    assert (await shown.records.tasks(limit=9, cursor=None, state=None)).items == [stored]


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({"text": "hello"}, "hello"),
        ({"html": "<b>hello</b>", "plain": "hello"}, "hello"),
        ({"markdown": "**hello**", "files": []}, "**hello**"),
        ({"state": "completed", "time": 1}, '{"state":"completed","time":1}'),
    ],
)
async def test_a_delivery_says_what_it_shows_however_its_channel_calls_it(
    shown: Shown, payload: dict[str, object], words: str
) -> None:
    turn = await shown.line.begin(await shown.line.say())
    await shown.line.answer(turn, RenderedPiece("artifact:1", "hello", (payload,)))
    (listed,) = (await shown.records.deliveries(limit=9, cursor=None, state=None)).items

    delivery = await shown.records.delivery(listed["id"])

    assert delivery is not None
    assert delivery["text"] == words
    assert "text" not in listed
    assert "payload" not in delivery


async def test_a_deliverys_words_are_shown_without_secrets_and_only_then_shortened(shown: Shown) -> None:
    turn = await shown.line.begin(await shown.line.say())
    before = "." * (TEXT_SHOWN - len(SECRET) + 3)
    await shown.line.answer(turn, piece("artifact:1", f"{before}{SECRET} and more words than are shown"))
    (listed,) = (await shown.records.deliveries(limit=9, cursor=None, state=None)).items

    delivery = await shown.records.delivery(listed["id"])

    assert delivery is not None
    assert delivery["text"].startswith(f"{before}[hidden] and")
    assert (len(delivery["text"]), delivery["text"][-1]) == (TEXT_SHOWN + 1, "…")
    assert await shown.records.delivery("0" * 32 + "-1-1") is None


async def test_what_could_not_be_read_is_shown_without_secrets(shown: Shown) -> None:
    await shown.line.store.admit(DESK, (Unreadable(("x",), "1", f"{{{SECRET} {SECRET}".encode(), "torn"),))

    (listed,) = (await shown.records.unreadable(limit=9, cursor=None)).items
    read = await shown.records.unreadable_one(listed["id"])

    assert read is not None
    assert read["body"] == "{[hidden] [hidden]"
    assert await shown.records.unreadable_one("7") is None
