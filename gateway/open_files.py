"""How many files the process may have open at once, of which every connection is one.

Linux lets a process open 1024 unless it asks for more, up to a limit that only its supervisor moves. Who has used them
up can accept nobody, ask no agent and open no database. So the gateway asks for what it may need, and where it does not
get that, it lets in fewer connections and keeps the rest for its own work.
"""

import resource
from contextlib import suppress

ENOUGH = 8192  # files: the listener's connections, as many of its own to agents and channels, database and stored files
OWN_MOST = 4096  # files kept for its own work; where there are fewer than that to share, half of them


def raise_limit() -> int:
    """Let the process open ENOUGH files, or as many as it may; how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most, wanted = _number(hard), min(_number(hard), ENOUGH)
    if _number(soft) < wanted:
        with suppress(OSError, ValueError):  # a system with a lower limit of its own
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return min(_number(soft), most)


def connections(files: int, most: int) -> int:
    """How many connections may be let in where so many files may be open, `most` at most."""
    return min(most, max(files - OWN_MOST, files // 2))


def _number(limit: int) -> int:
    return ENOUGH if limit == resource.RLIM_INFINITY else limit
