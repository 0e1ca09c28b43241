"""The agent that repeats what it is told, whole or a piece at a time: for first steps, tests and measurements."""

from collections.abc import AsyncIterator

from core.parts import Text
from gateway.agents.contract import Parts, Task


class Echo:
    async def answer(self, task: Task) -> str:
        return task.text


class Pieces:
    """Says it in so many pieces of one artifact, each heard by itself."""

    resumable = False

    def __init__(self, chunks: int) -> None:
        self._chunks = chunks

    async def work(self, task: Task) -> AsyncIterator[Parts]:
        size = max(1, -(-len(task.text) // self._chunks))
        starts = range(0, len(task.text), size)
        for start in starts:
            piece = Text(task.text[start : start + size])
            yield Parts((piece,), id="echo", more=start != starts[-1])


def echo(chunks: int = 1) -> Echo | Pieces:
    """Raises ValueError for fewer chunks than one."""
    if chunks < 1:
        raise ValueError("chunks must be at least 1")
    return Echo() if chunks == 1 else Pieces(chunks)


AGENT = echo
