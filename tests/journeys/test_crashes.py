"""The process dies at every named point of a message's way, and what it had begun is finished or shown as unknown."""

import asyncio

import pytest

from core.crashpoint import POINTS
from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_scripts import working_until
from tests.fakes.telegram import FakeTelegram
from tests.journeys.process import GatewayProcess, admitted
from tests.journeys.setting import answering

CHAT = 7
QUESTION = "what is an engine"
ANSWER = f"echo: {QUESTION}"
CRASHED = 137  # as a shell reports SIGKILL
OFFER = "/again"  # in both notices about an uncertain outcome

# What becomes of the one message: its answer is shown, its outcome is shown as unknown, or both.
ANSWERED, UNKNOWN, BOTH = (1, 0), (0, 1), (1, 1)
OUTCOME = {
    "ingress.before_commit": ANSWERED,
    "ingress.after_commit": ANSWERED,
    "router.after_claim": UNKNOWN,
    "a2a.after_send": ANSWERED,
    "task.after_observe": ANSWERED,
    "deliver.before_send": ANSWERED,
    "deliver.after_claim": UNKNOWN,
    "deliver.after_send": BOTH,
    "deliver.after_settle": ANSWERED,
}
CASES = {
    "ingress.before_commit": "F01",
    "ingress.after_commit": "F02",
    "router.after_claim": "F04",
    "a2a.after_send": "F05",
    "deliver.before_send": "F07",
    "deliver.after_send": "F08",
}
EVERYWHERE = [
    pytest.param(point, marks=[pytest.mark.case(CASES[point])] if point in CASES else [])
    for point in POINTS
    if not point.startswith("window.")  # which this channel has none of
]
WHILE_RECEIVING = [point for point in POINTS if point.startswith("ingress.")]
SENDS = {"router.after_claim": 1, "a2a.after_send": 2, "task.after_observe": 1}  # of a message, over both processes


async def die_and_come_back(gateway: GatewayProcess, telegram: FakeTelegram, point: str) -> int | None:
    """One message, under which the process dies at the point and is started again; the message's update id."""
    await gateway.start(crashpoint=point)
    said = telegram.user_says(CHAT, QUESTION)
    assert await gateway.ended() == CRASHED
    await gateway.start()
    await telegram.wait_until_acknowledged()
    return said.update_id


