"""Choices: what the desk asks a person to choose from, in words that every channel can carry back.

Each is a line, `2. book a car`, at the end of what is shown; whoever writes its number, or the whole line, has chosen
it. A channel that has menus shows the lines as one, and a click writes the line. A line of a menu that is out of date
chooses nothing, and is no message either; a number alone is taken for one of the newest.
"""

import re
from collections.abc import Iterable, Sequence

from core.parts import Part, text_of
from core.values import value

LONGEST = 60  # characters of what a line says
_NUMBER = re.compile(r"(\d{1,3})\s?[.)。．）、]?")


@value(frozen=True, slots=True)
class Offered:
    """One of the open questions that a message may answer."""

    thread: str
    about: str  # what its line says: the beginning of the message that led to the question


def about(parts: Iterable[Part]) -> str:
    """What a line says of a message: its words in one line."""
    words = " ".join(text_of(parts).split())
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"


def lines_of(offered: Sequence[Offered]) -> tuple[str, ...]:
    return tuple(f"{number}. {each.about or '…'}" for number, each in enumerate(offered, 1))


def may_choose(words: str) -> bool:
    """Whether it can be a choice at all: it begins with a number."""
    return words.lstrip()[:1].isdecimal()


def chosen(words: str, offered: Sequence[Offered]) -> Offered | None:
    """Whom these words choose; None where they are no choice."""
    said = " ".join(words.split())
    if number := _NUMBER.fullmatch(said):
        at = int(number[1]) - 1
        return offered[at] if 0 <= at < len(offered) else None
    return next((each for each, line in zip(offered, lines_of(offered), strict=True) if line == said), None)


def is_line(words: str, offered: Sequence[Offered]) -> bool:
    """Whether they are a whole line, as a click writes it."""
    return " ".join(words.split()) in lines_of(offered)
