"""The agent of the demo: it streams a few words, asks back when a table is to be booked, and can count for a long time.

It shows all that a local agent can do, and answers in the language it is spoken to: Chinese where the text has Chinese
characters, else English.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from itertools import pairwise

from gateway.agents.contract import Checkpoint, Question, Step, Task, Words

COUNT_MOST = 1000
WORD_PACE = 0.04  # of the counting pace: between two words of a sentence

_CHINESE = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_COUNT = re.compile(r"\bcount\s+(?:up\s+)?to\s+(\d{1,9})\b|数到\s*(\d{1,9})", re.IGNORECASE)
_TABLE = re.compile(r"\bbook\s+(?:me\s+|us\s+)?a\s+table\b|订.{0,4}(?:座|位|桌|餐厅)", re.IGNORECASE)

_HELLO = (
    "Hello! I am the concierge of this front desk. Ask me to **book a table**, or to **count to 30**: "
    "you can follow me with /status and stop me with /cancel.",
    "你好！我是前台的礼宾员。你可以对我说**订一张桌子**，或者**数到 30**：用 /status 查看进度，用 /cancel 让我停下。",
)
_WHICH_DAY = ("For which day?", "请问订哪一天？")
_BOOKED = ("Your table is booked for {day}. Enjoy your meal!", "已为你订好{day}的桌子，祝用餐愉快！")
_TOO_FAR = (f"I only count to {COUNT_MOST}.", f"我最多只能数到 {COUNT_MOST}。")
_TOO_NEAR = ("There is nothing to count.", "没有什么可数的。")


class Concierge:
    resumable = True

    def __init__(self, pace: float = 1.0) -> None:
        """`pace`: seconds from one number to the next."""
        if not 0 <= pace <= 60:
            raise ValueError("pace is not within 0 to 60 seconds; 1.0 counts a number a second")
        self._pace = pace

    async def work(self, task: Task) -> AsyncIterator[Step]:
        chinese = bool(_CHINESE.search(task.text) or task.state.get("chinese"))
        steps = self._steps(task, chinese)
        async for step in steps:
            yield step

    def _steps(self, task: Task, chinese: bool) -> AsyncIterator[Step]:
        if task.state.get("asked") == "day":
            return self._say(_BOOKED[chinese].format(day=_one_line(task.text)))
        if found := _COUNT.search(task.text):
            return self._count(int(found[1] or found[2]), task.state.get("said", 0), chinese)
        if _TABLE.search(task.text):
            return self._ask(_WHICH_DAY[chinese], chinese)
        return self._say(_HELLO[chinese])

    async def _count(self, last: int, said: int, chinese: bool) -> AsyncIterator[Step]:
        if not 0 < last <= COUNT_MOST:
            yield Words(_TOO_FAR[chinese] if last else _TOO_NEAR[chinese])
            return
        for number in range(said + 1, last + 1):
            yield Words(str(number) if number == 1 else f" {number}")
            if number < last:
                yield Checkpoint({"said": number})
                await asyncio.sleep(self._pace)

    async def _ask(self, question: str, chinese: bool) -> AsyncIterator[Step]:
        yield Question(question, {"asked": "day", "chinese": chinese})

    async def _say(self, text: str) -> AsyncIterator[Step]:
        """Word by word, as a model would; Chinese by a few characters."""
        cuts = [0, *(found.end() for found in re.finditer(r"\S+\s+|[，。！：、？]", text)), len(text)]
        for start, end in pairwise(cuts):
            yield Words(text[start:end])
            await asyncio.sleep(self._pace * WORD_PACE)


def _one_line(text: str) -> str:
    """A day as a person wrote it, fit for the middle of a sentence."""
    line = " ".join(text.split()).rstrip(".!。！")
    return line if len(line) <= 80 else line[:79] + "…"


AGENT = Concierge
