"""Which files of the product one message passes, in the order of their first call."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tests.conftest import ROOT

FOLDERS = tuple(str(ROOT / name) + "/" for name in ("core", "config", "a2a", "plugins", "gateway"))


SILENCE = 0.3  # seconds; the product's own timers after a message are shorter (gateway/store/sqlite/writer.py)


class Passed:
    """The files, in order."""

    def __init__(self) -> None:
        self._seen: dict[str, None] = {}
        self._last = time.monotonic()

    @property
    def files(self) -> list[str]:
        return [str(Path(name).relative_to(ROOT)) for name in self._seen]

    @property
    def is_silent(self) -> bool:
        """Whether all that a message set going has ended, what is put off for a moment as well."""
        return time.monotonic() - self._last > SILENCE

    def restart(self) -> None:
        self._seen.clear()

    def call(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and (name := frame.f_code.co_filename).startswith(FOLDERS):
            self._seen.setdefault(name)
            self._last = time.monotonic()


@contextmanager
def files_passed() -> Iterator[Passed]:
    """Whatever runs inside is watched, in this thread and in those begun inside."""
    passed, before = Passed(), sys.getprofile()
    sys.setprofile(passed.call)
    threading.setprofile(passed.call)
    try:
        yield passed
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
