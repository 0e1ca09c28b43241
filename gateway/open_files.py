"""How many files the process may have open at once, of which every connection is one.

Linux lets a process open 1024 unless it asks for more, up to a hard limit that only its supervisor raises. A process
that has used them up can accept nobody, ask no agent and open no database. So the gateway asks for what it may need,
and where it does not get that, it lets in fewer connections and keeps the rest for its own work.
"""

import resource
from contextlib import suppress

ENOUGH = 8192  # files: the listener's connections, as many of its own to agents and channels, database and stored files
OWN_MOST = 4096  # files kept for its own work, but never more than half of all


def raise_limit() -> int:
    """Ask for ENOUGH files, or as many as the hard limit lets; how many the process may open then. Lowers nothing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(_number(hard), ENOUGH)
    if _number(soft) >= wanted:
        return _number(soft)
    with suppress(OSError, ValueError):  # macOS has a lower limit beside these
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return soft


def connections(files: int, most: int) -> int:
    """How many connections to let in, `most` at most, where so many files may be open."""
    return min(most, max(files - OWN_MOST, files // 2))


def _number(limit: int) -> int:
    return ENOUGH if limit == resource.RLIM_INFINITY else limit