@pytest.mark.parametrize("point", EVERYWHERE)
async def test_wherever_the_process_dies_a_message_is_answered_once_or_shown_as_unknown(
    point: str, telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    update = await die_and_come_back(gateway, telegram, point)
    summary = await gateway.at_rest()
    answers = [text for text in telegram.texts(CHAT) if ANSWER in text]
    offers = [text for text in telegram.texts(CHAT) if OFFER in text]
    assert (len(answers), summary["unknown"]) == OUTCOME[point]
    assert len(offers) == summary["unknown"]
    assert summary["unknown_ids"] == [str(update)] * summary["unknown"]
    assert admitted(summary) == 1
    assert sum(agent.message_counts.values()) <= 1


@pytest.mark.case("TG-37")
@pytest.mark.parametrize("point", WHILE_RECEIVING)
async def test_a_process_that_dies_while_it_polls_answers_each_update_once(
    point: str, telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    gateway.configure("plugins.support", mode="polling")
    await die_and_come_back(gateway, telegram, point)
    await telegram.wait_for_text(CHAT, ANSWER)
    summary = await gateway.at_rest()
    assert (telegram.texts(CHAT), admitted(summary), summary["unknown"]) == ([ANSWER], 1, 0)
    assert sum(agent.message_counts.values()) == 1


@pytest.mark.case("A2A-16")
@pytest.mark.case("F05")
@pytest.mark.parametrize(("point", "sends"), SENDS.items())
async def test_an_agent_that_deduplicates_is_asked_again_and_nothing_stays_unknown(
    point: str, sends: int, telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    """It lists no tasks, so that only asking again can tell."""
    agent.deduplicates, agent.lists_tasks = True, False
    gateway.configure("agents.remote", resubmit="same_message_id")
    await die_and_come_back(gateway, telegram, point)
    await telegram.wait_for_text(CHAT, ANSWER)
    summary = await gateway.at_rest()
    assert (telegram.texts(CHAT), summary["unknown"]) == ([ANSWER], 0)
    assert (len(agent.calls_of("SendStreamingMessage")), len(list(agent.tasks))) == (sends, 1)
    assert list(agent.message_counts.values()) == [1]


@pytest.mark.case("F05")
async def test_where_an_agent_cannot_be_asked_what_it_took_a_lost_answer_is_shown_as_unknown_and_asked_again_on_request(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    agent.lists_tasks = False
    update = await die_and_come_back(gateway, telegram, "a2a.after_send")
    await telegram.wait_for_text(CHAT, OFFER)
    summary = await gateway.at_rest()
    assert (summary["unknown"], summary["unknown_ids"]) == (1, [str(update)])
    assert {state: n for state, n in summary["submissions"].items() if n} == {"submission_unknown": 1}
    assert sum(agent.message_counts.values()) == 1
    telegram.user_says(CHAT, "/again")
    await telegram.wait_for_text(CHAT, ANSWER)
    (times,) = agent.message_counts.values()
    assert (times, (await gateway.at_rest())["unknown"]) == (2, 0)


@pytest.mark.case("F08")
@pytest.mark.case("DEL-03")
async def test_a_delivery_that_may_have_arrived_is_repeated_only_on_request_and_marked(
    telegram: FakeTelegram, gateway: GatewayProcess
) -> None:
    await die_and_come_back(gateway, telegram, "deliver.after_send")
    await telegram.wait_for_text(CHAT, OFFER)
    await gateway.at_rest()
    assert sum(ANSWER in text for text in telegram.texts(CHAT)) == 1
    telegram.user_says(CHAT, "/again")
    first, _, repeat = await telegram.wait_for_messages(CHAT, 3)
    assert (first.text, (await gateway.at_rest())["unknown"]) == (ANSWER, 0)
    assert ANSWER in repeat.text
    assert repeat.text != ANSWER


@pytest.mark.case("A2A-04")
@pytest.mark.case("F06")
@pytest.mark.parametrize("observation", range(1, 7))
async def test_killed_at_any_event_of_a_stream_the_rest_is_filled_in_and_nothing_comes_twice(
    observation: int, telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    agent.behave(answering("part one", "part two", "part three", progress="on it"))
    await die_and_come_back(gateway, telegram, f"task.after_observe:{observation}")
    await telegram.wait_for_messages(CHAT, 3)
    assert (await gateway.at_rest())["unknown"] == 0
    assert telegram.texts(CHAT) == ["part one", "part two", "part three"]


@pytest.mark.case("A2A-04")
async def test_what_a_task_did_while_the_gateway_was_dead_arrives_once(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    go_on = asyncio.Event()
    agent.behave(working_until(go_on, "done in the meantime"))
    await gateway.start()
    telegram.user_says(CHAT, QUESTION)
    await agent.wait_for_state("WORKING")
    await telegram.wait_until_acknowledged()
    await gateway.kill()
    go_on.set()
    await agent.wait_for_state("COMPLETED")
    await gateway.start()
    await telegram.wait_for_text(CHAT, "done in the meantime")
    await gateway.at_rest()
    assert (telegram.texts(CHAT), len(agent.calls_of("SendStreamingMessage"))) == (["done in the meantime"], 1)


@pytest.mark.case("T04")
@pytest.mark.case("TG-37")
async def test_an_update_repeated_after_a_kill_is_acknowledged_and_not_answered_again(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    await gateway.start()
    said = telegram.user_says(CHAT, QUESTION)
    await gateway.until_delivered()
    await gateway.restart()
    telegram.updates.repeat([{"update_id": said.update_id, "message": said.body}])
    telegram.user_says(CHAT, "and after that")
    await telegram.wait_for_text(CHAT, "echo: and after that")
    assert telegram.texts(CHAT) == [ANSWER, "echo: and after that"]
    assert sum(agent.message_counts.values()) == 2


@pytest.mark.case("F09")
async def test_killed_anywhere_in_its_first_start_the_gateway_starts_again(
    telegram: FakeTelegram, gateway: GatewayProcess
) -> None:
    """The kills are spread over the time that a start takes, from making the database to being ready."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    await gateway.start()
    whole = loop.time() - began
    await gateway.kill()
    for share in (0.5, 0.6, 0.7, 0.8, 0.9):
        for file in gateway.folder.glob("desk.db*"):
            file.unlink()
        await gateway.launch()
        with pytest.raises(TimeoutError):
            await gateway.ended(seconds=share * whole)
        await gateway.kill()
    await gateway.start()
    telegram.user_says(CHAT, QUESTION)
    await telegram.wait_for_text(CHAT, ANSWER)
