"""Updates as Telegram sends them, in the shape of the Bot API 10.0 (core.telegram.org/bots/api, read 2026-06).

Ids, names and texts are made up; every field is one that the API documents for that kind of message. Each function
gives a fresh dict, so that a test may change one thing and show it.
"""

import json
from typing import Any

from plugins.telegram.mentions import Me

Json = dict[str, Any]

ME = Me(123456789, "desk_bot")
BOT: Json = {"id": ME.id, "is_bot": True, "first_name": "Front Desk", "username": ME.username}
ADA: Json = {
    "id": 1001,
    "is_bot": False,
    "first_name": "Ada",
    "last_name": "Lovelace",
    "username": "ada",
    "language_code": "en",
}
PRIVATE: Json = {"id": 1001, "first_name": "Ada", "last_name": "Lovelace", "username": "ada", "type": "private"}
GROUP: Json = {"id": -4242, "title": "Analysts", "type": "group", "all_members_are_administrators": True}
SUPERGROUP: Json = {"id": -1001234567890, "title": "Engine room", "type": "supergroup"}
FORUM: Json = {"id": -1009876543210, "title": "Forum", "is_forum": True, "type": "supergroup"}
CHANNEL: Json = {"id": -1005550001111, "title": "News", "username": "the_news", "type": "channel"}
FILE: Json = {"file_id": "AgACAgIAAxkBAAIB", "file_unique_id": "AQADAgATqRgxGw", "file_size": 90731}


def update(update_id: int = 700000001, **kinds: Any) -> Json:
    return {"update_id": update_id, **kinds}


def message(text: str | None = "What is an engine?", /, **fields: Any) -> Json:
    """A message in a private chat; `fields` replace or add."""
    body: Json = {"message_id": 12, "from": ADA, "chat": PRIVATE, "date": 1790000000}
    if text is not None:
        body["text"] = text
    return {name: value for name, value in {**body, **fields}.items() if value is not None}


def group_message(text: str | None = "Hello all", /, **fields: Any) -> Json:
    return message(text, **{"chat": SUPERGROUP, **fields})


def entity(kind: str, offset: int, length: int, **fields: Any) -> Json:
    return {"type": kind, "offset": offset, "length": length, **fields}


def photo() -> list[Json]:
    return [{**FILE, "width": 90, "height": 67}, {**FILE, "width": 1280, "height": 960}]


def sticker() -> Json:
    return {**FILE, "type": "regular", "width": 512, "height": 512, "is_animated": False, "is_video": False}


def venue() -> Json:
    return {"location": {"latitude": 51.5, "longitude": -0.1}, "title": "Royal Society", "address": "London"}


def bot_message(**fields: Any) -> Json:
    """Something the bot said in the supergroup."""
    body = {"message_id": 11, "from": BOT, "chat": SUPERGROUP, "date": 1789999990, "text": "How can I help?"}
    return {**body, **fields}


def forward_origin(user: Json) -> Json:
    return {"type": "user", "sender_user": user, "date": 1789999000}


def raw(value: Json) -> bytes:
    return json.dumps(value).encode()
