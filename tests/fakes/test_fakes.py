"""The fake Telegram keeps Telegram's rules: python-telegram-bot, which we did not write, is its judge."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import ClientConnectionError, ClientSession, ClientTimeout, FormData, JsonPayload, Payload, web
from telegram import Bot, BotCommand, InlineKeyboardButton, InlineKeyboardMarkup, ReplyParameters
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)
from telegram.request import HTTPXRequest

from tests.fakes.scripting import Respond, cut_after_accepting, cut_before, delay, hang_after_accepting
from tests.fakes.serving import Loopback
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_html import parse_html
from tests.fakes.telegram_responses import bad_request, forbidden, migrate, server_error, throttle
from tests.fakes.telegram_updates import SECRET_HEADER, Update
from tests.fakes.telegram_wire import ApiError

CHAT, GROUP = 7, -1007
Encode = Callable[[dict[str, str]], Payload]


@pytest.fixture
async def telegram() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as server:
        yield server


def bot_of(telegram: FakeTelegram, *, token: str | None = None, read_timeout: float = 5.0) -> Bot:
    request = HTTPXRequest(read_timeout=read_timeout)
    return Bot(token or telegram.token, base_url=f"{telegram.base}/bot", request=request)


@pytest.fixture
async def bot(telegram: FakeTelegram) -> AsyncIterator[Bot]:
    async with bot_of(telegram) as ready:
        yield ready


class Hook(Loopback):
    """A webhook that answers with the statuses it was given, then 200; it keeps what it accepted."""

    def __init__(self, *statuses: int, retry_after: str = "", answer: object = None) -> None:
        super().__init__()
        self.statuses, self.retry_after, self.answer = list(statuses), retry_after, answer
        self.accepted: list[int] = []
        self.secrets: list[str | None] = []

    @property
    def url(self) -> str:
        return f"{self.base}/hook"

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_post("/hook", self._take)

    async def _take(self, request: web.Request) -> web.Response:
        update = await request.json()
        self.secrets.append(request.headers.get(SECRET_HEADER))
        if self.statuses:
            headers = {"Retry-After": self.retry_after} if self.retry_after else {}
            return web.Response(status=self.statuses.pop(0), headers=headers)
        self.accepted.append(update["update_id"])
        return web.json_response(self.answer)


async def test_the_bot_learns_its_own_name(bot: Bot) -> None:
    assert (bot.id, bot.username) == (123456789, "desk_bot")


async def test_a_message_is_shown_and_may_be_edited_and_deleted(telegram: FakeTelegram, bot: Bot) -> None:
    sent = await bot.send_message(CHAT, "<b>one</b> &amp; two", parse_mode="HTML")
    assert (telegram.texts(CHAT), telegram.messages(CHAT)[0].bold) == (["one & two"], ["one"])
    await bot.edit_message_text("three", CHAT, sent.message_id)
    assert telegram.texts(CHAT) == ["three"]
    await bot.delete_message(CHAT, sent.message_id)
    assert telegram.texts(CHAT) == []


@pytest.mark.parametrize("length", [0, 4097])
async def test_an_empty_or_too_long_text_is_refused(bot: Bot, length: int) -> None:
    with pytest.raises(BadRequest, match=r"text is empty|too long"):
        await bot.send_message(CHAT, "x" * length)


async def test_length_counts_utf16_units_of_the_visible_text(bot: Bot) -> None:
    await bot.send_message(CHAT, "<b>" + "😀" * 2048 + "</b>", parse_mode="HTML")
    with pytest.raises(BadRequest, match="too long"):
        await bot.send_message(CHAT, "😀" * 2049)


@pytest.mark.parametrize("markup", ["<b>x", "<b>x</i>", "<h1>x</h1>", "a < b", "x</b>", "<span>x</span>", "<a href='x"])
async def test_markup_that_is_not_telegrams_is_refused(bot: Bot, markup: str) -> None:
    with pytest.raises(BadRequest, match=r"(?i)can't parse entities"):
        await bot.send_message(CHAT, markup, parse_mode="HTML")


def test_entities_count_utf16_units_and_code_in_pre_names_its_language() -> None:
    text, entities = parse_html('😀<b>a<i>b</i></b><pre><code class="language-python">  x &lt; 1</code></pre>')
    assert text == "😀ab  x < 1"
    assert entities == [
        {"type": "bold", "offset": 2, "length": 2},
        {"type": "italic", "offset": 3, "length": 1},
        {"type": "pre", "offset": 4, "length": 7, "language": "python"},
    ]


@pytest.mark.parametrize("text", ["&nbsp;", "&", "a && b", "&#0;"])
def test_unknown_references_stay_as_they_are(text: str) -> None:
    assert parse_html(text) == (text, [])


def test_an_unclosed_tag_is_named() -> None:
    with pytest.raises(ApiError, match='Can\'t find end tag corresponding to start tag "b"'):
        parse_html("<b>x")


async def test_an_edit_that_changes_nothing_is_refused(bot: Bot) -> None:
    sent = await bot.send_message(CHAT, "same")
    with pytest.raises(BadRequest, match="is not modified"):
        await bot.edit_message_text("same", CHAT, sent.message_id)
    with pytest.raises(BadRequest, match="essage to edit not found"):
        await bot.edit_message_text("same", CHAT, 99)


async def test_a_topic_exists_in_its_forum_only(telegram: FakeTelegram, bot: Bot) -> None:
    topic = telegram.forum_topic(telegram.forum(GROUP))
    await bot.send_message(GROUP, "in the topic", message_thread_id=topic)
    assert [shown.text for shown in telegram.messages(GROUP, topic=topic)] == ["in the topic"]
    for chat, thread in ((GROUP, topic + 1), (GROUP, 1), (CHAT, topic)):
        with pytest.raises(BadRequest, match=r"(?i)message thread not found"):
            await bot.send_message(chat, "lost", message_thread_id=thread)


async def test_a_reply_needs_its_question_unless_it_may_go_without(telegram: FakeTelegram, bot: Bot) -> None:
    said = telegram.user_says(CHAT, "question")
    sent = await bot.send_message(CHAT, "answer", reply_parameters=ReplyParameters(said.message_id))
    assert sent.reply_to_message is not None
    assert sent.reply_to_message.text == "question"
    with pytest.raises(BadRequest, match=r"(?i)message to be replied not found"):
        await bot.send_message(CHAT, "answer", reply_parameters=ReplyParameters(99))
    await bot.send_message(CHAT, "alone", reply_parameters=ReplyParameters(99, allow_sending_without_reply=True))
    assert [shown.reply_to for shown in telegram.messages(CHAT)] == [said.message_id, None]


async def test_buttons_are_pressed_and_answered_once(telegram: FakeTelegram, bot: Bot) -> None:
    keyboard = InlineKeyboardMarkup([[InlineKeyboardButton("Again", callback_data="again")]])
    sent = await bot.send_message(CHAT, "uncertain", reply_markup=keyboard)
    telegram.user_presses(CHAT, sent.message_id, "again")
    query = (await bot.get_updates())[0].callback_query
    assert query is not None
    assert query.data == "again"
    assert await bot.answer_callback_query(query.id)
    with pytest.raises(BadRequest, match=r"(?i)query is too old"):
        await bot.answer_callback_query(query.id)
    too_long = InlineKeyboardMarkup([[InlineKeyboardButton("Again", callback_data="x" * 65)]])
    with pytest.raises(BadRequest, match=r"(?i)button_data_invalid"):
        await bot.send_message(CHAT, "x", reply_markup=too_long)


async def test_commands_are_counted_and_their_names_checked(bot: Bot) -> None:
    assert await bot.set_my_commands([BotCommand("help", "Help"), BotCommand("new", "New")])
    assert [command.command for command in await bot.get_my_commands()] == ["help", "new"]
    with pytest.raises(BadRequest, match=r"(?i)too_much"):
        await bot.set_my_commands([BotCommand(f"c{n}", "x") for n in range(101)])
    with pytest.raises(BadRequest, match=r"(?i)command_invalid"):
        await bot.set_my_commands([BotCommand("中文", "x")])


async def test_drafts_are_for_private_chats(telegram: FakeTelegram, bot: Bot) -> None:
    assert await bot.send_message_draft(CHAT, 5, "par")
    assert telegram.chats.drafts == {(CHAT, 5): ["par"]}
    with pytest.raises(BadRequest, match=r"(?i)peer_invalid"):
        await bot.send_message_draft(GROUP, 5, "par")


async def test_a_chat_action_is_noted(telegram: FakeTelegram, bot: Bot) -> None:
    await bot.send_chat_action(CHAT, "typing")
    assert telegram.chats.actions == [(CHAT, "typing")]


async def test_a_wrong_token_is_unauthorized(telegram: FakeTelegram) -> None:
    with pytest.raises(InvalidToken):
        async with bot_of(telegram, token="1:wrong"):
            pass


def json_body(fields: dict[str, str]) -> Payload:
    return JsonPayload(fields)


def form_body(fields: dict[str, str]) -> Payload:
    return FormData(fields)()


def multipart_body(fields: dict[str, str]) -> Payload:
    return FormData(fields, default_to_multipart=True)()


@pytest.mark.parametrize("encode", [json_body, form_body, multipart_body])
async def test_every_encoding_of_a_call_means_the_same(telegram: FakeTelegram, encode: Encode) -> None:
    fields = {"chat_id": "7", "text": "[1]", "reply_parameters": '{"message_id":9,"allow_sending_without_reply":true}'}
    async with (
        ClientSession() as http,
        http.post(f"{telegram.base}/bot{telegram.token}/sendmessage", data=encode(fields)) as answer,
    ):
        assert answer.status == 200
    assert telegram.texts(CHAT) == ["[1]"]
    assert telegram.calls_of("sendMessage")[0].params["reply_parameters"]["message_id"] == 9


async def test_the_offset_confirms_and_the_rest_comes_again(telegram: FakeTelegram, bot: Bot) -> None:
    for text in ("a", "b", "c"):
        telegram.user_says(CHAT, text)
    first = [update.update_id for update in await bot.get_updates()]
    assert [update.update_id for update in await bot.get_updates(limit=2)] == first[:2]
    assert [update.update_id for update in await bot.get_updates(offset=first[0] + 1)] == first[1:]
    assert [update.update_id for update in await bot.get_updates(offset=-1)] == first[2:]
    assert await bot.get_updates(offset=first[2] + 1) == ()


async def test_malformed_updates_are_sent_as_they_are(telegram: FakeTelegram, bot: Bot) -> None:
    odd: list[Update] = [{"update_id": "x", "message": "text"}, {"callback_query": {"message": 5}}, {}]
    async with Hook() as hook:
        await bot.set_webhook(hook.url)
        for update in odd:
            telegram.inject(update)
        await telegram.wait_until_acknowledged()
        assert sorted(map(str, hook.accepted)) == ["100", "101", "x"]


async def test_a_long_poll_is_answered_by_what_arrives(telegram: FakeTelegram, bot: Bot) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=20))
    await telegram.changes.until(lambda: telegram.updates.is_polled)
    telegram.user_says(CHAT, "hello")
    assert [update.message.text for update in await poll if update.message] == ["hello"]


async def test_the_first_of_two_polls_gets_the_conflict(telegram: FakeTelegram, bot: Bot) -> None:
    first = asyncio.create_task(bot.get_updates(timeout=20))
    await telegram.changes.until(lambda: telegram.updates.is_polled)
    async with bot_of(telegram) as other:
        second = asyncio.create_task(other.get_updates(timeout=20))
        with pytest.raises(Conflict, match="terminated by other getUpdates"):
            await first
        telegram.user_says(CHAT, "hello")
        assert len(await second) == 1


async def test_a_webhook_shuts_polling_out(telegram: FakeTelegram, bot: Bot) -> None:
    async with Hook() as hook:
        await bot.set_webhook(hook.url, secret_token="s3cret")
        assert (await bot.get_webhook_info()).url == hook.url
        with pytest.raises(Conflict, match="webhook is active"):
            await bot.get_updates()
        await bot.delete_webhook()
        assert await bot.get_updates() == ()


async def test_updates_reach_the_webhook_in_order_with_the_secret(telegram: FakeTelegram, bot: Bot) -> None:
    async with Hook(500, 503) as hook:
        await bot.set_webhook(hook.url, secret_token="s3cret")
        said = [telegram.user_says(CHAT, text).update_id for text in ("a", "b", "c")]
        await telegram.wait_until_acknowledged()
        assert (hook.accepted, set(hook.secrets)) == (said, {"s3cret"})
        assert [attempt.status for attempt in telegram.updates.attempts] == [500, 503, 200, 200, 200]


async def test_a_failing_update_blocks_its_own_chat_only(telegram: FakeTelegram, bot: Bot) -> None:
    async with Hook(503, retry_after="3600") as hook:
        await bot.set_webhook(hook.url)
        telegram.user_says(CHAT, "blocked")
        await telegram.changes.until(lambda: telegram.updates.attempts)
        other = telegram.user_says(8, "free")
        await telegram.changes.until(lambda: hook.accepted)
        assert hook.accepted == [other.update_id]
        assert telegram.updates.attempts[0].retry_after == 3600


async def test_a_webhook_may_answer_with_a_call(telegram: FakeTelegram, bot: Bot) -> None:
    async with Hook(answer={"method": "sendMessage", "chat_id": CHAT, "text": "by the way"}) as hook:
        await bot.set_webhook(hook.url)
        telegram.user_says(CHAT, "hello")
        await telegram.wait_for_text(CHAT, "by the way")


async def test_kinds_that_were_not_asked_for_are_not_sent(telegram: FakeTelegram, bot: Bot) -> None:
    await bot.get_updates(allowed_updates=["edited_message"])
    said = telegram.user_says(CHAT, "first")
    edited = telegram.user_edits(said, "second")
    assert said.update_id is None
    updates = await bot.get_updates()
    assert [update.update_id for update in updates] == [edited.update_id]
    assert updates[0].edited_message is not None
    assert updates[0].edited_message.edit_date is not None


async def test_people_write_in_every_way(telegram: FakeTelegram, bot: Bot) -> None:
    topic = telegram.forum_topic(telegram.forum(GROUP))
    question = telegram.user_says(GROUP, "😀 @desk_bot help", topic=topic, user=42)
    telegram.user_forwards(CHAT, "/cancel")
    telegram.user_sends(CHAT, "photo", caption="look")
    telegram.user_says(GROUP, "again", topic=topic, reply_to=question.message_id)
    mention, forward, photo, reply = [update.message for update in await bot.get_updates()]
    assert mention is not None
    assert list(mention.parse_entities(["mention"]).values()) == ["@desk_bot"]
    assert (mention.message_thread_id, mention.is_topic_message) == (topic, True)
    assert forward is not None
    assert forward.forward_origin is not None
    assert photo is not None
    assert (photo.caption, bool(photo.photo)) == ("look", True)
    assert reply is not None
    assert reply.reply_to_message is not None
    assert reply.reply_to_message.message_id == question.message_id


# python-telegram-bot announces a change of RetryAfter each time it makes one.
@pytest.mark.filterwarnings("ignore:Deprecated since version v22.2")
@pytest.mark.parametrize(
    ("respond", "error"),
    [
        (throttle(33), RetryAfter),
        (forbidden(), Forbidden),
        (bad_request("chat not found"), BadRequest),
        (migrate(-100123), ChatMigrated),
        (server_error(500), NetworkError),
        (server_error(502), NetworkError),
        (server_error(504), NetworkError),
        (cut_before(), NetworkError),
    ],
)
async def test_an_ordered_refusal_shows_nothing_and_holds_once(
    telegram: FakeTelegram, bot: Bot, respond: Respond, error: type[TelegramError]
) -> None:
    script = telegram.script("sendMessage", chat=CHAT, respond=respond)
    await bot.send_message(8, "elsewhere")
    with pytest.raises(error):
        await bot.send_message(CHAT, "x")
    assert (telegram.texts(CHAT), script.used) == ([], 1)
    await bot.send_message(CHAT, "y")
    assert telegram.texts(CHAT) == ["y"]


async def test_a_message_is_shown_although_its_answer_is_lost(telegram: FakeTelegram) -> None:
    telegram.script("sendMessage", respond=hang_after_accepting())
    telegram.script("sendMessage", respond=cut_after_accepting())
    async with bot_of(telegram, read_timeout=0.2) as bot:
        with pytest.raises(TimedOut):
            await bot.send_message(CHAT, "hung")
        with pytest.raises(NetworkError):
            await bot.send_message(CHAT, "cut")
    assert telegram.texts(CHAT) == ["hung", "cut"]


async def test_an_answer_may_be_held_back(telegram: FakeTelegram, bot: Bot) -> None:
    go = asyncio.Event()
    telegram.script("sendMessage", respond=delay(go), after=1)
    await bot.send_message(CHAT, "first")
    sending = asyncio.create_task(bot.send_message(CHAT, "second"))
    await telegram.wait_for_messages(CHAT, 2)
    assert not sending.done()
    go.set()
    assert (await sending).text == "second"


async def test_an_upgraded_group_names_its_successor(telegram: FakeTelegram, bot: Bot) -> None:
    telegram.group(-7)
    telegram.upgrade(-7, GROUP)
    with pytest.raises(ChatMigrated) as moved:
        await bot.send_message(-7, "x")
    assert moved.value.new_chat_id == GROUP


async def test_the_server_goes_down_and_comes_back_with_its_chats(telegram: FakeTelegram) -> None:
    url = f"{telegram.base}/bot{telegram.token}/sendMessage"
    async with ClientSession(timeout=ClientTimeout(total=5)) as http:
        async with http.post(url, json={"chat_id": CHAT, "text": "before"}):
            pass
        await telegram.go_down()
        with pytest.raises(ClientConnectionError):
            await http.post(url, json={"chat_id": CHAT, "text": "lost"})
        await telegram.come_up()
        async with http.post(url, json={"chat_id": CHAT, "text": "after"}) as answer:
            assert answer.status == 200
    assert telegram.texts(CHAT) == ["before", "after"]


async def test_a_wait_in_vain_says_what_for(telegram: FakeTelegram) -> None:
    with pytest.raises(TimeoutError, match="1 messages in chat 7"):
        await telegram.wait_for_messages(CHAT, timeout=0.01)
