"""What the two agents that come along say."""

import asyncio
from collections.abc import Mapping

import pytest

from core.agent import Ask, Reply, Snapshot, TaskState
from core.clock import SystemClock
from core.errors import ConfigurationError, Declined, TaskUnknown
from core.parts import Data, Text, text_of
from gateway.agents import Task
from gateway.agents.concierge import Concierge
from gateway.agents.echo import Echo, Pieces
from gateway.agents.local import LocalAgent
from gateway.agents.making import make_local
from gateway.agents.quick import QuickAgent
from tests.gateway.agents.world import Memory, all_of, ask, last_of, life, outcome, ref, until_said, words

QUICK = Concierge(pace=0)


async def said(text: str) -> str:
    async with life(QUICK, Memory()) as local:
        return words(await last_of(local.send(ask(text))))


async def test_anything_gets_a_greeting_in_the_language_it_was_said_in() -> None:
    assert (await said("good morning")).startswith("Hello! I am the concierge")
    assert (await said("早上好")).startswith("你好！我是前台的礼宾员")


@pytest.mark.parametrize(
    ("wish", "question", "day", "answer"),
    [
        ("Please book a table", "For which day?", "Friday.", "Your table is booked for Friday. Enjoy your meal!"),
        ("我想订一张桌子", "请问订哪一天？", "周五", "已为你订好周五的桌子，祝用餐愉快！"),
        ("帮我订个座位", "请问订哪一天？", "5/1", "已为你订好5/1的桌子，祝用餐愉快！"),
    ],
)
async def test_a_table_is_booked_after_asking_for_the_day(wish: str, question: str, day: str, answer: str) -> None:
    async with life(QUICK, Memory()) as local:
        asked = await last_of(local.send(ask(wish, "m1")))
        booked = await last_of(local.send(ask(day, "m2", ref(asked))))
    assert (asked.state, text_of(asked.message)) == (TaskState.INPUT_REQUIRED, question)
    assert outcome(booked) == (TaskState.COMPLETED, answer)


@pytest.mark.parametrize("wish", ["count to 5", "Count up to 5!", "从1数到5", "数到 5"])
async def test_it_counts_to_the_number_it_is_told(wish: str) -> None:
    assert await said(wish) == "1 2 3 4 5"


async def test_it_counts_no_further_than_a_thousand() -> None:
    assert (await said("count to 1000")).endswith(" 999 1000")
    assert await said("count to 1001") == "I only count to 1000."
    assert await said("数到1001") == "我最多只能数到 1000。"
    assert await said("count to 0") == "There is nothing to count."


async def test_a_count_cut_by_a_restart_goes_on_where_it_was_and_is_whole_at_the_end() -> None:
    memory = Memory()
    async with life(Concierge(pace=0.01), memory) as local:
        task = await until_said(local.send(ask("count to 40")), " 12")
    async with life(Concierge(pace=0), memory) as local:
        stream = local.subscribe(task)
        first = await anext(stream)
        assert isinstance(first, Snapshot)
        assert words(first).startswith("1 2 3 4 5 6 7 8 9 10 11")  # the twelfth was said, perhaps not yet stored
        last = [event async for event in stream][-1]
    assert isinstance(last, Snapshot)
    assert outcome(last) == (TaskState.COMPLETED, " ".join(map(str, range(1, 41))))


async def test_a_count_can_be_cancelled_at_once() -> None:
    async with life(Concierge(pace=60), Memory()) as local:
        task = await until_said(local.send(ask("count to 30")), "1")
        end = await local.cancel(task)
    assert end is not None
    assert outcome(end) == (TaskState.CANCELED, "1")


async def test_echo_repeats_the_words_as_a_bare_message_in_the_same_conversation() -> None:
    echo = QuickAgent("echo", Echo())
    told = Ask("m1", (Text("one"), Data(1), Text("two")), "c1")
    assert await all_of(echo.send(told)) == [Reply("reply-m1", "c1", (Text("one\ntwo"),))]
    assert await all_of(echo.send(told)) == await all_of(echo.send(told))


async def test_echo_says_it_in_pieces_where_it_is_told_how_many() -> None:
    pieces = made("echo", {"chunks": 3})
    assert isinstance(pieces, LocalAgent)

    said = [piece async for piece in Pieces(3).work(Task("abcdefgh"))]

    assert [text_of(piece.parts) for piece in said] == ["abc", "def", "gh"]
    assert [piece.more for piece in said] == [True, True, False]
    with pytest.raises(ConfigurationError, match="chunks must be at least 1"):
        made("echo", {"chunks": 0})


async def test_an_agent_without_tasks_knows_none_and_finds_none() -> None:
    echo = QuickAgent("echo", Echo())
    (reply,) = await all_of(echo.send(ask("hello")))
    assert isinstance(reply, Reply)
    assert reply.context_id == ""  # nor contexts, so that none is stored
    assert await echo.find(None, "m1") is None
    task = ref(Snapshot("t", "c", TaskState.WORKING))
    for question in (echo.get(task), echo.cancel(task), all_of(echo.subscribe(task))):
        with pytest.raises(TaskUnknown):
            await question


async def test_an_answer_that_does_not_come_is_a_definite_no() -> None:
    class Silent:
        async def answer(self, task: Task) -> str:
            raise TimeoutError

    with pytest.raises(Declined):
        await all_of(QuickAgent("silent", Silent()).send(ask("hello")))


# ---------------------------------------------------------------------------------------------- from a configuration


def made(entry: str, options: Mapping[str, object]) -> object:
    return make_local("helper", entry, options, state=Memory(), clock=SystemClock(), tasks=asyncio.TaskGroup())


def test_an_entry_becomes_an_agent_that_has_its_configured_name() -> None:
    echo, concierge = made("echo", {}), made("concierge", {"pace": 0.5})
    assert isinstance(echo, QuickAgent)
    assert isinstance(concierge, LocalAgent)
    assert (echo.name, concierge.name) == ("helper", "helper")


def test_an_unknown_entry_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'concierge'") as refused:
        made("concirge", {})
    assert refused.value.setting == "agents.helper.entry"


def test_options_that_do_not_fit_are_refused_by_name() -> None:
    for options, named in (({"speed": 1}, ".speed"), ({"pace": "quick"}, ".pace"), ({"pace": -1}, "")):
        with pytest.raises(ConfigurationError) as refused:
            made("concierge", options)
        assert refused.value.setting == f"agents.helper.options{named}"
