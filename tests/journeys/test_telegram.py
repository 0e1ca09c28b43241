"""From a Telegram chat to an agent and back, through a gateway that runs as a process."""

import asyncio

import pytest

from tests.fakes.agent import CancelMode, ScriptedAgent
from tests.fakes.agent_scripts import ask_then_answer, stream_echo, working_until
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_people import person
from tests.fakes.telegram_responses import bad_request
from tests.journeys.process import GatewayProcess
from tests.journeys.setting import answering

CHAT, GROUP, FORUM = 7, -1007, -1008
TEXT_LIMIT = 4096  # UTF-16 code units (Bot API, sendMessage)


@pytest.mark.parametrize("mode", ["webhook", "polling"])
async def test_an_answer_returns_to_the_chat_that_asked(
    mode: str, telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    gateway.configure("plugins.support", mode=mode)
    await gateway.start()
    telegram.user_says(CHAT, "what is an engine")
    telegram.user_says(CHAT + 1, "what is a difference")
    await telegram.wait_for_messages(CHAT)
    await telegram.wait_for_messages(CHAT + 1)
    await gateway.at_rest()
    assert telegram.texts(CHAT) == ["echo: what is an engine"]
    assert telegram.texts(CHAT + 1) == ["echo: what is a difference"]
    assert len(agent.message_counts) == 2


@pytest.mark.parametrize("mode", ["webhook", "polling"])
async def test_what_was_written_while_the_gateway_was_off_is_answered_after_its_start(
    mode: str, telegram: FakeTelegram, gateway: GatewayProcess
) -> None:
    gateway.configure("plugins.support", mode=mode)
    telegram.user_says(CHAT, "first, before the start")
    telegram.user_says(CHAT, "second, before the start")
    await gateway.start()
    await telegram.wait_for_messages(CHAT, 2)
    assert telegram.texts(CHAT) == ["echo: first, before the start", "echo: second, before the start"]


async def test_a_streamed_answer_is_shown_whole_and_once(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    agent.behave(stream_echo(("Hello, ", "**world**", "!")))
    await gateway.start()
    telegram.user_says(CHAT, "stream to me, please")
    (shown,) = await telegram.wait_for_messages(CHAT)
    await gateway.at_rest()
    assert (shown.text, shown.bold, len(telegram.messages(CHAT))) == ("Hello, world!", ["world"], 1)


@pytest.mark.case("A2A-01")
async def test_a_question_back_is_answered_and_continues_exactly_that_task(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    agent.behaviour = ask_then_answer()
    await gateway.start()
    telegram.user_says(CHAT, "book a table for two")
    await telegram.wait_for_text(CHAT, "Which day?")
    telegram.user_says(CHAT, "Tuesday, at noon")
    await telegram.wait_for_text(CHAT, "Booked for Tuesday, at noon")
    first, second = agent.calls_of("SendStreamingMessage")
    assert (second.message["taskId"], second.message["contextId"]) == (agent.only_task.id, agent.only_task.context_id)
    assert "taskId" not in first.message


@pytest.mark.case("TG-32")
async def test_in_a_group_only_who_mentions_the_bot_is_answered_and_the_question_is_quoted(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    await gateway.start()
    for chat, kind in ((GROUP, "group"), (GROUP - 100, "supergroup")):
        telegram.group(chat, kind=kind)
        telegram.user_says(chat, "just talking among ourselves")
        said = telegram.user_says(chat, "@desk_bot what is an engine")
        (shown,) = await telegram.wait_for_messages(chat)
        assert (shown.text, shown.reply_to) == ("echo: what is an engine", said.message_id)
    await gateway.at_rest()
    assert len(agent.message_counts) == len(telegram.calls_of("sendMessage")) == 2


@pytest.mark.case("TG-27")
async def test_an_answer_returns_to_its_forum_topic_also_after_a_restart(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    go_on = asyncio.Event()
    telegram.forum(FORUM)
    topic, other = telegram.forum_topic(FORUM), telegram.forum_topic(FORUM, "Other")
    agent.behave(working_until(go_on, "the answer for the topic"))
    await gateway.start()
    telegram.user_says(FORUM, "@desk_bot a question in the topic", topic=topic)
    telegram.user_says(FORUM, "@desk_bot a question in the other", topic=other)
    await agent.wait_for_state("WORKING")
    await gateway.until_delivered()
    await gateway.restart()
    go_on.set()
    await telegram.wait_for_messages(FORUM, 2)
    assert telegram.texts(FORUM, topic=topic) == ["the answer for the topic"]
    assert telegram.texts(FORUM, topic=other) == ["echo: a question in the other"]
    spoken = telegram.calls_of("sendMessage") + telegram.calls_of("sendChatAction")
    assert {int(call.params["message_thread_id"]) for call in spoken} == {topic, other}


@pytest.mark.case("TG-28")
async def test_an_answer_in_the_general_topic_omits_the_thread_id(
    telegram: FakeTelegram, gateway: GatewayProcess
) -> None:
    telegram.forum(FORUM)
    await gateway.start()
    telegram.user_says(FORUM, "@desk_bot a question in General")
    (shown,) = await telegram.wait_for_messages(FORUM)
    (call,) = telegram.calls_of("sendMessage")
    assert (shown.topic, "message_thread_id" in call.params) == (None, False)
    (session,) = await gateway.items("sessions")
    assert (session["chat"], session["topic"]) == (str(FORUM), "1")


async def test_a_reply_to_an_old_answer_resumes_its_thread(telegram: FakeTelegram, gateway: GatewayProcess) -> None:
    await gateway.start()
    telegram.user_says(CHAT, "about the first matter")
    first = await telegram.wait_for_text(CHAT, "about the first matter")
    await gateway.at_rest()
    telegram.user_says(CHAT, "about the second matter")
    await telegram.wait_for_text(CHAT, "about the second matter")
    await gateway.at_rest()
    telegram.user_says(CHAT, "and once more the first", reply_to=first.message_id)
    await telegram.wait_for_text(CHAT, "and once more the first")
    await gateway.event("envelope.admitted", n=3)
    one, two, three = [event["thread"] for event in gateway.events("envelope.admitted")]
    assert one == three != two


@pytest.mark.case("TG-01")
async def test_a_long_answer_arrives_in_parts_that_telegram_takes_in_order_and_whole(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    answer = "".join(f"line {number} 😀\n" for number in range(1500))
    agent.behave(answering(answer))
    await gateway.start()
    telegram.user_says(CHAT, "tell me everything")
    await telegram.wait_for_text(CHAT, "line 1499")
    texts = telegram.texts(CHAT)
    assert "\n".join(texts).split() == answer.split()
    assert max(len(text.encode("utf-16-le")) // 2 for text in texts) <= TEXT_LIMIT


async def test_a_person_with_a_chinese_telegram_reads_chinese_notices(
    telegram: FakeTelegram, gateway: GatewayProcess
) -> None:
    await gateway.start()
    wei = person(CHAT, language_code="zh-hans")
    telegram.user_says(CHAT, "/nonsense", user=wei)
    telegram.user_sends(CHAT, "sticker", user=wei)
    telegram.user_says(CHAT, "/help", user=wei)
    await telegram.wait_for_text(CHAT, "没有 /nonsense 这个命令")
    await telegram.wait_for_text(CHAT, "请用文字发送")
    await telegram.wait_for_text(CHAT, "我能听懂什么")


@pytest.mark.case("SEC-07")
async def test_a_stranger_gets_silence_and_reaches_no_agent(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    gateway.configure("plugins.support", access={"direct": "allow", "allow": [CHAT]})
    await gateway.start()
    telegram.user_says(CHAT + 1, "let me in, please")
    telegram.user_says(CHAT, "I am on the list")
    await telegram.wait_for_text(CHAT, "echo: I am on the list")
    await telegram.wait_until_acknowledged()
    assert not [call for call in telegram.calls if call.chat == CHAT + 1]
    assert len(agent.message_counts) == 1


async def test_content_that_cannot_be_read_gets_a_notice_and_no_agent_is_asked(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    await gateway.start()
    for chat, kind in enumerate(("photo", "sticker", "voice", "document", "location"), start=CHAT):
        telegram.user_sends(chat, kind)
        (shown,) = await telegram.wait_for_messages(chat)
        assert kind in shown.text
    assert not agent.message_counts


@pytest.mark.case("DEL-12")
async def test_status_and_cancel_overtake_the_work_they_are_about(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    agent.behave(working_until(asyncio.Event()))
    await gateway.start()
    telegram.user_says(CHAT, "something very long")
    task = await agent.wait_for_state("WORKING")
    telegram.user_says(CHAT, "/status")
    await telegram.wait_for_text(CHAT, "something very long")
    telegram.user_says(CHAT, "/cancel")
    await telegram.wait_for_text(CHAT, "Cancelled.")
    await gateway.at_rest()
    assert task.state == "CANCELED"


@pytest.mark.case("DEL-14")
async def test_an_answer_goes_to_the_chat_that_asked_even_when_others_wrote_since_and_the_gateway_was_killed(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    go_on = asyncio.Event()
    agent.behave(working_until(go_on, "a private report"))
    await gateway.start()
    telegram.user_says(CHAT, "write a private report")
    await agent.wait_for_state("WORKING")
    telegram.user_says(CHAT + 1, "somebody else writes")
    await gateway.until_delivered()
    await gateway.restart()
    go_on.set()
    await telegram.wait_for_text(CHAT, "a private report")
    await gateway.at_rest()
    assert telegram.texts(CHAT) == ["a private report"]
    assert telegram.texts(CHAT + 1) == ["echo: somebody else writes"]


@pytest.mark.case("DEL-15")
async def test_no_part_of_a_long_private_answer_shows_up_in_the_group_where_the_same_person_writes(
    telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    """Nor when the person's own chat is not found any more half way through it: the rest is dead, with its cause."""
    answer, go_on = "".join(f"<private-{number:05}>" for number in range(1000)), asyncio.Event()
    agent.behave(working_until(go_on, answer))
    telegram.supergroup(GROUP)
    await gateway.start()
    telegram.user_says(CHAT, "write a private report", user=person(CHAT))
    await agent.wait_for_state("WORKING")
    telegram.user_says(GROUP, "@desk_bot what is an engine", user=person(CHAT))
    await telegram.wait_for_messages(GROUP)
    telegram.script("sendMessage", respond=bad_request("chat not found"), chat=CHAT, times=None, after=2)
    go_on.set()
    await gateway.event("delivery.attempted", outcome="dead")
    await gateway.at_rest()
    assert telegram.texts(GROUP) == ["echo: what is an engine"]
    assert {call.chat for call in telegram.calls_of("sendMessage")} == {CHAT, GROUP}
    shown = telegram.texts(CHAT)
    assert (len(shown), answer.startswith("".join(shown))) == (2, True)
    dead = await gateway.items("deliveries?state=dead")
    assert {delivery["chat"] for delivery in dead} == {str(CHAT)}
    assert "chat not found" in str([delivery["reason"] for delivery in dead]).lower()


@pytest.mark.case("A2A-14")
@pytest.mark.case("A2A-15")
@pytest.mark.parametrize(
    ("mode", "told"),
    [
        ("overtaken", "Cancelled."),
        ("ignored", "has not confirmed"),
        ("asked", "has not confirmed"),
        ("unsupported", "cannot stop this task"),
    ],
)
async def test_what_an_agent_says_after_a_cancel_is_recorded_and_not_shown(
    mode: CancelMode, told: str, telegram: FakeTelegram, agent: ScriptedAgent, gateway: GatewayProcess
) -> None:
    go_on = asyncio.Event()
    agent.on_cancel = mode
    agent.behave(working_until(go_on, "too late for this"))
    await gateway.start()
    telegram.user_says(CHAT, "something very long")
    await agent.wait_for_state("WORKING")
    telegram.user_says(CHAT, "/cancel")
    await telegram.wait_for_text(CHAT, told)
    [asked] = await gateway.items("tasks")
    assert (asked["state"] == "canceled") is (mode == "overtaken")
    go_on.set()
    task = await agent.wait_for_state("COMPLETED")
    telegram.user_says(CHAT, "and something short")
    await telegram.wait_for_text(CHAT, "echo: and something short")
    assert ("too late for this" in task.text, gateway.is_running) == (True, True)
    assert not [text for text in telegram.texts(CHAT) if "too late" in text]
    await gateway.at_rest()
    [known] = [item for item in await gateway.items("tasks") if item["task_id"] == task.id]
    inbox = (await gateway.api(f"tasks/{known['id']}"))["inbox"]
    if mode == "overtaken":
        assert known["state"] == "canceled"
        assert '"state":"canceled"' in inbox[-1]["body"]
    else:
        assert (known["state"], known["disposition"]) == ("completed", "detached")
        assert [record["kind"] for record in inbox if "too late for this" in record["body"]] == ["artifact"]
