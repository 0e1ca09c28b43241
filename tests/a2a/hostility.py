"""What broken and hostile agents do, and the words in which a person is told what came of it."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from tests.fakes.agent_events import Event, artifact, completed, cut, only_stored, only_streamed, working
from tests.fakes.agent_scripts import Call

ANSWER = "the answer"
UNKNOWN = "cannot tell whether the agent got your message"
LOST = "no longer knows this task"
EMPTY = "finished without saying anything"
SILENT = "Nothing new of this"
DECLINED = "did not take the message"
GIVEN_UP = "could not be reached"
NOT_LET_IN = "does not let this gateway in"
FAILED = "could not do this"
BY_AGENT = "The agent cancelled this task"
OUTCOMES = (ANSWER, UNKNOWN, LOST, EMPTY, SILENT, DECLINED, GIVEN_UP, NOT_LET_IN, FAILED, BY_AGENT)


def outcomes_in(texts: Iterable[str]) -> list[str]:
    """What a person was told came of it, in order; parts of one sentence are put together."""
    told = "".join(texts)
    found = [(at.start(), each) for each in OUTCOMES for at in re.finditer(re.escape(each), told)]
    return [each for _, each in sorted(found)]


def memory(process: int | str, *, peak: bool = False) -> int:
    """Resident bytes of a process, now or at most so far."""
    status = Path(f"/proc/{process}/status").read_text()
    return 1024 * int(re.findall(rf"^Vm{'HWM' if peak else 'RSS'}:\s+(\d+)", status, re.MULTILINE)[0])


async def cuts(_call: Call) -> AsyncIterator[Event]:
    for event in (working(), cut(), artifact(ANSWER, last=True), cut(), completed()):
        yield event


async def repeats(_call: Call) -> AsyncIterator[Event]:
    for event in (working(), artifact(ANSWER, last=True)):
        for _ in range(5):
            yield event
    for _ in range(5):
        yield only_streamed(completed())
    yield completed()


async def reorders(_call: Call) -> AsyncIterator[Event]:
    yield only_stored(artifact(ANSWER, last=True))
    yield only_streamed(completed())
    yield only_streamed(artifact("late words"))
    yield only_streamed(working())
    yield only_stored(completed())


async def says_nothing_more(_call: Call) -> AsyncIterator[Event]:
    yield working()
    yield only_stored(artifact(ANSWER, last=True))
    yield only_stored(completed())
    await asyncio.Event().wait()
