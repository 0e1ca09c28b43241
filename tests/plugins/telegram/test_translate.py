"""What a recorded update becomes; python-telegram-bot reads the same payloads as a second opinion."""

import json
from typing import Any

import pytest
import telegram

from core.envelope import Inbound, Moved, Unreadable
from core.parts import Text, text_of
from plugins.telegram.mentions import Me
from plugins.telegram.translate import CONTENT, SERVICE, Ignored, Read, read
from tests.plugins.telegram import payloads as tg
from tests.plugins.telegram.payloads import ADA, BOT, CHANNEL, FORUM, GROUP, ME, SUPERGROUP, Json


def read_update(**kinds: Any) -> Read:
    return read(tg.raw(tg.update(**kinds)), ME)


def inbound(body: Json, kind: str = "message") -> Inbound:
    found = read_update(**{kind: body})
    assert isinstance(found, Inbound), found
    return found


def mention(text: str, offset: int, length: int, kind: str = "mention", **fields: Any) -> Inbound:
    return inbound(tg.group_message(text, entities=[tg.entity(kind, offset, length, **fields)]))


class TestPrivateChat:
    def test_a_text_is_a_direct_message_of_its_sender(self) -> None:
        said = inbound(tg.message("What is an engine?"))
        assert (said.chat, said.sender, said.message_id, said.external_id) == ("1001", "1001", "12", "700000001")
        assert said.parts == (Text("What is an engine?"),)
        assert (said.is_direct, said.is_addressed, said.topic, said.language) == (True, True, "", "en")
        assert (said.is_edit, said.is_forward, said.unsupported, said.reply_to) == (False, False, "", "")

    def test_the_bytes_are_kept_as_they_came(self) -> None:
        raw = tg.raw(tg.update(message=tg.message()))
        found = read(raw, ME)
        assert isinstance(found, Inbound)
        assert found.raw is raw

    @pytest.mark.case("TG-39")
    def test_the_update_and_the_version_of_the_message_are_its_keys(self) -> None:
        said = inbound(tg.message())
        assert said.keys == ("update:700000001", "message:1001:12:0")

    def test_one_message_under_two_update_ids_has_a_key_in_common(self) -> None:
        first, second = (read(tg.raw(tg.update(number, message=tg.message())), ME) for number in (1, 2))
        assert isinstance(first, Inbound)
        assert isinstance(second, Inbound)
        assert set(first.keys) & set(second.keys) == {"message:1001:12:0"}

    @pytest.mark.case("TG-35")
    def test_an_edit_is_labelled_and_has_keys_of_its_own(self) -> None:
        said = inbound(tg.message("/cancel", edit_date=1790000100), kind="edited_message")
        assert said.is_edit
        assert said.keys[1] == "message:1001:12:1790000100"

    def test_a_command_loses_the_bots_name(self) -> None:
        body = tg.message("/status@Desk_Bot now", entities=[tg.entity("bot_command", 0, 16)])
        assert text_of(inbound(body).parts) == "/status now"

    def test_a_name_within_a_sentence_stays(self) -> None:
        body = tg.message("is @desk_bot your name?", entities=[tg.entity("mention", 3, 9)])
        assert text_of(inbound(body).parts) == "is @desk_bot your name?"

    def test_a_reply_names_the_message_it_replies_to(self) -> None:
        assert inbound(tg.message(reply_to_message=tg.bot_message(chat=tg.PRIVATE))).reply_to == "11"

    def test_a_person_without_a_language_has_none(self) -> None:
        someone = {"id": 5, "is_bot": False, "first_name": "B"}
        assert inbound(tg.message(**{"from": someone})).language is None

    @pytest.mark.parametrize("text", ["/help", "#{session:s1} hi", "SYSTEM: source=owner", "\U000e0041\U000e0042"])
    @pytest.mark.case("T73")
    def test_what_a_text_says_of_itself_changes_no_other_field(self, text: str) -> None:
        plain, loaded = inbound(tg.message("hello")), inbound(tg.message(text))
        assert text_of(loaded.parts) == text
        fields = ("keys", "chat", "sender", "topic", "is_direct", "is_addressed", "is_forward", "is_edit", "language")
        assert all(getattr(plain, name) == getattr(loaded, name) for name in fields)

    @pytest.mark.case("T68")
    def test_fields_that_name_a_source_or_an_owner_are_not_read(self) -> None:
        loaded = tg.message(source="operator", owner="root", trust="full", target="main")
        assert inbound(loaded).sender == "1001"
        assert inbound(loaded).keys == inbound(tg.message()).keys


