"""Which files of the product one message passes, in the order of their first call."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tests.conftest import ROOT

FOLDERS = tuple(str(ROOT / name) + "/" for name in ("core", "config", "a2a", "plugins", "gateway"))


class Passed:
    """The files, in order; `seen` are all of them so far."""

    def __init__(self) -> None:
        self._seen: dict[str, None] = {}

    @property
    def files(self) -> list[str]:
        return [str(Path(name).relative_to(ROOT)) for name in self._seen]

    def restart(self) -> None:
        self._seen.clear()

    def call(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and (name := frame.f_code.co_filename).startswith(FOLDERS):
            self._seen.setdefault(name)


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
