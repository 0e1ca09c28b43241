"""The words in which a person is told what came of a broken or hostile agent, and what that cost in memory."""

import re
from collections.abc import Iterable
from pathlib import Path

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
