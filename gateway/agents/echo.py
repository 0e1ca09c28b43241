"""The agent that repeats what it is told, whole or a piece at a time: for first steps, tests and measurements."""

from collections.abc import AsyncIterator

from gateway.agents.contract import Task, Words


class Echo:
    async def answer(self, task: Task) -> str:
        return task.text


class Pieces:
    """Says it in so many pieces, each a chunk of its own."""

    resumable = True

    def __init__(self, chunks: int) -> None:
        self._chunks = chunks

    async def work(self, task: Task) -> AsyncIterator[Words]:
        size = max(1, -(-len(task.text) // self._chunks))
        for start in range(0, len(task.text), size):
            yield Words(task.text[start : start + size])


def echo(chunks: int = 1) -> Echo | Pieces:
    """Raises ValueError for fewer chunks than one."""
    if chunks < 1:
        raise ValueError("chunks must be at least 1")
    return Echo() if chunks == 1 else Pieces(chunks)


AGENT = echo
