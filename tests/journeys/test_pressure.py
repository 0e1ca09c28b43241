"""Full queues, floods, poisonous messages, and a stop in the middle of work."""

import asyncio
import os
import signal
from contextlib import suppress

import pytest

from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_events import completed
from tests.fakes.agent_rpc import html_page, rpc_error
from tests.fakes.agent_scripts import events, working_until
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_responses import bad_request
from tests.fakes.telegram_updates import WebhookAttempt
from tests.journeys.process import GatewayProcess, admitted
from tests.waiting import within

CHAT, OTHER = 7, 8


def refused(telegram: FakeTelegram, status: int) -> list[WebhookAttempt]:
    return [attempt for attempt in telegram.updates.attempts if attempt.status == status]


@pytest.mark.case("F33")
async def test_past_max_queued_updates_are_told_to_come_back_and_each_is_answered_in_the_end(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    go_on = asyncio.Event()
    agent.behaviour = working_until(go_on)
    gateway.configure("gateway", max_queued=5)
    await gateway.start()
    for chat in range(100, 108):
        telegram.user_says(chat, f"a message in chat {chat}")
    await telegram.changes.until(lambda: len({a.update_id for a in refused(telegram, 503)}) >= 3, what="three refusals")
    assert all(attempt.retry_after for attempt in refused(telegram, 503))
    assert admitted(await gateway.summary()) == 5
    telegram.user_says(100, "/status")
    await telegram.wait_for_text(100, "a message in chat 100")
    go_on.set()
    for chat in range(100, 108):
        await telegram.wait_for_text(chat, "done", timeout=20)
    await gateway.at_rest()
    assert sum(agent.message_counts.values()) == 8


@pytest.mark.case("T75")
async def test_whoever_floods_is_told_to_slow_down_and_the_others_are_not(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    go_on = asyncio.Event()
    agent.behave(working_until(go_on))
    gateway.configure("gateway", max_queued_per_owner=3)
    await gateway.start()
    for number in range(6):
        telegram.user_says(CHAT, f"message number {number} of a flood")
    await telegram.changes.until(lambda: refused(telegram, 429), what="a 429")
    assert refused(telegram, 429)[0].retry_after
    telegram.user_says(OTHER, "somebody who does not flood")
    await telegram.wait_for_text(OTHER, "somebody who does not flood")
    go_on.set()
    await telegram.wait_for_text(CHAT, "message number 5", timeout=20)
    answers = [text for text in telegram.texts(CHAT) if text.startswith("echo")]
    assert answers == [f"echo: message number {number} of a flood" for number in range(1, 6)]
    assert not refused(telegram, 503)


@pytest.mark.case("T76")
async def test_a_hundred_messages_of_one_person_do_not_hold_up_another(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    gateway.configure("gateway", max_turns=2)
    await gateway.start()
    for number in range(100):
        telegram.user_says(CHAT, f"message number {number} of many")
    await telegram.wait_for_messages(CHAT, 1)
    telegram.user_says(OTHER, "one message of another person")
    await telegram.wait_for_messages(OTHER)
    assert len(telegram.texts(CHAT)) < 100
    await telegram.wait_for_messages(CHAT, 100, timeout=30)


@pytest.mark.case("T77")
async def test_a_message_on_which_the_agent_always_fails_is_told_once_and_the_next_is_answered(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    agent.fault("SendStreamingMessage", respond=rpc_error(-32602, "poison"))
    await gateway.start()
    telegram.user_says(CHAT, "a message that is poison")
    telegram.user_says(CHAT, "the message behind it")
    await telegram.wait_for_text(CHAT, "the message behind it")
    told, answer = telegram.texts(CHAT)
    assert ("did not take" in told, answer) == (True, "echo: the message behind it")
    assert (await gateway.at_rest())["turns"] == {"completed": 1, "failed": 1}


@pytest.mark.case("T77")
async def test_an_answer_that_telegram_always_refuses_is_set_aside_and_the_next_is_shown(
    telegram: FakeTelegram, gateway: GatewayProcess
) -> None:
    telegram.script("sendMessage", chat=CHAT, respond=bad_request("message text is poison"), times=1)
    await gateway.start()
    telegram.user_says(CHAT, "an answer that is poison")
    telegram.user_says(CHAT, "the message behind it")
    await telegram.wait_for_text(CHAT, "the message behind it")
    await gateway.at_rest()
    (set_aside,) = await gateway.items("deliveries?state=rejected")
    assert ("poison" in set_aside["reason"], set_aside["attempts"]) == (True, 1)
    await gateway.api(f"deliveries/{set_aside['id']}:retry", "POST")
    await telegram.wait_for_text(CHAT, "an answer that is poison")


@pytest.mark.case("F31")
async def test_an_agent_whose_clock_was_set_back_is_believed_when_it_says_that_it_has_finished(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    yesterday = completed("what the agent found")
    yesterday.body["status"]["timestamp"] = "2020-01-01T00:00:00.000Z"
    agent.behave(events(yesterday))
    await gateway.start()
    telegram.user_says(CHAT, "to an agent with a strange clock")
    await telegram.wait_for_text(CHAT, "what the agent found")


@pytest.mark.case("F13")
async def test_an_agent_that_answers_with_a_web_page_is_not_passed_on(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    agent.fault("SendStreamingMessage", respond=html_page(502), times=1)
    await gateway.start()
    telegram.user_says(CHAT, "through a broken proxy")
    telegram.user_says(OTHER, "somebody else, at the same time")
    await telegram.wait_for_messages(OTHER, timeout=20)
    await telegram.wait_for_messages(CHAT, timeout=20)
    assert not [text for text in telegram.texts(CHAT) + telegram.texts(OTHER) if "html" in text]


@pytest.mark.case("F35")
async def test_a_stop_lets_work_finish_within_the_grace(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    go_on = asyncio.Event()
    agent.behaviour = working_until(go_on, "finished in time")
    gateway.configure("gateway", shutdown_grace=60)
    await gateway.start()
    for chat in range(100, 120):
        telegram.user_says(chat, "work in flight")
    await agent.wait_for_calls("SendStreamingMessage", 20)
    await telegram.wait_until_acknowledged()
    stopping = asyncio.create_task(gateway.stop())
    await gateway.event("gateway.draining")
    telegram.user_says(CHAT, "written during the stop")
    await gateway.event("ingress.refused", outcome="not_receiving")
    go_on.set()
    assert await stopping == 0
    assert [telegram.texts(chat) for chat in range(100, 120)] == [["finished in time"]] * 20
    await gateway.start()
    await telegram.wait_for_text(CHAT, "finished in time")


@pytest.mark.case("F35")
async def test_a_stop_cuts_off_what_takes_longer_than_the_grace_and_the_next_start_takes_it_up(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    go_on = asyncio.Event()
    agent.behaviour = working_until(go_on, "finished later")
    gateway.configure("gateway", shutdown_grace=0.5)
    await gateway.start()
    for chat in range(100, 120):
        telegram.user_says(chat, "work in flight")
    await agent.wait_for_calls("SendStreamingMessage", 20)
    await telegram.wait_until_acknowledged()
    assert await gateway.stop() == 0
    go_on.set()
    await gateway.start()
    for chat in range(100, 120):
        await telegram.wait_for_messages(chat, timeout=20)
    summary = await gateway.at_rest()
    assert [telegram.texts(chat) for chat in range(100, 120)] == [["finished later"]] * 20
    assert (summary["unknown"], max(agent.message_counts.values())) == (0, 1)


async def test_a_stop_in_the_middle_of_work_says_for_what_it_waits_and_a_second_one_ends_at_once(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    go_on = asyncio.Event()
    agent.behaviour = working_until(go_on)
    gateway.configure("gateway", shutdown_grace=3600)
    await gateway.start()
    telegram.user_says(CHAT, "a long piece of work")
    await agent.wait_for_calls("SendStreamingMessage")
    os.kill(gateway.pid, signal.SIGINT)
    said = await gateway.event("gateway.draining")
    assert (said["level"], said["turns"]) == ("warning", 1)
    assert said["waits"] == "up to 3600 s; a second Ctrl-C or SIGTERM ends at once"
    os.kill(gateway.pid, signal.SIGTERM)
    assert await gateway.ended() == -signal.SIGTERM
    assert gateway.lines[-1:] == [line for line in gateway.lines if '"gateway.ended_at_once"' in line]
    await gateway.start()
    go_on.set()
    await telegram.wait_for_text(CHAT, "done")


async def test_a_stop_with_nothing_at_work_waits_for_nothing(gateway: GatewayProcess) -> None:
    gateway.configure("gateway", shutdown_grace=3600)
    await gateway.start()
    os.kill(gateway.pid, signal.SIGINT)
    assert await gateway.ended() == 0
    assert "waits" not in (await gateway.event("gateway.draining"))


@pytest.mark.case("T79")
async def test_more_connections_than_files_may_be_open_are_closed_and_the_rest_of_the_line_goes_on(
    telegram: FakeTelegram, gateway: GatewayProcess
) -> None:
    gateway.before = ["/bin/sh", "-c", 'ulimit -n 128; exec "$@"', "sh"]
    await gateway.start()
    few = await gateway.event("gateway.few_files")
    assert (few["files"], few["connections"]) == (128, 64)
    idle = [await asyncio.open_connection("127.0.0.1", gateway.port) for _ in range(300)]
    try:
        ends = [asyncio.ensure_future(closed(reader)) for reader, _ in idle]
        async with within(20):
            for _, end in zip(range(300 - 64), asyncio.as_completed(ends), strict=False):
                await end
    finally:
        for _, writer in idle:
            writer.close()
    assert await gateway.status("/healthz") == 200
    telegram.user_says(CHAT, "whoever comes behind them")
    await telegram.wait_for_text(CHAT, "whoever comes behind them", timeout=20)


async def closed(reader: asyncio.StreamReader) -> None:
    with suppress(ConnectionError):
        assert await reader.read() == b""
