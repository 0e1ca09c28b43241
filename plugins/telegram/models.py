"""The few fields of an Update that decide what becomes of it (Bot API 10.0), parsed straight from the bytes.

python-telegram-bot's `Update.de_json` does not validate, and costs ten times as much (tests compare the two). What is
not named here stays in `model_extra` where its mere presence matters: the kind of content, whether it was forwarded.
Types are strict, so that `"update_id": "7"` is an error and not a guess.
"""

from pydantic import BaseModel, ConfigDict, Field

_NAMED_ONLY = ConfigDict(strict=True, extra="ignore")
_REST_KEPT = ConfigDict(strict=True, extra="allow")


class User(BaseModel):
    model_config = _NAMED_ONLY

    id: int
    is_bot: bool = False
    language_code: str | None = None


class Chat(BaseModel):
    model_config = _NAMED_ONLY

    id: int
    type: str  # "private", "group", "supergroup", "channel"; others may come
    is_forum: bool = False
    is_direct_messages: bool = False  # a channel's direct messages, which need an address of their own kind


class Entity(BaseModel):
    """`offset` and `length` count UTF-16 units, and are not always within the text (TG-04)."""

    model_config = _NAMED_ONLY

    type: str
    offset: int
    length: int
    user: User | None = None


class Replied(BaseModel):
    """The message replied to; in a forum topic also the topic's first message, when nothing was replied to."""

    model_config = _NAMED_ONLY

    message_id: int
    sender: User | None = Field(default=None, alias="from")


class Message(BaseModel):
    model_config = _REST_KEPT

    message_id: int
    chat: Chat
    sender: User | None = Field(default=None, alias="from")
    sender_chat: Chat | None = None  # who speaks, when a chat does: an anonymous administrator, a channel
    text: str | None = None
    entities: tuple[Entity, ...] = ()
    caption: str | None = None
    caption_entities: tuple[Entity, ...] = ()
    message_thread_id: int | None = None  # also set on replies outside forums: a topic only with the next one
    is_topic_message: bool = False
    reply_to_message: Replied | None = None
    edit_date: int | None = None
    media_group_id: str | None = None
    migrate_to_chat_id: int | None = None


class Update(BaseModel):
    model_config = _REST_KEPT

    update_id: int
    message: Message | None = None
    edited_message: Message | None = None
