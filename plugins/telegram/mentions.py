"""Is a group's message meant for the bot, and what does it say once the bot's name is taken out?

Entities count in UTF-16 units, so that a mention after an emoji stands elsewhere in a Python string; and an entity may
point outside its text. Both came up in the field (TG-04): such an entity is passed over, the message is kept.
"""

from collections.abc import Iterable

from core.commands import COMMANDS
from core.values import value
from plugins.telegram.models import Entity

# A bare command in a group is meant for whichever bot knows it; another bot's is none of our business.
KNOWN_COMMANDS = frozenset(COMMANDS) | {"start"}

_AFTER_A_NAME = " \t,:，："  # "@desk_bot, what is ..." begins at "what"
_LOW_SURROGATES = frozenset(bytes([byte]) for byte in range(0xDC, 0xE0))  # the high byte of a pair's second unit
_ENTITIES_READ = 100  # Telegram counts no more in one message


@value(frozen=True, slots=True)
class Me:
    """The bot itself, as getMe says; `username` without the @."""

    id: int
    username: str


@value(frozen=True, slots=True)
class Words:
    text: str
    is_addressed: bool


Span = tuple[int, int]


def words_for(text: str, entities: Iterable[Entity], me: Me) -> Words:
    """The text without the bot's name, and whether the bot was named or given a command."""
    names: list[Span] = []
    is_addressed = False
    for entity, (start, end) in _spans(text, entities):
        word = text[start:end]
        if _names_me(entity, word, me):
            names.append((start, end))
        elif entity.type == "bot_command":
            command, at, name = word[1:].partition("@")
            if at and name.lower() == me.username.lower():
                names.append((end - len(at + name), end))
            elif not at and start == 0:
                is_addressed = command.lower() in KNOWN_COMMANDS
    if not names:
        return Words(text, is_addressed)
    return Words(_without(text, names) or text, True)


def _names_me(entity: Entity, word: str, me: Me) -> bool:
    if entity.type == "text_mention":
        return entity.user is not None and entity.user.id == me.id
    return entity.type == "mention" and word[1:].lower() == me.username.lower()


def _spans(text: str, entities: Iterable[Entity]) -> Iterable[tuple[Entity, Span]]:
    """The entities that can name somebody, in order, with their places in the string."""
    found = [entity for entity in entities if entity.type in ("mention", "text_mention", "bot_command")]
    if not found:
        return
    units = None if text.isascii() else text.encode("utf-16-le", "surrogatepass")
    length = len(text) if units is None else len(units) // 2
    for entity in sorted(found[:_ENTITIES_READ], key=lambda entity: entity.offset):
        start, end = entity.offset, entity.offset + entity.length
        if not 0 <= start < end <= length:
            continue
        if units is not None:
            if _splits_a_pair(units, start) or _splits_a_pair(units, end):
                continue
            start, end = _characters(units[: 2 * start]), _characters(units[: 2 * end])
        yield entity, (start, end)


def _splits_a_pair(units: bytes, at: int) -> bool:
    """Whether a character outside the basic plane, which takes two units, would be cut."""
    return units[2 * at + 1 : 2 * at + 2] in _LOW_SURROGATES if 2 * at < len(units) else False


def _characters(units: bytes) -> int:
    return len(units.decode("utf-16-le", "surrogatepass"))


def _without(text: str, names: list[Span]) -> str:
    """What is left of the text; what stands before the first name and holds no word only waved ("😀 @desk_bot")."""
    first = names[0][0]
    left, after = ("" if _is_wordless(text[:first]) else text[:first]), names[0][1]
    for start, end in [*names[1:], (len(text), len(text))]:
        left = _joined(left, text[after:start])
        after = end
    return left.strip()


def _is_wordless(text: str) -> bool:
    return not any(character.isalnum() or character == "/" for character in text)


def _joined(left: str, right: str) -> str:
    if not left:
        return right.lstrip(_AFTER_A_NAME)
    if not right or right[0] in ".;:!?。；：！？":
        return left.rstrip(" ,，") + right
    return (left.rstrip(" ") if right[0].isspace() or right[0] in ",，" else left) + right
