"""What a page sends, as the host understands it: pure."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from core.doors.strict_json import strict_json
from core.envelope import Inbound
from core.parts import Text

TEXT_LIMIT = 16_000  # characters; what a person types or pastes; more belongs into a file
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,4}", re.ASCII)


class BadMessage(ValueError):
    """The reason is for the page, in words."""


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("nothing is said in it")
    return text


class Message(BaseModel):
    """`id` is made by the page and stays the same however often it sends the message."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    id: str = Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")
    text: Annotated[str, Field(max_length=TEXT_LIMIT), AfterValidator(_said)]


def read(raw: bytes) -> Message:
    """Raises BadMessage, or BadJson for what is no JSON."""
    try:
        return Message.model_validate(strict_json(raw))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "message"
        raise BadMessage(f"{where}: {first['msg']}") from error


def inbound(message: Message, raw: bytes, visitor: str, accept_language: str) -> Inbound:
    """The key holds the visitor, so that nobody can take another one's id away."""
    return Inbound(
        keys=(f"message:{visitor}:{message.id}",),
        external_id=message.id,
        chat=visitor,
        sender=visitor,
        parts=(Text(message.text),),
        raw=raw,
        language=language_of(accept_language),
    )


def language_of(accept_language: str) -> str | None:
    """The first language a browser names (RFC 9110, 12.5.4); browsers list them in order of preference."""
    match = _LANGUAGE.match(accept_language.strip())
    return match[0] if match else None


def not_let_in(visitor: str, language: str) -> str:
    """What the page says to a visitor; an operator puts the id into `access.allow`."""
    if language.lower().startswith("zh"):
        return f"此访客尚未获准使用，编号是 {visitor}。"
    return f"This visitor is not let in; its id is {visitor}."