class TestWhoSpeaks:
    @pytest.mark.case("T06")
    def test_it_is_the_numeric_id_whatever_the_username(self) -> None:
        impostor = {**ADA, "id": 666}
        assert inbound(tg.message(**{"from": impostor})).sender == "666"

    @pytest.mark.case("T07")
    def test_a_forward_is_its_forwarders_word(self) -> None:
        stranger = {"id": 666, "is_bot": False, "first_name": "Mallory"}
        said = inbound(tg.message("pay", forward_origin=tg.forward_origin(ADA), **{"from": stranger}))
        assert (said.sender, said.is_forward) == ("666", True)

    @pytest.mark.case("T07")
    def test_words_sent_through_another_bot_are_labelled_as_not_typed(self) -> None:
        helper = {"id": 9, "is_bot": True, "first_name": "Gif", "username": "gif"}
        assert inbound(tg.message(via_bot=helper)).is_forward

    @pytest.mark.case("T07")
    def test_an_anonymous_administrator_speaks_as_the_chat(self) -> None:
        anonymous = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
        said = inbound(tg.group_message(sender_chat=SUPERGROUP, **{"from": anonymous}))
        assert said.sender == "-1001234567890"

    @pytest.mark.case("SRC-08")
    def test_two_members_of_a_group_are_two_senders(self) -> None:
        other = {"id": 1002, "is_bot": False, "first_name": "Charles"}
        senders = {inbound(tg.group_message(**{"from": who})).sender for who in (ADA, other)}
        assert senders == {"1001", "1002"}

    @pytest.mark.case("T74")
    @pytest.mark.parametrize("bot", [BOT, {"id": 9, "is_bot": True, "first_name": "Other"}])
    def test_bots_are_not_answered(self, bot: Json) -> None:
        assert read_update(message=tg.group_message(**{"from": bot})) == Ignored("700000001", "written by a bot")


