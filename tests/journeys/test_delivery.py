"""What the Bot API may answer to a message, and what becomes of it: per chat, once, and never hidden."""

import asyncio

import pytest

from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_scripts import working_until
from tests.fakes.scripting import cut_after_accepting, cut_before, hang_after_accepting, hang_before
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_responses import accepted_then_server_error, forbidden, server_error, throttle
from tests.journeys.process import GatewayProcess
from tests.journeys.setting import answering

CHAT, OTHER = 7, 8
AMBIGUOUS = (
    accepted_then_server_error(502),
    accepted_then_server_error(504),
    cut_after_accepting(),
    hang_after_accepting(),
)


@pytest.mark.case("F20")
async def test_a_throttled_chat_waits_as_long_as_told_and_keeps_its_order_while_others_go_on(
    telegram: FakeTelegram, gateway: GatewayProcess
) -> None:
    telegram.script("sendMessage", chat=CHAT, respond=throttle(2))
    await gateway.start()
    telegram.user_says(CHAT, "first message to a throttled chat")
    (refused,) = await telegram.wait_for_calls("sendMessage", chat=CHAT)
    telegram.user_says(CHAT, "second message to a throttled chat")
    telegram.user_says(OTHER, "a message to another chat")
    await telegram.wait_for_messages(OTHER, timeout=1.9)
    await telegram.wait_for_messages(CHAT, 2)
    assert telegram.texts(CHAT) == [f"echo: {which} message to a throttled chat" for which in ("first", "second")]
    assert telegram.calls_of("sendMessage", chat=CHAT)[1].at - refused.at >= 2.0


@pytest.mark.case("TG-23")
async def test_a_chat_throttled_for_hours_is_parked_and_shown_also_after_a_restart(
    telegram: FakeTelegram, gateway: GatewayProcess
) -> None:
    telegram.script("sendMessage", chat=CHAT, respond=throttle(13938))
    await gateway.start()
    telegram.user_says(CHAT, "a message to a parked chat")
    await telegram.wait_for_calls("sendMessage", chat=CHAT)
    await gateway.event("delivery.attempted")
    await gateway.restart()
    telegram.user_says(OTHER, "a message to another chat")
    await telegram.wait_for_messages(OTHER)
    (parked,) = await gateway.items("deliveries?state=queued")
    assert (parked["chat"], parked["attempts"], parked["due"] > parked["queued"]) == (str(CHAT), 1, True)
    assert len(telegram.calls_of("sendMessage", chat=CHAT)) == 1


@pytest.mark.case("F21")
@pytest.mark.case("F22")
@pytest.mark.case("DEL-01")
async def test_a_message_that_may_have_arrived_is_never_sent_again_by_itself(
    telegram: FakeTelegram, gateway: GatewayProcess
) -> None:
    gateway.configure("plugins.support", timeout=1)
    await gateway.start()
    updates = []
    for chat, respond in enumerate(AMBIGUOUS, start=CHAT):
        telegram.script("sendMessage", chat=chat, respond=respond)
        updates.append(telegram.user_says(chat, "a message of unknown fate").update_id)
    for chat in range(CHAT, CHAT + len(AMBIGUOUS)):
        await telegram.wait_for_text(chat, "/again")
        assert sum("unknown fate" in text for text in telegram.texts(chat)) == 1
    summary = await gateway.at_rest()
    assert (summary["unknown"], sorted(summary["unknown_ids"])) == (len(AMBIGUOUS), [str(update) for update in updates])


@pytest.mark.case("DEL-02")
async def test_a_bot_api_that_cannot_be_reached_gets_the_message_once_when_it_is_back(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    go_on = asyncio.Event()
    agent.behave(working_until(go_on, "ready during the outage"))
    await gateway.start()
    telegram.user_says(CHAT, "a message before the outage")
    await agent.wait_for_state("WORKING")
    await telegram.wait_until_acknowledged()
    await telegram.go_down()
    go_on.set()
    await gateway.event("delivery.attempted", outcome="queued")
    await telegram.come_up()
    await telegram.wait_for_messages(CHAT)
    summary = await gateway.at_rest()
    assert (telegram.texts(CHAT), summary["unknown"]) == (["ready during the outage"], 0)


@pytest.mark.case("F23")
async def test_a_chat_that_blocked_the_bot_is_buried_with_its_reason_and_not_tried_again(
    telegram: FakeTelegram, gateway: GatewayProcess
) -> None:
    telegram.script("sendMessage", chat=CHAT, respond=forbidden(), times=None)
    await gateway.start()
    telegram.user_says(CHAT, "a message to somebody who left")
    await telegram.wait_for_calls("sendMessage", chat=CHAT)
    await gateway.at_rest()
    (dead,) = await gateway.items("deliveries?state=dead")
    assert ("blocked" in dead["reason"], len(telegram.calls_of("sendMessage", chat=CHAT))) == (True, 1)


@pytest.mark.case("F24")
async def test_of_a_long_answer_only_the_part_of_unknown_fate_is_uncertain(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    parts = [f"part {number} " + "x" * 3900 for number in range(1, 6)]
    agent.behave(answering("\n\n".join(parts)))
    telegram.script("sendMessage", chat=CHAT, respond=cut_before(), after=2)
    await gateway.start()
    telegram.user_says(CHAT, "a long answer, please")
    await telegram.wait_for_text(CHAT, "/again")
    await telegram.wait_for_text(CHAT, "part 5")
    assert (await gateway.at_rest())["unknown"] == 1
    assert [text[:6] for text in telegram.texts(CHAT) if text.startswith("part")] == [
        "part 1",
        "part 2",
        "part 4",
        "part 5",
    ]
    telegram.user_says(CHAT, "/again")
    await telegram.wait_for_text(CHAT, "part 3")


@pytest.mark.case("F21")
async def test_a_refusal_by_the_server_itself_is_tried_again_until_it_is_taken(
    telegram: FakeTelegram, gateway: GatewayProcess
) -> None:
    telegram.script("sendMessage", chat=CHAT, respond=server_error(500), times=1)
    await gateway.start()
    telegram.user_says(CHAT, "refused once by the server")
    await telegram.wait_for_messages(CHAT, timeout=20)
    summary = await gateway.at_rest()
    answers = [text for text in telegram.texts(CHAT) if "refused once" in text]
    assert len(answers) + summary["unknown"] == 1


@pytest.mark.case("F22")
async def test_a_bot_api_that_hangs_holds_up_no_other_chat(telegram: FakeTelegram, gateway: GatewayProcess) -> None:
    gateway.configure("gateway", shutdown_grace=0.5)
    telegram.script("sendMessage", chat=CHAT, respond=hang_before())
    await gateway.start()
    telegram.user_says(CHAT, "into the void")
    await telegram.wait_for_calls("sendMessage", chat=CHAT)
    for chat in range(100, 110):
        telegram.user_says(chat, "while another chat hangs")
    for chat in range(100, 110):
        await telegram.wait_for_messages(chat)
