"""Routes at work: by command, by choice, and past an agent that is down."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from core.access import Access
from core.agent import Ask, TaskEvent, TaskState
from core.errors import Declined, NotAccepted, NotAuthorised, OutcomeUnknown
from core.parts import text_of
from core.patience import Patience
from core.routes import Route, Routes
from core.store import Store
from tests.doubles.agent import FakeAgent, Parked, status, task
from tests.doubles.world import SOON, World, world
from tests.waiting import until

CALLED = Routes("agent", (Route("helper", command="ask"),))
CHOICE = Routes("agent", (Route("helper", command="ask"), Route("far", chat="elsewhere")), may_choose=True)
STANDS_IN = Routes("agent", fallbacks={"agent": "helper"})
DOWN = NotAccepted("connection refused")


def texts(agent: FakeAgent) -> list[str]:
    return [text_of(ask.parts) for ask in agent.asks]


# ------------------------------------------------------------------ commands of routes


async def test_a_command_of_a_route_reaches_its_agent_as_it_was_written(store: Store) -> None:
    helper = FakeAgent(name="helper")
    async with world(store, routes=CALLED, others=[helper]) as desk:
        await desk.says("/Ask what is new?")
        assert await desk.plugin.until(1) == ["/ASK WHAT IS NEW?"]
        await desk.says("hello")
        await desk.plugin.until(2)
    assert (texts(helper), texts(desk.agent)) == (["/Ask what is new?"], ["hello"])


async def test_a_command_that_no_route_names_here_is_unknown(store: Store) -> None:
    routes = Routes("agent", (Route("helper", chat="elsewhere", command="ask"),))
    async with world(store, routes=routes, others=[FakeAgent(name="helper")]) as desk:
        await desk.says("/ask me")
        assert "/ask" in (await desk.plugin.until(1))[0]
        assert "do not know" in "".join(desk.plugin.shown())
    assert desk.agent.asks == []


async def test_a_forwarded_command_calls_nobody(store: Store) -> None:
    async with world(store, routes=CALLED, others=[FakeAgent(name="helper")]) as desk:
        await desk.says("/ask me", is_forward=True)
        assert await desk.plugin.until(1) == ["/ASK ME"]
    assert texts(desk.agent) == ["/ask me"]


async def test_in_a_group_a_command_of_a_route_is_meant_for_the_bot(store: Store) -> None:
    helper = FakeAgent(name="helper")
    async with world(store, routes=CALLED, others=[helper], access=Access("open", "mention")) as desk:
        await desk.says("/ask me", chat="group", is_direct=False, is_addressed=False)
        await desk.says("/other one", chat="group", is_direct=False, is_addressed=False)
        assert await desk.plugin.until(1, "group") == ["/ASK ME"]
    assert (texts(helper), desk.agent.asks) == (["/ask me"], [])


async def test_a_message_for_another_agent_does_not_wait_behind_the_one_at_work(store: Store) -> None:
    parked, helper = Parked(), FakeAgent(name="helper")
    async with world(store, FakeAgent(parked), routes=CALLED, others=[helper]) as desk:
        await desk.says("slow")
        await until(lambda: desk.agent.asks)
        await desk.says("/ask quick")
        assert await desk.plugin.until(1) == ["/ASK QUICK"]
        await desk.says("behind")
        parked.released.set()
        assert await desk.plugin.until(3) == ["/ASK QUICK", "SLOW", "BEHIND"]
    assert texts(desk.agent) == ["slow", "behind"]


async def test_an_open_question_is_not_answered_by_a_command_for_another_agent(store: Store) -> None:
    async def asks(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.INPUT_REQUIRED, message="which day?")

    helper = FakeAgent(name="helper")
    async with world(store, FakeAgent(asks), routes=CALLED, others=[helper]) as desk:
        await desk.says("book it")
        await desk.plugin.until(1)
        await desk.says("/ask the time")
        assert (await desk.plugin.until(2))[1] == "/ASK THE TIME"
        await desk.says("monday")
        await until(lambda: len(desk.agent.asks) == 2)
    assert desk.agent.asks[1].task_id is not None


# ------------------------------------------------------------------ /agents


async def said(desk: World, text: str, sender: str = "ann", **fields: object) -> str:
    before = len(desk.plugin.sent)
    await desk.says(text, sender, **fields)
    await until(lambda: len(desk.plugin.sent) > before)
    await until(lambda: desk.outbox.at_work == 0)
    return "".join(str(delivery.payload["text"]) for delivery in desk.plugin.sent[before:])


async def test_the_agents_of_a_chat_are_listed_with_who_answers_now(store: Store) -> None:
    async with world(store, routes=CHOICE, others=[FakeAgent(name="helper")]) as desk:
        listed = await said(desk, "/agents")
        assert "• helper (/ask)\n• agent (now)" in listed
        assert "far" not in listed
        assert "/agents NAME" in listed
        chinese = await said(desk, "/智能体", language="zh-CN")
    assert "• helper（/ask）\n• agent（当前）" in chinese


async def test_a_chosen_agent_answers_until_another_is_chosen(store: Store) -> None:
    helper = FakeAgent(name="helper")
    async with world(store, routes=CHOICE, others=[helper]) as desk:
        assert "helper answers here" in await said(desk, "/agents Helper")
        for text in ("one", "two"):
            await said(desk, text)
        assert "helper (/ask, now)" in await said(desk, "/agents")
        await said(desk, "three", "bob")
        await said(desk, "/agents agent")
        await said(desk, "four")
    assert (texts(helper), texts(desk.agent)) == (["one", "two"], ["three", "four"])


async def test_a_choice_outlives_a_restart_and_is_left_to_the_gateway_again_by_auto(store: Store) -> None:
    helper = FakeAgent(name="helper")
    async with world(store, routes=CHOICE, others=[helper]) as desk:
        await said(desk, "/agents helper")
    async with world(store, routes=CHOICE, others=[helper]) as desk:
        await said(desk, "one", keys=("again:1",))
        assert "I choose" in await said(desk, "/agents auto", keys=("again:2",))
        await said(desk, "two", keys=("again:3",))
    assert (texts(helper), texts(desk.agent)) == (["one"], ["two"])


async def test_a_command_is_stronger_than_a_choice(store: Store) -> None:
    helper = FakeAgent(name="helper")
    async with world(store, routes=CHOICE, others=[helper]) as desk:
        await said(desk, "/agents agent")
        await said(desk, "/ask this")
        await said(desk, "that")
    assert (texts(helper), texts(desk.agent)) == (["/ask this"], ["that"])


@pytest.mark.parametrize("allowed", [CALLED, Routes("agent")], ids=["choosing is off", "it is gone from the table"])
async def test_what_the_routes_do_not_allow_any_more_is_not_chosen_any_more(store: Store, allowed: Routes) -> None:
    helper = FakeAgent(name="helper")
    async with world(store, routes=CHOICE, others=[helper]) as desk:
        await said(desk, "/agents helper")
        desk.routes = allowed
        await said(desk, "one")
        desk.routes = CHOICE
        await said(desk, "two")
    assert (texts(helper), texts(desk.agent)) == (["two"], ["one"])


async def test_only_an_agent_of_the_chats_routes_can_be_chosen(store: Store) -> None:
    async with world(store, routes=CHOICE, others=[FakeAgent(name="helper"), FakeAgent(name="far")]) as desk:
        for name in ("far", "nobody"):
            assert f"No agent called {name}" in await said(desk, f"/agents {name}")
        await said(desk, "hello")
        desk.routes = CALLED
        assert "cannot be chosen" in await said(desk, "/agents helper")
        assert "Choose" not in await said(desk, "/agents")
    assert texts(desk.agent) == ["hello"]


# ------------------------------------------------------------------ an agent that is down


async def test_an_agent_that_takes_nothing_is_stood_in_for_and_the_person_told(store: Store) -> None:
    helper, agent = FakeAgent(name="helper"), FakeAgent()
    agent.errors = [DOWN] * 100
    async with world(store, agent, routes=STANDS_IN, others=[helper]) as desk:
        await desk.says("hello")
        shown = await desk.plugin.until(3)
        assert "".join(shown[:-1]) == "agent does not answer at the moment; I am asking helper instead."
        assert shown[-1] == "HELLO"
        [event] = desk.events.of("turn.fell_back")
        assert (event["agent"], event["fallback"]) == ("agent", "helper")
    assert {ask.message_id for ask in agent.asks} == {ask.message_id for ask in helper.asks}


async def test_each_agent_keeps_a_context_of_its_own(store: Store) -> None:
    helper, agent = FakeAgent(name="helper"), FakeAgent()
    async with world(store, agent, routes=STANDS_IN, others=[helper]) as desk:
        await desk.says("one")
        await desk.plugin.until(1)
        agent.errors = [DOWN] * 1000
        await desk.says("two")
        await desk.plugin.until(4)
        await desk.says("three")
        await until(lambda: len(helper.asks) == 2)
    assert agent.asks[1].context_id is not None
    assert helper.asks[0].context_id is None
    assert helper.asks[1].context_id not in (None, agent.asks[1].context_id)


async def test_an_agent_that_asks_for_patience_beyond_ours_is_stood_in_for_at_once(store: Store) -> None:
    helper, agent = FakeAgent(name="helper"), FakeAgent()
    agent.errors = [NotAccepted("busy", retry_after=3600)]
    async with world(store, agent, routes=STANDS_IN, others=[helper], patience=Patience(fallback=60)) as desk:
        await desk.says("hello")
        await until(lambda: helper.asks)
    assert len(agent.asks) == 1


async def test_an_agent_that_refuses_our_credentials_is_stood_in_for(store: Store) -> None:
    helper, agent = FakeAgent(name="helper"), FakeAgent()
    agent.errors = [NotAuthorised("401")]
    async with world(store, agent, routes=STANDS_IN, others=[helper]) as desk:
        await desk.says("hello")
        await until(lambda: helper.asks)


async def test_a_short_outage_is_waited_out(store: Store) -> None:
    helper, agent = FakeAgent(name="helper"), FakeAgent()
    agent.errors = [DOWN]
    patience = Patience(retry_first=0.005, fallback=60)
    async with world(store, agent, routes=STANDS_IN, others=[helper], patience=patience) as desk:
        await desk.says("hello")
        assert await desk.plugin.until(1) == ["HELLO"]
    assert helper.asks == []


async def test_an_agent_that_declines_is_not_down(store: Store) -> None:
    helper, agent = FakeAgent(name="helper"), FakeAgent()
    agent.errors = [Declined("not my trade")]
    async with world(store, agent, routes=STANDS_IN, others=[helper]) as desk:
        await desk.says("hello")
        await desk.plugin.until(1)
    assert helper.asks == []


@pytest.mark.parametrize("resubmits", [False, True])
async def test_what_an_agent_may_have_is_never_given_to_another(store: Store, resubmits: bool) -> None:
    helper, agent = FakeAgent(name="helper"), FakeAgent()
    agent.errors = [OutcomeUnknown("cut"), *[DOWN] * 1000]
    options: dict[str, Any] = {"routes": STANDS_IN, "others": [helper], "resubmits": resubmits}
    async with world(store, agent, **options) as desk:
        await desk.says("hello")
        if resubmits:
            await until(lambda: len(agent.asks) > 20)
        else:
            await desk.plugin.until(2)
            await desk.says("/again")
            await until(lambda: len(agent.asks) > 20)
    async with world(store, agent, **options) as desk:
        await until(lambda: len(agent.asks) > 40 or desk.events.of("submission.unknown"))
    assert helper.asks == []


async def test_a_restart_in_between_does_not_keep_the_other_from_being_asked(store: Store) -> None:
    helper, agent = FakeAgent(name="helper"), FakeAgent()
    agent.errors = [DOWN] * 1000
    async with world(store, agent, routes=Routes("agent"), others=[helper], patience=Patience(retry_first=60)) as desk:
        await desk.says("hello")
        await until(lambda: desk.events.of("submission.not_accepted"))
    async with world(store, agent, routes=STANDS_IN, others=[helper]) as desk:
        await until(lambda: helper.asks)


async def test_the_answer_to_a_question_goes_to_whoever_asked_it(store: Store) -> None:
    async def asks_once(ask: Ask) -> AsyncIterator[TaskEvent]:
        if ask.task_id is None:
            yield task(ask, TaskState.INPUT_REQUIRED, message="which day?")
        else:
            yield status(ask, TaskState.COMPLETED, "booked")

    helper, agent = FakeAgent(asks_once, name="helper"), FakeAgent()
    agent.errors = [DOWN] * 100
    async with world(store, agent, routes=STANDS_IN, others=[helper]) as desk:
        await desk.says("book it")
        await until(lambda: "which day?" in desk.plugin.shown())
        agent.errors.clear()
        await desk.says("monday")
        await until(lambda: len(helper.asks) == 2)
    assert helper.asks[1].task_id is not None
    assert "monday" not in texts(agent)


async def test_an_answer_is_not_given_to_another_agent_than_the_one_that_asked(store: Store) -> None:
    async def asks(ask: Ask) -> AsyncIterator[TaskEvent]:
        yield task(ask, TaskState.INPUT_REQUIRED, message="which day?")

    helper, agent = FakeAgent(name="helper"), FakeAgent(asks)
    async with world(store, agent, routes=STANDS_IN, others=[helper]) as desk:
        await desk.says("book it")
        await desk.plugin.until(1)
        agent.errors = [DOWN] * 1000
        await desk.says("monday")
        await until(lambda: len(agent.asks) > 20)
    assert helper.asks == []


async def test_a_fallback_that_is_down_too_is_told_as_any_agent_is(store: Store) -> None:
    helper, agent = FakeAgent(name="helper"), FakeAgent()
    agent.errors, helper.errors = [DOWN] * 1000, [DOWN] * 1000
    routes = Routes("agent", fallbacks={"agent": "helper", "helper": "agent"})
    patience = replace(SOON, give_up=0.5)
    async with world(store, agent, routes=routes, others=[helper], patience=patience) as desk:
        await desk.says("hello")
        await until(lambda: "could not be reached" in "".join(desk.plugin.shown()))
        assert len(desk.events.of("turn.fell_back")) == 1
