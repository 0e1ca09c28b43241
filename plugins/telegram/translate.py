"""What a Telegram update says, as the host understands it: pure, and the one place that knows both vocabularies.

`read` takes the bytes of one update and never raises. It answers

- `Inbound`     somebody wrote; also content this gateway cannot read, which gets a polite notice,
- `Moved`       a group became a supergroup and has a new id,
- `Unreadable`  the update is broken: the host keeps its bytes with the error and shows it to the operator,
- `Ignored`     a whole and well-understood update that is no person's message to the bot (a channel's post, another
                bot, a pinned message). It asks for nothing and is acknowledged; the plugin logs and counts the reason.

Who speaks is `from.id`, or for a chat that speaks for itself the chat's id; never a name, and never anybody whom a
forward, a quote or the text speaks of (T06, T07).
"""

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass

from msgspec import UNSET, MsgspecError

from core.doors.strict_json import MAX_DEPTH, BadJson, check_json_bytes
from core.envelope import Inbound, Moved, Unreadable
from core.parts import Part, Text
from plugins.telegram.mentions import Me, Words, words_for
from plugins.telegram.models import Message, Update, decode_update, names_in

ALLOWED_UPDATES = ("message", "edited_message")  # what Telegram is asked to send

GENERAL = "1"  # the topic of a forum that has no thread id of its own on the wire (TG-28)

# What people send that is no text, the more telling name first: a venue has a location too, an animation a document.
CONTENT = (
    *("photo", "live_photo", "sticker", "voice", "video", "video_note", "audio", "animation", "document", "venue"),
    *("location", "contact", "poll", "dice", "game", "story", "paid_media", "checklist", "invoice", "gift"),
    *("unique_gift", "giveaway", "giveaway_winners", "passport_data", "web_app_data", "users_shared", "chat_shared"),
)

# What Telegram reports about the chat in the shape of a message; nobody waits for an answer to it.
SERVICE = frozenset(
    (
        *("boost_added", "channel_chat_created", "chat_background_set", "chat_owner_changed", "chat_owner_left"),
        *("checklist_tasks_added", "checklist_tasks_done", "connected_website", "delete_chat_photo"),
        *("direct_message_price_changed", "forum_topic_closed", "forum_topic_created", "forum_topic_edited"),
        *("forum_topic_reopened", "general_forum_topic_hidden", "general_forum_topic_unhidden", "gift_upgrade_sent"),
        *("giveaway_completed", "giveaway_created", "group_chat_created", "left_chat_member", "managed_bot_created"),
        *("message_auto_delete_timer_changed", "migrate_from_chat_id", "new_chat_members", "new_chat_photo"),
        *("new_chat_title", "paid_message_price_changed", "pinned_message", "poll_option_added"),
        *("poll_option_deleted", "proximity_alert_triggered", "refunded_payment", "successful_payment"),
        *("suggested_post_approval_failed", "suggested_post_approved", "suggested_post_declined"),
        *("suggested_post_paid", "suggested_post_refunded", "supergroup_chat_created", "video_chat_ended"),
        *("video_chat_participants_invited", "video_chat_scheduled", "video_chat_started", "write_access_allowed"),
    )
)

_UPDATE_ID = re.compile(rb'"update_id"\s*:\s*(\d{1,19})(?![\d.eE])')


@dataclass(frozen=True, slots=True)
class Ignored:
    """`reason` names the kind of update, never its content."""

    external_id: str
    reason: str


Read = Inbound | Moved | Unreadable | Ignored


def read(raw: bytes, me: Me) -> Read:
    """One update, as received on the webhook or cut out of a getUpdates answer."""
    try:
        # The decoder refuses NaN, lone surrogates and bad UTF-8 by itself, but looks at what it skips less closely.
        if not raw.isascii() or raw.count(b"[") + raw.count(b"{") > MAX_DEPTH:
            check_json_bytes(raw)
        update = decode_update(raw)
    except (BadJson, MsgspecError, RecursionError) as error:
        return unreadable(raw, str(error))
    return translate(update, raw, me)


