"""What is shown, as Telegram got it, and what each way to fail is called."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from core.delivery import Delivery, Op, Outcome, Piece, Refusal, Rejected, Sent, Unknown
from core.doors.outbound import GuardedClient
from core.identity import Address, Source
from core.parts import Data, File, Part, Text
from core.plugin import PreviewFrame
from plugins.telegram.failures import ApiFailure
from plugins.telegram.plugin import TelegramPlugin
from tests.fakes.scripting import (
    Respond,
    cut_after_accepting,
    cut_before,
    hang_after_accepting,
    http_status,
)
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_responses import (
    accepted_then_server_error,
    bad_request,
    conflict,
    forbidden,
    migrate,
    server_error,
    throttle,
    unauthorized,
)
from tests.plugins.telegram.conftest import MakePlugin
from tests.plugins.telegram.intake import ManualTime

ADA, GROUP, OTHER = 1001, -1001234567890, 2002
SOURCE = Source("telegram", "support")

Show = Callable[..., Any]


def delivery(
    plugin: TelegramPlugin, text: str = "hello", *, chat: int = ADA, topic: str = "", **fields: Any
) -> Delivery:
    payloads = plugin.render(Piece("message:1", (Text(text),)))
    usual: dict[str, Any] = {"payload": payloads[0] if payloads else {}, "attempt": 1, "queued": 0.0, "not_after": 9e9}
    return Delivery(
        id="d1",
        conversation="c1",
        address=Address(SOURCE, str(chat), topic),
        turn="t1",
        **{**usual, **fields},
    )


def frame(text: str, shown: str = "", *, chat: int = ADA, topic: str = "", **fields: Any) -> PreviewFrame:
    return PreviewFrame(Address(SOURCE, str(chat), topic), "t1", text, shown, is_direct=chat > 0, **fields)


class TestShowing:
    async def test_formatting_is_shown_and_the_message_is_named(
        self, plugin: TelegramPlugin, telegram: FakeTelegram
    ) -> None:
        outcome = await plugin.send(delivery(plugin, "this is **done** & dusted"))
        [shown] = telegram.messages(ADA)
        assert outcome == Sent((str(shown.message_id),))
        assert (shown.text, shown.bold) == ("this is done & dusted", ["done"])

    async def test_it_replies_to_the_question_even_if_that_was_deleted(
        self, plugin: TelegramPlugin, telegram: FakeTelegram
    ) -> None:
        asked = telegram.user_says(ADA, "?")
        await plugin.send(delivery(plugin, quote=str(asked.message_id)))
        await plugin.send(delivery(plugin, quote="4711"))
        assert [message.reply_to for message in telegram.messages(ADA)] == [asked.message_id, None]

    @pytest.mark.case("TG-27")
    async def test_everything_for_a_topic_goes_to_the_topic(
        self, make_plugin: MakePlugin, telegram: FakeTelegram
    ) -> None:
        plugin = make_plugin(streaming="edit")
        forum = telegram.forum(GROUP)
        topic = telegram.forum_topic(forum)
        where: dict[str, Any] = {"chat": forum, "topic": str(topic)}
        await plugin.preview(frame("", **where))
        await plugin.preview(frame("half", **where))
        await plugin.send(delivery(plugin, "whole", **where))
        assert [message.topic for message in telegram.messages(forum)] == [topic, topic]
        [typing] = telegram.calls_of("sendChatAction")
        assert typing.params["message_thread_id"] == topic

    @pytest.mark.case("TG-28")
    async def test_the_general_topic_is_sent_to_without_its_id(
        self, plugin: TelegramPlugin, telegram: FakeTelegram
    ) -> None:
        telegram.forum(GROUP)
        assert isinstance(await plugin.send(delivery(plugin, chat=GROUP, topic="1")), Sent)
        await plugin.preview(frame("", chat=GROUP, topic="1"))
        assert all("message_thread_id" not in call.params for call in telegram.calls)

    @pytest.mark.parametrize(("language", "mark"), [("en", "(again) "), ("zh", "（重发）")])
    async def test_what_may_have_been_seen_before_says_so(
        self, plugin: TelegramPlugin, telegram: FakeTelegram, language: str, mark: str
    ) -> None:
        await plugin.send(delivery(plugin, "**hello**", is_repeat=True, language=language))
        assert telegram.texts(ADA) == [f"{mark}hello"]

    async def test_a_full_message_is_repeated_whole_rather_than_marked(
        self, plugin: TelegramPlugin, telegram: FakeTelegram
    ) -> None:
        await plugin.send(delivery(plugin, "x" * 4096, is_repeat=True))
        assert telegram.texts(ADA) == ["x" * 4096]

    @pytest.mark.case("TG-01")
    async def test_a_message_of_the_largest_size_is_taken(self, plugin: TelegramPlugin, telegram: FakeTelegram) -> None:
        assert isinstance(await plugin.send(delivery(plugin, "😀" * 2048)), Sent)
        assert telegram.texts(ADA) == ["😀" * 2048]


class TestRefusedMarkup:
    @pytest.mark.parametrize("text", ["Sure! **Step 1** - done.", "*   **主题**：内容 (v1.0)", "**snake_case**"])
    @pytest.mark.case("TG-11")
    @pytest.mark.case("TG-13")
    @pytest.mark.case("F23")
    async def test_the_same_words_are_sent_once_as_plain_text(
        self, plugin: TelegramPlugin, telegram: FakeTelegram, text: str
    ) -> None:
        telegram.script("sendMessage", respond=bad_request("can't parse entities: Unsupported start tag"))
        assert isinstance(await plugin.send(delivery(plugin, text)), Sent)
        first, second = telegram.calls_of("sendMessage")
        assert first.params["parse_mode"] == "HTML"
        assert "parse_mode" not in second.params
        assert (second.text, "\\" in second.text) == (text, False)
        assert plugin.health["counts"] == {"markup_refused": 1}

    @pytest.mark.case("TG-13")
    async def test_text_that_is_refused_again_is_not_sent_a_third_time(
        self, plugin: TelegramPlugin, telegram: FakeTelegram
    ) -> None:
        telegram.script("sendMessage", respond=bad_request("can't parse entities"), times=None)
        outcome = await plugin.send(delivery(plugin, "**x**"))
        assert isinstance(outcome, Rejected)
        assert (outcome.kind, len(telegram.calls_of("sendMessage"))) == (Refusal.MALFORMED, 2)

    async def test_it_holds_for_edits_too(self, plugin: TelegramPlugin, telegram: FakeTelegram) -> None:
        sent = await plugin.send(delivery(plugin, "draft"))
        assert isinstance(sent, Sent)
        telegram.script("editMessageText", respond=bad_request("can't parse entities"))
        outcome = await plugin.send(delivery(plugin, "**final**", op=Op.REPLACE, replaces=sent.ids))
        assert outcome == sent
        assert telegram.texts(ADA) == ["**final**"]


class TestReplacing:
    async def test_the_shown_message_is_changed(self, plugin: TelegramPlugin, telegram: FakeTelegram) -> None:
        sent = await plugin.send(delivery(plugin, "draft"))
        assert isinstance(sent, Sent)
        assert await plugin.send(delivery(plugin, "**final**", op=Op.REPLACE, replaces=sent.ids)) == sent
        [shown] = telegram.messages(ADA)
        assert (shown.text, shown.bold, shown.edits) == ("final", ["final"], 1)

    async def test_changing_it_to_what_it_is_already_is_a_success(
        self, plugin: TelegramPlugin, telegram: FakeTelegram
    ) -> None:
        sent = await plugin.send(delivery(plugin, "same"))
        assert isinstance(sent, Sent)
        again = delivery(plugin, "same", op=Op.REPLACE, replaces=sent.ids, is_repeat=True)
        assert await plugin.send(again) == sent
        assert telegram.texts(ADA) == ["same"]

    async def test_a_message_that_was_deleted_is_shown_anew(
        self, plugin: TelegramPlugin, telegram: FakeTelegram
    ) -> None:
        outcome = await plugin.send(delivery(plugin, "final", op=Op.REPLACE, replaces=("4711",)))
        [shown] = telegram.messages(ADA)
        assert outcome == Sent((str(shown.message_id),))

    @pytest.mark.case("TG-24")
    async def test_an_edit_under_flood_control_is_not_shown_as_a_second_message(
        self, plugin: TelegramPlugin, telegram: FakeTelegram, time: ManualTime
    ) -> None:
        sent = await plugin.send(delivery(plugin, "draft"))
        assert isinstance(sent, Sent)
        telegram.script("editMessageText", respond=throttle(34))
        final = delivery(plugin, "final", op=Op.REPLACE, replaces=sent.ids)
        outcome = await plugin.send(final)
        assert isinstance(outcome, Rejected)
        assert (outcome.kind, outcome.retry_after) == (Refusal.THROTTLED, 34)
        time.advance(34)
        assert await plugin.send(final) == sent
        assert telegram.texts(ADA) == ["final"]

    async def test_several_messages_become_one(self, plugin: TelegramPlugin, telegram: FakeTelegram) -> None:
        ids = [
            outcome.ids[0] for text in "abc" if isinstance(outcome := await plugin.send(delivery(plugin, text)), Sent)
        ]
        await plugin.send(delivery(plugin, "all", op=Op.REPLACE, replaces=tuple(ids)))
        assert telegram.texts(ADA) == ["all"]

    async def test_a_withdrawn_message_is_gone(self, plugin: TelegramPlugin, telegram: FakeTelegram) -> None:
        sent = await plugin.send(delivery(plugin, "draft"))
        assert isinstance(sent, Sent)
        withdrawal = delivery(plugin, op=Op.WITHDRAW, replaces=sent.ids)
        assert await plugin.send(withdrawal) == Sent(())
        assert telegram.messages(ADA) == []
        assert await plugin.send(withdrawal) == Sent(())


DEFINITE: list[tuple[Respond, Refusal]] = [
    (throttle(7), Refusal.THROTTLED),
    (forbidden(), Refusal.BLOCKED),
    (forbidden("user is deactivated"), Refusal.BLOCKED),
    (forbidden("bot was kicked from the supergroup chat"), Refusal.BLOCKED),
    (bad_request("chat not found"), Refusal.BLOCKED),
    (bad_request("PEER_ID_INVALID"), Refusal.BLOCKED),
    (bad_request("not enough rights to send text messages to the chat"), Refusal.BLOCKED),
    (bad_request("message thread not found"), Refusal.NO_TOPIC),
    (bad_request("TOPIC_CLOSED"), Refusal.NO_TOPIC),
    (bad_request("message is too long"), Refusal.MALFORMED),
    (bad_request("message text is empty"), Refusal.MALFORMED),
    (bad_request("something new"), Refusal.MALFORMED),
    (migrate(-1009), Refusal.MOVED),
    (unauthorized(), Refusal.UNAUTHORISED),
    (conflict(), Refusal.UNAVAILABLE),
    (server_error(500), Refusal.UNAVAILABLE),
    (http_status(413), Refusal.MALFORMED),
    (http_status(403, body="<html>who are you</html>"), Refusal.UNAVAILABLE),
    (http_status(404, body="<html>nothing here</html>"), Refusal.UNAVAILABLE),
    (http_status(302, Location="https://elsewhere.example"), Refusal.UNAVAILABLE),
    (http_status(429, Retry_After="3"), Refusal.THROTTLED),
    (http_status(418, body='{"ok": false, "description": "teapot"}'), Refusal.UNAVAILABLE),
]

UNCERTAIN: list[Respond] = [
    server_error(502),
    server_error(504),
    accepted_then_server_error(502),
    http_status(500, body="<html>oops</html>"),
    http_status(200, body="<html>welcome</html>"),
    http_status(200, body='{"ok": true}'),
    http_status(200, body='{"ok": true, "result": {"surprise": 1}}'),
    http_status(504, body='{"ok": false, "error_code": 504, "description": "Gateway Timeout"}'),
    cut_before(),  # after the request went out: nobody can tell whether it was read
    cut_after_accepting(),
]


class TestOutcomes:
    @pytest.mark.parametrize(("respond", "kind"), DEFINITE)
    @pytest.mark.case("F20")
    @pytest.mark.case("F23")
    @pytest.mark.case("TG-30")
    async def test_a_definite_no_has_its_kind_and_is_asked_once(
        self, plugin: TelegramPlugin, telegram: FakeTelegram, respond: Respond, kind: Refusal
    ) -> None:
        telegram.script("sendMessage", respond=respond)
        outcome = await plugin.send(delivery(plugin))
        assert isinstance(outcome, Rejected)
        assert (outcome.kind, len(telegram.calls_of("sendMessage"))) == (kind, 1)
        assert telegram.messages(ADA) == []

    @pytest.mark.case("TG-30")
    async def test_a_chat_that_gave_up_its_topics_is_answered_as_a_whole_with_one_notice(
        self, plugin: TelegramPlugin, telegram: FakeTelegram
    ) -> None:
        telegram.group(GROUP, kind="supergroup")
        telegram.script("sendMessage", respond=bad_request("message thread not found"))
        assert isinstance(await plugin.send(delivery(plugin, "one", chat=GROUP, topic="9")), Sent)
        telegram.script("sendMessage", respond=bad_request("message thread not found"))
        assert isinstance(await plugin.send(delivery(plugin, "two", chat=GROUP, topic="9")), Sent)
        assert telegram.texts(GROUP) == ["(This chat has no topics any more, so I answer here.)\none", "two"]

    @pytest.mark.case("TG-30")
    async def test_a_forum_s_lost_topic_is_answered_nowhere_else(
        self, plugin: TelegramPlugin, telegram: FakeTelegram
    ) -> None:
        telegram.forum(GROUP)
        outcome = await plugin.send(delivery(plugin, chat=GROUP, topic="9"))
        assert isinstance(outcome, Rejected)
        assert (outcome.kind, telegram.texts(GROUP)) == (Refusal.NO_TOPIC, [])

    @pytest.mark.parametrize("respond", UNCERTAIN)
    @pytest.mark.case("F21")
    async def test_what_may_have_been_shown_is_unknown_and_asked_once(
        self, plugin: TelegramPlugin, telegram: FakeTelegram, respond: Respond
    ) -> None:
        telegram.script("sendMessage", respond=respond)
        outcome = await plugin.send(delivery(plugin))
        assert isinstance(outcome, Unknown)
        assert len(telegram.calls_of("sendMessage")) == 1

    @pytest.mark.case("F22")
    async def test_a_time_out_after_it_was_shown_makes_no_second_copy(
        self, make_plugin: MakePlugin, telegram: FakeTelegram
    ) -> None:
        plugin = make_plugin(timeout=0.2)
        telegram.script("sendMessage", respond=hang_after_accepting())
        assert isinstance(await plugin.send(delivery(plugin)), Unknown)
        assert telegram.texts(ADA) == ["hello"]

    async def test_a_server_that_cannot_be_reached_certainly_showed_nothing(
        self, plugin: TelegramPlugin, telegram: FakeTelegram
    ) -> None:
        await telegram.go_down()
        outcome = await plugin.send(delivery(plugin))
        assert isinstance(outcome, Rejected)
        assert outcome.kind is Refusal.UNAVAILABLE

    @pytest.mark.case("TG-31")
    async def test_a_chat_that_moved_says_where_to(self, plugin: TelegramPlugin, telegram: FakeTelegram) -> None:
        telegram.script("sendMessage", respond=migrate(-1001234567890))
        outcome = await plugin.send(delivery(plugin, chat=-4242))
        assert isinstance(outcome, Rejected)
        assert (outcome.kind, outcome.moved_to) == (Refusal.MOVED, "-1001234567890")

    async def test_a_refused_token_is_the_accounts_health(self, plugin: TelegramPlugin, telegram: FakeTelegram) -> None:
        telegram.script("sendMessage", respond=unauthorized())
        await plugin.send(delivery(plugin))
        assert plugin.health["state"] == "unauthorised"


class TestFloodControl:
    @pytest.mark.case("TG-21")
    @pytest.mark.case("F20")
    async def test_a_closed_chat_is_left_alone_until_its_time_and_others_are_not(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, time: ManualTime
    ) -> None:
        plugin = make_plugin(streaming="edit")
        shown = await plugin.preview(frame("one"))
        telegram.script("editMessageText", respond=throttle(33))
        time.advance(1)
        with pytest.raises(ApiFailure):
            await plugin.preview(frame("one two", shown))
        calls = len(telegram.calls)
        time.advance(32)
        assert await plugin.preview(frame("one two three", shown)) == shown
        assert await plugin.preview(frame("", shown)) == shown
        outcome = await plugin.send(delivery(plugin, "final", op=Op.REPLACE, replaces=(shown,)))
        assert outcome == Rejected(Refusal.THROTTLED, "flood control is not over yet", retry_after=1.0)
        assert len(telegram.calls) == calls
        assert isinstance(await plugin.send(delivery(plugin, chat=OTHER)), Sent)
        time.advance(1)
        await plugin.send(delivery(plugin, "final", op=Op.REPLACE, replaces=(shown,)))
        assert telegram.texts(ADA) == ["final"]

    @pytest.mark.case("TG-23")
    async def test_hours_are_given_back_at_once_for_the_host_to_keep(
        self, plugin: TelegramPlugin, telegram: FakeTelegram, time: ManualTime
    ) -> None:
        telegram.script("sendMessage", respond=throttle(13938))
        outcome = await plugin.send(delivery(plugin))
        assert isinstance(outcome, Rejected)
        assert (outcome.retry_after, time.waits) == (13938, [])


class TestPreviews:
    async def test_without_streaming_there_is_only_a_typing_sign(
        self, plugin: TelegramPlugin, telegram: FakeTelegram
    ) -> None:
        assert not plugin.capabilities.previews
        assert await plugin.preview(frame("")) == ""
        assert telegram.chats.actions == [(ADA, "typing")]
        assert telegram.messages(ADA) == []

    @pytest.mark.case("TG-15")
    async def test_preview_and_final_are_one_message_with_one_formatting(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, time: ManualTime
    ) -> None:
        plugin = make_plugin(streaming="edit")
        shown = await plugin.preview(frame("**done**"))
        assert telegram.messages(ADA)[0].bold == ["done"]
        time.advance(1)
        assert await plugin.preview(frame("**done** and", shown)) == shown
        await plugin.send(delivery(plugin, "**done** and *dusted*", op=Op.REPLACE, replaces=(shown,)))
        [message] = telegram.messages(ADA)
        assert (message.text, message.bold, message.styled("italic")) == ("done and dusted", ["done"], ["dusted"])

    @pytest.mark.parametrize(("chat", "interval"), [(ADA, 1.0), (GROUP, 3.0)])
    async def test_a_message_is_not_edited_faster_than_its_chat_allows(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, time: ManualTime, chat: int, interval: float
    ) -> None:
        plugin = make_plugin(streaming="edit")
        shown = await plugin.preview(frame("one", chat=chat))
        time.advance(interval - 0.01)
        assert await plugin.preview(frame("one two", shown, chat=chat)) == shown
        assert telegram.texts(chat) == ["one"]
        time.advance(0.01)
        await plugin.preview(frame("one two", shown, chat=chat))
        assert telegram.texts(chat) == ["one two"]

    async def test_an_unchanged_picture_is_not_sent(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, time: ManualTime
    ) -> None:
        plugin = make_plugin(streaming="edit")
        shown = await plugin.preview(frame("x" * 4096))
        time.advance(60)
        assert await plugin.preview(frame("x" * 5000, shown)) == shown
        assert telegram.calls_of("editMessageText") == []

    async def test_a_preview_that_somebody_deleted_is_forgotten(
        self, make_plugin: MakePlugin, telegram: FakeTelegram, time: ManualTime
    ) -> None:
        plugin = make_plugin(streaming="edit")
        shown = await plugin.preview(frame("one"))
        del telegram.chats.chat(ADA).messages[int(shown)]
        time.advance(1)
        assert await plugin.preview(frame("one two", shown)) == ""

    async def test_text_that_shows_nothing_yet_makes_no_message(
        self, make_plugin: MakePlugin, telegram: FakeTelegram
    ) -> None:
        plugin = make_plugin(streaming="edit")
        assert await plugin.preview(frame(" \n")) == ""
        assert telegram.calls == []


class TestRendering:
    @pytest.mark.parametrize("parts", [(), (Text(""),), (Text("  \n"),), (Text(" "), Text("\n"))])
    @pytest.mark.case("TG-16")
    def test_an_empty_piece_is_no_message(self, plugin: TelegramPlugin, parts: tuple[Part, ...]) -> None:
        assert plugin.render(Piece("artifact:1", parts)) == ()

    def test_texts_are_joined_as_they_are(self, plugin: TelegramPlugin) -> None:
        assert _plain(plugin, Text("Hel"), Text("lo")) == "Hello"

    def test_a_file_is_its_name_and_its_link(self, plugin: TelegramPlugin) -> None:
        said = _plain(plugin, Text("Here:"), File("report.pdf", "application/pdf", "https://files.example/a_b_c"))
        assert said == "Here:\n\n📎 report.pdf\nhttps://files.example/a_b_c"

    @pytest.mark.parametrize(
        "url", ["", "file:///etc/passwd", "javascript:alert(1)", "http://", "https://x/ y", "https://[::1", "HTTPS//x"]
    )
    def test_other_links_are_not_passed_on(self, plugin: TelegramPlugin, url: str) -> None:
        assert _plain(plugin, File("a.txt", "text/plain", url)) == "📎 a.txt"

    def test_a_file_without_a_name_is_its_type(self, plugin: TelegramPlugin) -> None:
        assert _plain(plugin, File(" \n", "image/png")) == "📎 image/png"

    def test_data_is_shown_as_code(self, plugin: TelegramPlugin) -> None:
        [payload] = plugin.render(Piece("artifact:1", (Data({"天气": ["晴", None]}),)))
        assert '<pre><code class="language-json">' in payload["html"]
        assert '"天气"' in payload["html"]

    def test_data_with_fences_in_it_stays_in_its_own(self, plugin: TelegramPlugin) -> None:
        [payload] = plugin.render(Piece("artifact:1", (Data("```\n<b>x</b>"),)))
        assert "&lt;b&gt;" in payload["html"]

    def test_much_data_is_cut(self, plugin: TelegramPlugin) -> None:
        payloads = plugin.render(Piece("artifact:1", (Data(["x" * 100] * 1000),)))
        assert len(payloads) == 1
        assert "…" in payloads[0]["plain"]


def _plain(plugin: TelegramPlugin, *parts: Part) -> str:
    [payload] = plugin.render(Piece("artifact:1", parts))
    return str(payload["plain"])


@pytest.mark.case("SEC-08")
@pytest.mark.parametrize(
    "respond", [throttle(1), forbidden(), unauthorized(), server_error(502), http_status(404), cut_before()]
)
async def test_the_token_is_in_no_outcome_no_health_and_no_log(
    plugin: TelegramPlugin, telegram: FakeTelegram, respond: Respond, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    telegram.script("sendMessage", respond=respond)
    outcome: Outcome = await plugin.send(replace(delivery(plugin, "very private words"), quote=""))
    said = f"{outcome!r} {plugin.health!r} {caplog.text}"
    assert telegram.token not in said
    assert telegram.token.partition(":")[2] not in said
    assert "very private words" not in said


async def test_telegram_itself_is_reached_over_tls_at_public_addresses_only(client: GuardedClient) -> None:
    from plugins.telegram.api import BotApi

    for base in ("http://api.telegram.org", "https://127.0.0.1:1"):
        api = BotApi("1:x", base, client, is_public=True, timeout=1)
        with pytest.raises(ApiFailure) as caught:
            await api.me()
        assert caught.value.is_kind(Refusal.UNAVAILABLE)
