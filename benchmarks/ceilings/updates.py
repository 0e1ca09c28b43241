"""Telegram's update as narrow as admission needs it, read in one step from bytes.

None and tuples as defaults: pydantic copies a mutable default for every object, which costs a third of the parsing.
"""

from pydantic import BaseModel, ConfigDict, Field


class _Wire(BaseModel):
    model_config = ConfigDict(extra="ignore")


class User(_Wire):
    id: int
    is_bot: bool
    first_name: str
    last_name: str | None = None
    username: str | None = None
    language_code: str | None = None


class Chat(_Wire):
    id: int
    type: str
    title: str | None = None
    username: str | None = None
    is_forum: bool | None = None


class Entity(_Wire):
    type: str
    offset: int
    length: int


class Message(_Wire):
    message_id: int
    date: int
    chat: Chat
    sender: User | None = Field(None, alias="from")
    message_thread_id: int | None = None
    reply_to_message: "Message | None" = None
    edit_date: int | None = None
    text: str | None = None
    entities: tuple[Entity, ...] = ()
    caption: str | None = None


class Update(_Wire):
    update_id: int
    message: Message
