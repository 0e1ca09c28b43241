"""The few fields of an Update that decide what becomes of it (Bot API 10.0), parsed straight from the bytes.

python-telegram-bot's `Update.de_json` does not validate, and costs sixty times as much (tests compare what both read);
msgspec does in a microsecond what pydantic does in ten, and this is done for every message. Types are strict, so that
`"update_id": "7"` is an error and not a guess. `Raw` marks what matters by its mere presence; `names_in` tells the
names of everything else.
"""

from msgspec import UNSET, Raw, Struct, UnsetType, field
from msgspec.json import Decoder

Presence = Raw | UnsetType


class User(Struct, frozen=True, gc=False):
    id: int
    is_bot: bool = False
    language_code: str | None = None


class Chat(Struct, frozen=True, gc=False):
    id: int
    type: str  # "private", "group", "supergroup", "channel"; others may come
    is_forum: bool = False
    is_direct_messages: bool = False  # a channel's direct messages, which need an address of their own kind


class Entity(Struct, frozen=True, gc=False):
    """`offset` and `length` count UTF-16 units, and are not always within the text (TG-04)."""

    type: str
    offset: int
    length: int
    user: User | None = None


class Replied(Struct, frozen=True, gc=False):
    """The message replied to; in a forum topic also the topic's first message, when nothing was replied to."""

    message_id: int
    sender: User | None = field(default=None, name="from")


class Message(Struct, frozen=True, gc=False):
    message_id: int
    chat: Chat
    sender: User | None = field(default=None, name="from")
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
    forward_origin: Presence = UNSET
    forward_date: Presence = UNSET  # of a Bot API server before 7.0
    via_bot: Presence = UNSET
    is_automatic_forward: Presence = UNSET


class Update(Struct, frozen=True, gc=False):
    update_id: int
    message: Message | None = None
    edited_message: Message | None = None


_names = Decoder(dict[str, Raw])
decode_update = Decoder(Update).decode


def names_in(raw: bytes | Raw, *path: str) -> tuple[str, ...]:
    """The names in the JSON object at `path`, in order; () where there is none."""
    members = _names.decode(raw)
    for step in path:
        members = _names.decode(members[step]) if step in members else {}
    return tuple(members)
