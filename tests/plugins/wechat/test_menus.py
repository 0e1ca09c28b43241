"""Choices: a menu where a customer-service message may be sent, else words; either is answered by one message."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from core.agent import Ask, TaskEvent, TaskState
from core.delivery import Piece
from core.parts import Text, text_of
from core.patience import Patience
from core.store import Store
from plugins.wechat.render import payloads_of
from tests.core.turns import is_waiting
from tests.doubles.agent import FakeAgent, task, task_id
from tests.fakes.wechat import FakeWechat
from tests.plugins.wechat.account import ANN, account
from tests.waiting import until

LINES = ("1. book a **table**", "2. book a car")
WHICH = Piece("notice:which", (Text("Which one?\n" + "\n".join(LINES)),), LINES)


def test_a_piece_with_choices_is_one_message_with_its_words_and_its_lines_as_they_are_to_be_written() -> None:
    (payload,) = payloads_of(WHICH)
    assert payload["text"] == "Which one?\n1. book a table\n2. book a car"
    assert payload["menu"] == {"head": "Which one?", "lines": list(LINES)}


def test_a_piece_that_needs_several_messages_has_no_menu() -> None:
    long = replace(WHICH, parts=(Text("Which one? " * 300 + "\n" + "\n".join(LINES)),))
    assert [payload.get("menu") for payload in payloads_of(long)] == [None, None]


class Asks:
    """An agent that asks "which day?" of whatever is new, of the first message only when it is let go."""

    def __init__(self) -> None:
        self.goes_on = asyncio.Event()

    async def __call__(self, ask: Ask) -> AsyncIterator[TaskEvent]:
        words = text_of(ask.parts)
        if ask.task_id is not None:
            yield task(ask, TaskState.COMPLETED, f"{words} it is", time=2.0)
            return
        if words == "a table":
            yield task(ask, TaskState.WORKING)
            await self.goes_on.wait()
        yield task(ask, TaskState.INPUT_REQUIRED, message=f"{words}: which day?", time=1.0)


@pytest.mark.parametrize(
    ("may_send", "chosen"),
    [(True, {"Content": "2. a car", "bizmsgmenuid": "2"}), (False, {"Content": "2"})],
    ids=["by a click", "by a number"],
)
async def test_a_person_chooses_which_of_the_open_questions_was_answered(
    platform: FakeWechat, store: Store, may_send: bool, chosen: dict[str, str]
) -> None:
    agent = Asks()
    options = {"patience": Patience(foreground=0.01)}
    async with account(platform, store, FakeAgent(agent), options=options, customer_service=may_send) as there:
        asked = await there.asks("a table")
        await until(lambda: is_waiting(store))
        await there.pushes.says(ANN, "a car")
        await until(lambda: "a car: which day?" in there.shown())
        agent.goes_on.set()
        await until(lambda: len(there.desk.events.of("delivery.attempted")) == 2)
        await there.pushes.says(ANN, "Friday")
        await until(lambda: there.shown()[-1].endswith("1. a table\n2. a car"))
        assert (len(platform.menus), there.roads()[-1]) == ((1, "service") if may_send else (0, "passive"))
        await there.pushes.sends(ANN, "text", **chosen)
        await until(lambda: there.shown()[-1].endswith("Friday it is"))
        table, car, answer = there.agent.asks
        assert answer.task_id == task_id(car) != task_id(table)
        await asked
