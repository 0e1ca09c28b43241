"""The messages of one run, each with a number that no other run against the same store uses.

A number has ten digits wherever it stands (update, message, chat, marker), so that all bodies are equally long.
The marker travels in the text, through agent and answer, and is how a message is recognised where it comes out.
"""

import json
import time
from dataclasses import dataclass

BODY_SIZE = 1000  # bytes, about; a typical message
FIRST_NUMBER = 1_000_000_000
NUMBERS_A_SECOND = 1000  # of the clock: two processes started a second apart may use this many without meeting
FILLER = "lorem ipsum dolor sit amet "
_NUMBER = "7777777777"
_CHAT = "8888888888"


class Numbering:
    """Hands out ranges of numbers that never overlap within a process, nor, in practice, between processes."""

    def __init__(self, first: int | None = None) -> None:
        clock = FIRST_NUMBER + int(time.time()) * NUMBERS_A_SECOND % 8_000_000_000
        self._next = clock if first is None else first

    def take(self, count: int) -> int:
        """The first of `count` numbers that are the caller's alone."""
        first, self._next = self._next, self._next + count
        return first


@dataclass(frozen=True, slots=True)
class Series:
    """`total` messages over `chats` private chats; message i is the same bytes however often it is asked for."""

    run: str
    first: int
    total: int
    chats: int

    @classmethod
    def fresh(cls, numbering: Numbering, run: str, total: int, chats: int) -> "Series":
        return cls(run, numbering.take(max(total, chats)), total, chats)

    def number(self, index: int) -> int:
        return self.first + index

    def chat(self, index: int) -> int:
        return self.first + index % self.chats

    def marker(self, index: int) -> str:
        return f"fd:{self.run}:{self.number(index)}"

    def template(self) -> bytes:
        """The update's JSON with a placeholder for number and chat; see `fill`."""
        person = {"id": int(_CHAT), "first_name": "Ada", "last_name": "Lovelace", "username": "adal"}
        text = f"fd:{self.run}:{_NUMBER} "
        message = {
            "message_id": int(_NUMBER),
            "from": {**person, "is_bot": False, "language_code": "en"},
            "chat": {**person, "type": "private"},
            "date": int(time.time()),
        }
        update = {"update_id": int(_NUMBER), "message": {**message, "text": text}}
        missing = max(0, BODY_SIZE - len(json.dumps(update)))
        text += (FILLER * (missing // len(FILLER) + 1))[:missing]
        return json.dumps({**update, "message": {**message, "text": text}}).encode()

    def fill(self, template: bytes, index: int) -> bytes:
        body = template.replace(_NUMBER.encode(), b"%d" % self.number(index))
        return body.replace(_CHAT.encode(), b"%d" % self.chat(index))