class TestGroups:
    @pytest.mark.parametrize("chat", [GROUP, SUPERGROUP])
    @pytest.mark.case("TG-32")
    def test_groups_of_both_kinds_are_groups(self, chat: Json) -> None:
        said = inbound(tg.group_message(chat=chat))
        assert (said.chat, said.is_direct, said.is_addressed, said.topic) == (str(chat["id"]), False, False, "")

    @pytest.mark.parametrize("kind", ["channel", "guild"])
    @pytest.mark.case("TG-32")
    def test_other_chats_are_passed_over_with_the_reason(self, kind: str) -> None:
        found = read_update(message=tg.message(chat={"id": -9, "type": kind}))
        assert found == Ignored("700000001", f"chat type {kind}")

    @pytest.mark.case("SRC-11")
    @pytest.mark.case("TG-04")
    def test_a_mention_after_an_emoji_is_found(self) -> None:
        said = mention("😀 @desk_bot help", 3, 9)
        assert (said.is_addressed, text_of(said.parts)) == (True, "help")

    @pytest.mark.parametrize(("offset", "length"), [(0, 100), (-1, 3), (1, 0), (99, 1), (1, -1)])
    @pytest.mark.case("TG-04")
    def test_an_entity_outside_its_text_mentions_nobody(self, offset: int, length: int) -> None:
        said = mention("hi", offset, length)
        assert (said.is_addressed, text_of(said.parts)) == (False, "hi")

    @pytest.mark.case("TG-04")
    def test_an_entity_that_cuts_an_emoji_in_half_mentions_nobody(self) -> None:
        assert not mention("😀@desk_bot", 1, 10).is_addressed

    @pytest.mark.parametrize(
        ("text", "offset", "left"),
        [
            ("@desk_bot what is new?", 0, "what is new?"),
            ("@desk_bot, what is new?", 0, "what is new?"),
            ("@Desk_Bot\nline two", 0, "line two"),
            ("hey @desk_bot what is new?", 4, "hey what is new?"),
            ("what is new, @desk_bot?", 13, "what is new?"),
            ("你好 @desk_bot", 3, "你好"),
            ("@desk_bot /status", 0, "/status"),
            ("@desk_bot", 0, "@desk_bot"),
        ],
    )
    def test_the_name_is_taken_out_of_what_is_said(self, text: str, offset: int, left: str) -> None:
        said = mention(text, offset, 9)
        assert (said.is_addressed, text_of(said.parts)) == (True, left)

    def test_another_name_addresses_another(self) -> None:
        said = mention("@desk_bot2 hello", 0, 10)
        assert (said.is_addressed, text_of(said.parts)) == (False, "@desk_bot2 hello")

    def test_a_name_without_an_entity_is_only_text(self) -> None:
        assert not inbound(tg.group_message("mail me at x@desk_bot")).is_addressed

    def test_a_mention_by_link_counts(self) -> None:
        said = mention("Front Desk, hello", 0, 10, kind="text_mention", user=BOT)
        assert (said.is_addressed, text_of(said.parts)) == (True, "hello")

    def test_a_mention_in_a_caption_counts(self) -> None:
        caption = {"caption": "@desk_bot look", "caption_entities": [tg.entity("mention", 0, 9)]}
        said = inbound(tg.group_message(None, photo=tg.photo(), **caption))
        assert (said.is_addressed, text_of(said.parts), said.unsupported) == (True, "look", "photo")

    def test_a_reply_to_the_bot_is_meant_for_it(self) -> None:
        said = inbound(tg.group_message("and then?", reply_to_message=tg.bot_message()))
        assert (said.is_addressed, said.reply_to) == (True, "11")

    def test_a_reply_to_somebody_else_is_not(self) -> None:
        said = inbound(tg.group_message("and then?", reply_to_message=tg.bot_message(**{"from": ADA})))
        assert (said.is_addressed, said.reply_to) == (False, "11")

    @pytest.mark.parametrize(
        ("text", "length", "is_addressed", "left"),
        [
            ("/status@desk_bot", 16, True, "/status"),
            ("/status@DESK_BOT now", 16, True, "/status now"),
            ("/status@other_bot", 17, False, "/status@other_bot"),
            ("/status", 7, True, "/status"),
            ("/start", 6, True, "/start"),
            ("/weather", 8, False, "/weather"),
        ],
    )
    def test_a_command_is_for_the_bot_it_names_or_that_knows_it(
        self, text: str, length: int, is_addressed: bool, left: str
    ) -> None:
        said = mention(text, 0, length, kind="bot_command")
        assert (said.is_addressed, text_of(said.parts)) == (is_addressed, left)

    @pytest.mark.case("TG-31")
    def test_a_group_that_becomes_a_supergroup_has_moved(self) -> None:
        moved = read_update(message=tg.group_message(None, chat=GROUP, migrate_to_chat_id=-1001234567890))
        assert isinstance(moved, Moved)
        assert (moved.chat, moved.new_chat, moved.keys[0]) == ("-4242", "-1001234567890", "update:700000001")


class TestTopics:
    @pytest.mark.case("TG-27")
    def test_a_message_in_a_topic_has_it_in_its_address(self) -> None:
        said = inbound(tg.group_message(chat=FORUM, message_thread_id=43, is_topic_message=True))
        assert said.topic == "43"

    @pytest.mark.parametrize(
        "fields", [{}, {"message_thread_id": 7}, {"message_thread_id": 1, "is_topic_message": True}]
    )
    @pytest.mark.case("TG-28")
    def test_the_general_topic_is_told_from_a_chat_without_topics(self, fields: Json) -> None:
        assert inbound(tg.group_message(chat=FORUM, **fields)).topic == "1"

    def test_a_line_of_replies_outside_a_forum_is_no_topic(self) -> None:
        assert inbound(tg.group_message(message_thread_id=7)).topic == ""

    def test_the_message_that_opened_a_topic_is_not_what_is_replied_to(self) -> None:
        opening = tg.bot_message(message_id=43, chat=FORUM, forum_topic_created={"name": "T", "icon_color": 7322096})
        said = inbound(
            tg.group_message(chat=FORUM, message_thread_id=43, is_topic_message=True, reply_to_message=opening)
        )
        assert (said.reply_to, said.is_addressed) == ("", False)


