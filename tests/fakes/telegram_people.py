"""People who use the fake Telegram: what they write, edit, forward, press and send becomes updates for the bot.

Payloads have the shape of the Bot API 10.0. Mentions and commands get their entities, counted in UTF-16 units, as
Telegram adds them, unless a test gives `entities` itself.
"""

import re
import time
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.fakes.telegram_chats import Chat, Chats, Shown
from tests.fakes.telegram_html import utf16_length
from tests.fakes.telegram_updates import Updates

ANYBODY = 1001  # who speaks in groups when a test does not care
TYPED = re.compile(r"(?<!\w)(?:(?P<mention>@[A-Za-z][A-Za-z0-9_]{3,31})|(?P<bot_command>/[a-z0-9_]{1,32}(?:@\w+)?))\b")

# What a message that is no text carries, smallest forms the API allows.
_FILE = {"file_id": "AgACAgIAAx", "file_unique_id": "AQADAgAT", "file_size": 1024}
CONTENT: Mapping[str, Any] = {
    "photo": [{**_FILE, "width": 90, "height": 90}],
    "sticker": {**_FILE, "type": "regular", "width": 512, "height": 512, "is_animated": False, "is_video": False},
    "document": {**_FILE, "file_name": "report.pdf", "mime_type": "application/pdf"},
    "voice": {**_FILE, "duration": 3, "mime_type": "audio/ogg"},
    "audio": {**_FILE, "duration": 30},
    "video": {**_FILE, "width": 320, "height": 240, "duration": 5},
    "location": {"latitude": 52.5, "longitude": 13.4},
    "contact": {"phone_number": "+4930123456", "first_name": "Grace"},
    "dice": {"emoji": "🎲", "value": 4},
    "new_chat_members": [{"id": 77, "is_bot": False, "first_name": "Linus"}],
    "pinned_message": None,
}


@dataclass(frozen=True, slots=True)
class Said:
    """What a person did. `update_id` is None when the bot does not ask for updates of this kind."""

    update_id: int | None
    chat: int
    message_id: int
    body: Mapping[str, Any]  # the Message object


def typed_entities(text: str) -> list[dict[str, Any]]:
    """The mention and command entities Telegram finds in a text."""
    return [
        {
            "type": found.lastgroup,
            "offset": utf16_length(text[: found.start()]),
            "length": utf16_length(found.group()),
        }
        for found in TYPED.finditer(text)
    ]


def person(user: int, **fields: Any) -> dict[str, Any]:
    return {"id": user, "is_bot": False, "first_name": f"User {user}", "language_code": "en", **fields}


class People:
    """The part of FakeTelegram that speaks for people; it needs the bot's chats and its queue of updates."""

    chats: Chats
    updates: Updates

    @abstractmethod
    def block(self, chat: int) -> None:
        """From now on the bot's messages to the chat are refused with 403."""

    def group(self, chat: int, title: str = "Group", *, kind: str = "group", is_forum: bool = False) -> int:
        """Make a group; `kind` is group or supergroup. Returns the chat's id."""
        self.chats.all[chat] = Chat(chat, kind, title, is_forum)
        return chat

    def supergroup(self, chat: int, title: str = "Supergroup") -> int:
        return self.group(chat, title, kind="supergroup")

    def forum(self, chat: int, title: str = "Forum") -> int:
        return self.group(chat, title, kind="supergroup", is_forum=True)

    def forum_topic(self, chat: int, name: str = "Topic") -> int:
        """Make a topic in a forum; returns its message_thread_id, which is the id of the message that opened it."""
        forum = self.chats.chat(chat)
        topic = forum.new_id() if forum.last_id else forum.new_id() + 1
        forum.last_id = topic
        forum.topics[topic] = name
        return topic

    def user_says(
        self,
        chat: int,
        text: str,
        *,
        user: int | Mapping[str, Any] | None = None,
        topic: int | None = None,
        reply_to: int | None = None,
        entities: list[dict[str, Any]] | None = None,
        **fields: Any,
    ) -> Said:
        """A text message; `fields` are added to the Message object as they are."""
        found = typed_entities(text) if entities is None else entities
        content = {"text": text, **({"entities": found} if found else {}), **fields}
        return self.user_posts(chat, user=user, topic=topic, reply_to=reply_to, **content)

    def user_sends(self, chat: int, kind: str, *, caption: str | None = None, **fields: Any) -> Said:
        """A message that is no text: a key of CONTENT, or any other kind with its value in `fields`."""
        content = {kind: CONTENT[kind]} if kind in CONTENT and kind not in fields else {}
        if caption is not None:
            content["caption"] = caption
        return self.user_posts(chat, **content, **fields)

    def user_forwards(self, chat: int, text: str, *, origin: Mapping[str, Any] | None = None, **fields: Any) -> Said:
        """A forwarded text; `origin` is a MessageOrigin, by default another user's."""
        who = origin or {"type": "user", "date": int(time.time()), "sender_user": person(4711)}
        return self.user_says(chat, text, forward_origin=dict(who), **fields)

    def user_edits(self, said: Said, text: str) -> Said:
        """The person changes a text; each edit has a later edit_date than the one before."""
        shown = self.chats.chat(said.chat).messages[said.message_id]
        shown.edits += 1
        found = typed_entities(text)
        kept = {name: value for name, value in shown.wire.items() if name != "entities"}
        shown.text = text
        shown.wire = {**kept, "text": text, "edit_date": shown.date + shown.edits}
        if found:
            shown.wire["entities"] = found
        update = self.updates.push({"edited_message": shown.wire})
        return Said(update, said.chat, said.message_id, shown.wire)

    def user_presses(self, chat: int, message_id: int, data: str, *, user: int | None = None) -> Said:
        """A press on an inline button of a message of the bot."""
        shown = self.chats.chat(chat).messages[message_id]
        query = f"{chat}-{message_id}-{len(self.chats.queries) + len(self.chats.answered)}"
        self.chats.queries.add(query)
        presser = user or (chat if chat > 0 else ANYBODY)
        message = self.chats.message(shown)
        body = {"id": query, "from": person(presser), "chat_instance": "1", "message": message, "data": data}
        return Said(self.updates.push({"callback_query": body}), chat, message_id, message)

    def user_posts(
        self,
        chat: int,
        *,
        user: int | Mapping[str, Any] | None = None,
        topic: int | None = None,
        reply_to: int | None = None,
        **content: Any,
    ) -> Said:
        """Any message: `content` is what makes its kind."""
        place = self.chats.chat(chat)
        who = user if user is not None else (chat if chat > 0 else ANYBODY)
        sender = person(who) if isinstance(who, int) else dict(who)
        body: dict[str, Any] = {
            "message_id": place.new_id(),
            "from": sender,
            "chat": place.wire(),
            "date": int(time.time()),
            **content,
        }
        if topic is not None:
            body |= {"message_thread_id": topic, "is_topic_message": True}
        if reply_to is not None:
            replied = self.chats.message(place.messages[reply_to])
            body["reply_to_message"] = {k: v for k, v in replied.items() if k != "reply_to_message"}
        self._keep(place, body)
        return Said(self.updates.push({"message": body}), chat, body["message_id"], body)

    @staticmethod
    def _keep(place: Chat, body: dict[str, Any]) -> None:
        shown = Shown(body["message_id"], place.id, str(body.get("text", "")), by_bot=False, wire=body)
        shown.topic, shown.date = body.get("message_thread_id"), body["date"]
        place.messages[shown.message_id] = shown
