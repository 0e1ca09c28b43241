"""One line about the machine, without which no figure means anything."""

import os
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Machine:
    cores: int
    processor: str
    load: float  # 1-minute load average
    python: str
    aiohttp: str

    @classmethod
    def now(cls) -> "Machine":
        cores = len(os.sched_getaffinity(0))
        return cls(cores, _processor(), os.getloadavg()[0], platform.python_version(), version("aiohttp"))

    def __str__(self) -> str:
        software = f"Python {self.python}, aiohttp {self.aiohttp}"
        return f"{self.cores} cores ({self.processor}), load {self.load:.1f} at the start, {software}, driver included"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()