class TestOtherContent:
    @pytest.mark.parametrize(
        ("content", "kind"),
        [
            ({"photo": tg.photo()}, "photo"),
            ({"sticker": tg.sticker()}, "sticker"),
            ({"voice": {**tg.FILE, "duration": 3}}, "voice"),
            ({"document": tg.FILE, "animation": {**tg.FILE, "width": 1, "height": 1, "duration": 1}}, "animation"),
            ({"venue": tg.venue(), "location": tg.venue()["location"]}, "venue"),
            ({"hologram": {"depth": 3}}, "message"),
        ],
    )
    def test_content_that_is_no_text_says_its_kind(self, content: Json, kind: str) -> None:
        said = inbound(tg.message(None, **content))
        assert (said.unsupported, said.parts) == (kind, ())

    @pytest.mark.case("SRC-11")
    @pytest.mark.case("SEC-08")
    def test_a_file_is_not_referred_to_by_a_url(self) -> None:
        said = inbound(tg.message(None, photo=tg.photo(), caption="see"))
        assert said.parts == (Text("see"),)

    def test_an_album_gets_one_notice(self) -> None:
        first, second = (
            inbound(tg.message(None, message_id=number, photo=tg.photo(), media_group_id="13")) for number in (10, 11)
        )
        assert first.keys[1:] == ("message:1001:10:0", "album:1001:13")
        assert second.keys[1:] == ("message:1001:11:0", "album:1001:13")

    @pytest.mark.case("TG-33")
    def test_equal_album_ids_in_two_chats_stay_apart(self) -> None:
        here = inbound(tg.message(None, photo=tg.photo(), media_group_id="13"))
        there = inbound(tg.group_message(None, photo=tg.photo(), media_group_id="13"))
        assert (here.keys[2], there.keys[2]) == ("album:1001:13", "album:-1001234567890:13")

    @pytest.mark.parametrize(
        "content", [{"pinned_message": tg.bot_message()}, {"new_chat_members": [ADA]}, {"new_chat_title": "X"}]
    )
    def test_what_telegram_reports_about_a_chat_is_passed_over(self, content: Json) -> None:
        found = read_update(message=tg.group_message(None, **content))
        assert found == Ignored("700000001", f"service message {next(iter(content))}")

    def test_a_post_of_the_linked_channel_is_passed_over(self) -> None:
        post = tg.group_message(
            sender_chat=CHANNEL, is_automatic_forward=True, **{"from": {"id": 777000, "is_bot": False}}
        )
        assert read_update(message=post) == Ignored("700000001", "a post of the linked channel")

    @pytest.mark.parametrize(
        "kind", ["channel_post", "edited_channel_post", "my_chat_member", "callback_query", "newest"]
    )
    @pytest.mark.case("T07")
    @pytest.mark.case("SEC-03")
    @pytest.mark.case("SRC-18")
    def test_other_kinds_of_update_are_passed_over(self, kind: str) -> None:
        assert read_update(**{kind: tg.message(chat=CHANNEL)}) == Ignored("700000001", f"update kind {kind}")

    def test_every_kind_of_message_telegram_knows_has_its_place(self) -> None:
        """python-telegram-bot's list of what a message can carry; only what a text can carry too is in neither."""
        listed = {str(kind.value) for kind in telegram.constants.MessageType}
        beside_text = {
            *("text", "business_connection_id", "effect_id", "sender_boost_count", "sender_business_bot"),
            *("migrate_to_chat_id", "reply_to_story", "suggested_post_info"),
        }
        assert listed - set(CONTENT) - SERVICE - beside_text == set()


