"""What a server process costs: its CPU time and its memory, asked of the kernel."""

import time
from pathlib import Path

_KIB = 1024  # bytes
_MEGABYTE = 1_000_000  # bytes


def cpu_seconds(pid: int) -> float:
    """User and system time of the process, in nanosecond steps.

    The process's own CPU clock instead of the sum over `/proc/PID/task/*/schedstat`, since the latter forgets a thread
    once it has ended, and instead of `/proc/PID/stat`, which counts in ticks of 10 ms. Raises OSError when it is gone.
    """
    # The clock's number is what clock_getcpuclockid(3) computes; Python offers that only for threads of its own.
    return time.clock_gettime((~pid << 3) | 2)


def resident_mb(pid: int) -> float:
    """Megabytes of a million bytes; files that it maps count."""
    return _memory(pid, "VmRSS")


def peak_mb(pid: int) -> float:
    """The largest resident size since the process began."""
    return _memory(pid, "VmHWM")


def _memory(pid: int, field: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * _KIB / _MEGABYTE
    raise ProcessLookupError(f"process {pid} has ended")
