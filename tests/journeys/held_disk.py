"""A disk that takes its time: the gateway's process finds its syncs of the log held until a test lets them go.

The process gets a `sitecustomize` that stands before the operating system's own sync. It needs neither strace nor any
knowledge of the gateway's code; what is held is known by the name of the file.
"""

import os
from pathlib import Path

from tests.journeys.process import GatewayProcess, look

_MODULE = """
import os
from pathlib import Path

GATE, HELD = Path({gate!r}), Path({held!r})
NAME = "fdatasync" if hasattr(os, "fdatasync") else "fsync"
sync = getattr(os, NAME)


def held_sync(file):
    if GATE.exists() and os.readlink(f"/proc/self/fd/{{file}}").endswith("-wal"):
        HELD.touch()
        GATE.read_bytes()  # a FIFO: returns when the test has opened and closed it
    sync(file)


setattr(os, NAME, held_sync)
"""


class HeldDisk:
    """For one gateway, from its next start on."""

    def __init__(self, folder: Path, gateway: GatewayProcess) -> None:
        folder.mkdir()
        self._gate, self._held = folder / "gate", folder / "held"
        (folder / "sitecustomize.py").write_text(_MODULE.format(gate=str(self._gate), held=str(self._held)))
        gateway.path.insert(0, folder)

    def hold(self) -> None:
        """The next sync of the log does not come back before `let_go`."""
        os.mkfifo(self._gate)

    async def until_held(self) -> None:
        async def it_is() -> bool:
            return self._held.exists()

        await look(it_is, what="a sync of the log to begin")

    def let_go(self) -> None:
        with self._gate.open("wb"):
            self.works_again()

    def works_again(self) -> None:
        """Nothing is held any more; whoever was is gone."""
        self._gate.unlink()
        self._held.unlink()