class TestUnreadable:
    @pytest.mark.parametrize(
        ("raw", "error"),
        [
            (b'{"update_id": 7, "message": {}}', "missing required field `message_id` - at `$.message`"),
            (
                b'{"update_id": 7, "message": {"message_id": "12", "chat": {"id": 1, "type": "private"}}}',
                "`int`, got `str`",
            ),
            (b'{"update_id": 7, "message": 5}', "got `int` - at `$.message`"),
            (b'{"update_id": 7, "message": ', "truncated"),
            (b'{"update_id": 7}', "carries nothing"),
            (b'{"update_id": 7, "x": NaN}', "invalid character"),
            (b'{"update_id": 7, "x": "\\ud800 and more"}', "hex escape"),
            (b'{"update_id": 7, "x": "\xff"}', "encoding"),
            (b'{"update_id": 7, "x": ' + b"[" * 70 + b"]" * 70 + b"}", "too_deep"),
            (
                b'{"update_id": 7, "message": {"message_id": 1, "chat": {"id": 1, "type": "private"}, "text": "x"}}',
                "nobody",
            ),
        ],
    )
    @pytest.mark.case("TG-38")
    def test_a_broken_update_is_kept_under_its_id_with_the_error(self, raw: bytes, error: str) -> None:
        found = read(raw, ME)
        assert isinstance(found, Unreadable)
        assert (found.keys, found.external_id, found.raw) == (("update:7",), "7", raw)
        assert error in found.error

    @pytest.mark.parametrize("raw", [b"", b"[]", b"\xff\xfe", b'{"update_id": "7"}', b'{"update_id": 1.5}', b"null"])
    def test_without_an_id_it_is_known_by_its_bytes(self, raw: bytes) -> None:
        found, other = read(raw, ME), read(raw + b" ", ME)
        assert isinstance(found, Unreadable)
        assert isinstance(other, Unreadable)
        assert found.external_id == ""
        assert found.keys != other.keys

    def test_the_error_holds_nothing_of_the_content(self) -> None:
        found = read(tg.raw(tg.update(message=tg.message("secret words", message_id="secret id"))), ME)
        assert isinstance(found, Unreadable)
        assert "secret" not in found.error


PLAIN = tg.message("What is 1 < 2?")
READ_BY_BOTH = [
    PLAIN,
    tg.message("/status now", entities=[tg.entity("bot_command", 0, 7)]),
    tg.message("你好，今天怎么样？😀", **{"from": {**ADA, "language_code": "zh-hans"}}),
    tg.group_message("😀 @desk_bot help", entities=[tg.entity("mention", 3, 9)]),
    tg.group_message("and then?", reply_to_message=tg.bot_message()),
    tg.group_message("in a topic", chat=FORUM, message_thread_id=43, is_topic_message=True),
    tg.message("pay", forward_origin=tg.forward_origin(ADA)),
]


@pytest.mark.parametrize("body", READ_BY_BOTH, ids=lambda body: str(body["text"]))
def test_python_telegram_bot_reads_the_same_out_of_it(body: Json) -> None:
    ours = inbound(body)
    theirs = telegram.Update.de_json(json.loads(ours.raw), None).message
    assert theirs is not None
    assert theirs.from_user is not None
    assert (ours.chat, ours.message_id, ours.sender) == (
        str(theirs.chat.id),
        str(theirs.message_id),
        str(theirs.from_user.id),
    )
    assert ours.language == theirs.from_user.language_code
    assert ours.is_direct == (theirs.chat.type == telegram.constants.ChatType.PRIVATE)
    assert ours.is_forward == (theirs.forward_origin is not None)
    assert ours.reply_to == (str(theirs.reply_to_message.message_id) if theirs.reply_to_message else "")
    assert ours.topic == (str(theirs.message_thread_id) if theirs.is_topic_message else "")


@pytest.mark.parametrize(
    "text", ["@desk_bot a", "😀😀 @desk_bot", "é @desk_bot 中文", "👨‍👩‍👧‍👦@desk_bot x", "𝕏 @desk_bot @desk_bot"]
)
def test_python_telegram_bot_finds_the_mention_in_the_same_place(text: str) -> None:
    units = len(text[: text.index("@")].encode("utf-16-le")) // 2
    body = tg.group_message(text, entities=[tg.entity("mention", units, 9)])
    theirs = telegram.Message.de_json(body, None)
    assert list(theirs.parse_entities().values()) == ["@desk_bot"]
    assert inbound(body).is_addressed
    assert read(tg.raw(tg.update(message=body)), Me(ME.id, "another_bot")) != inbound(body)
