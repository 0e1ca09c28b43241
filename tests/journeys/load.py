"""People who write all the time, and what can be said from outside about the answers they got."""

import itertools
import random
from collections import Counter
from dataclasses import dataclass, field

from tests.fakes.telegram import FakeTelegram

FIRST_CHAT = 5000


@dataclass(slots=True)
class Crowd:
    """People in chats of their own; every message has a number in its chat, and asks to be repeated."""

    telegram: FakeTelegram
    chats: int
    random: random.Random
    said: dict[int, str] = field(default_factory=dict)  # update id -> text
    _counts: Counter[int] = field(default_factory=Counter)

    def speak(self, messages: int) -> None:
        for _ in range(messages):
            chat = FIRST_CHAT + self.random.randrange(self.chats)
            self._counts[chat] += 1
            text = f"message {chat}-{self._counts[chat]:04d}"
            update = self.telegram.user_says(chat, text).update_id
            assert update is not None
            self.said[update] = text

    def shown(self) -> Counter[str]:
        """How often each message's answer stands in its chat."""
        return Counter(text for chat in self._counts for text in self._answers(chat))

    def unanswered(self) -> set[int]:
        """The update ids of messages without an answer."""
        shown = self.shown()
        return {update for update, text in self.said.items() if not shown[text]}

    def in_flight(self) -> int:
        """Chats in which the gateway may be at work: it has acknowledged something after what it answered last."""
        pending = {update["update_id"] for update in self.telegram.updates.pending}
        shown, newest = self.shown(), dict.fromkeys(self._counts, True)
        for update, text in self.said.items():
            if update not in pending:
                newest[int(text.split()[1].partition("-")[0])] = shown[text] > 0
        return sum(not is_answered for is_answered in newest.values())

    def repeated(self) -> dict[str, int]:
        return {text: count for text, count in self.shown().items() if count > 1}

    def inversions(self) -> list[tuple[str, str]]:
        """Neighbouring answers in one chat of which the second belongs to the earlier question."""
        found = []
        for chat in self._counts:
            answers = self._answers(chat)
            found += [(one, two) for one, two in itertools.pairwise(answers) if two < one]
        return found

    def _answers(self, chat: int) -> list[str]:
        texts = self.telegram.texts(chat)
        return [text.removeprefix("echo: ") for text in texts if text.startswith("echo: message ")]