def translate(update: Update, raw: bytes, me: Me) -> Read:
    message = update.message or update.edited_message
    if message is None:
        kind = next((name for name in names_in(raw) if name not in ("update_id", *ALLOWED_UPDATES)), "")
        return Ignored(str(update.update_id), f"update kind {kind}") if kind else unreadable(raw, "carries nothing")
    if message.migrate_to_chat_id is not None:
        chat, new_chat = str(message.chat.id), str(message.migrate_to_chat_id)
        return Moved(_keys(update, message), str(update.update_id), raw, chat, new_chat)
    if reason := _why_not(message):
        return Ignored(str(update.update_id), reason)
    speaker = message.sender_chat or message.sender
    if speaker is None:
        return unreadable(raw, "nobody is named as its sender")
    return _inbound(update, message, str(speaker.id), raw, me)


def unreadable(raw: bytes, error: str) -> Unreadable:
    """Keyed by the update's id if it can be found, so that a repetition is known; else by the bytes themselves."""
    found = _UPDATE_ID.search(raw)
    update_id = found[1].decode() if found else ""
    key = f"update:{update_id}" if update_id else f"bytes:{hashlib.sha256(raw).hexdigest()}"
    return Unreadable((key,), update_id, raw, error)


def _inbound(update: Update, message: Message, sender: str, raw: bytes, me: Me) -> Inbound | Ignored:
    is_direct = message.chat.type == "private"
    unsupported = "" if message.text is not None else _unsupported(_names_in_message(update, raw))
    if unsupported in SERVICE:
        return Ignored(str(update.update_id), f"service message {unsupported}")
    words = _words(message, me)
    topic = _topic(message)
    replied = None if _is_topic_root(message) else message.reply_to_message
    replies_to_me = replied is not None and replied.sender is not None and replied.sender.id == me.id
    keys = _keys(update, message)
    if unsupported and message.media_group_id:
        keys = (*keys, f"album:{message.chat.id}:{message.media_group_id}")  # one notice for an album, not ten
    return Inbound(
        keys=keys,
        external_id=str(update.update_id),
        chat=str(message.chat.id),
        sender=sender,
        parts=_parts(words.text),
        raw=raw,
        topic=topic,
        message_id=str(message.message_id),
        reply_to=str(replied.message_id) if replied is not None else "",
        is_direct=is_direct,
        is_addressed=is_direct or words.is_addressed or replies_to_me,
        is_edit=update.message is None,
        is_forward=not (message.forward_origin is message.via_bot is message.forward_date is UNSET),
        language=message.sender.language_code if message.sender is not None else None,
        unsupported=unsupported,
    )


def _why_not(message: Message) -> str:
    """Why this is no person's message to the bot, "" when it is one."""
    if message.chat.type not in ("private", "group", "supergroup"):
        return f"chat type {message.chat.type[:40]}"
    if message.chat.is_direct_messages:
        return "a channel's direct messages"
    if message.is_automatic_forward is not UNSET:
        return "a post of the linked channel"
    # Telegram puts a bot of its own into `from` where a chat speaks for itself.
    if message.sender is not None and message.sender.is_bot and message.sender_chat is None:
        return "written by a bot"
    return ""


def _keys(update: Update, message: Message) -> tuple[str, ...]:
    """The update, and this version of this message: a webhook and a poll, or two update ids, may bring it twice."""
    return (
        f"update:{update.update_id}",
        f"message:{message.chat.id}:{message.message_id}:{message.edit_date or 0}",
    )


def _words(message: Message, me: Me) -> Words:
    text, entities = message.text, message.entities
    if text is None:
        text, entities = message.caption or "", message.caption_entities
    if not entities:
        return Words(text, False)
    if message.chat.type != "private":
        return words_for(text, entities, me)
    # In a private chat a name is part of what is said; only a command sheds it.
    return words_for(text, [entity for entity in entities if entity.type == "bot_command"], me)


def _parts(text: str) -> tuple[Part, ...]:
    return (Text(text),) if text else ()


def _topic(message: Message) -> str:
    if message.is_topic_message and message.message_thread_id:
        return str(message.message_thread_id)
    return GENERAL if message.chat.is_forum and message.chat.type == "supergroup" else ""


def _is_topic_root(message: Message) -> bool:
    """Everything in a topic formally replies to the message that opened it."""
    replied = message.reply_to_message
    return message.is_topic_message and replied is not None and replied.message_id == message.message_thread_id


def _names_in_message(update: Update, raw: bytes) -> tuple[str, ...]:
    return names_in(raw, "message" if update.message is not None else "edited_message")


def _unsupported(names: Collection[str]) -> str:
    """The kind of a message without text: a name of CONTENT or SERVICE, or "message" for what is new to us."""
    kind = next((name for name in CONTENT if name in names), "")
    return kind or next((name for name in names if name in SERVICE), "message")
