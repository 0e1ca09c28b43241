"""Identities the gateway issues itself."""

import os
import re
import time

POOL = 4000  # bytes of randomness fetched at once: asking the kernel for each id costs more than all the rest of it
RANDOM = 10  # bytes in one id
_OWN = re.compile(r"[0-9a-f]{32}(?:[0-9a-f]{16})?")


class _Randomness:
    """The operating system's randomness, a pool at a time; each byte is used once."""

    def __init__(self) -> None:
        self._pool, self._used = b"", POOL

    def take(self, size: int) -> bytes:
        if self._used + size > POOL:
            self._pool, self._used = os.urandom(POOL), 0
        self._used += size
        return self._pool[self._used - size : self._used]


_randomness = _Randomness()


def new_id() -> str:
    """A UUID version 7 (RFC 9562, section 5.7) as 32 hexadecimal digits.

    Ids made later sort later, to the millisecond, so that indexes grow at one end; 74 random bits keep them
    unguessable enough for names. Where an id is a capability (a cookie, a push URL) use `secrets` instead.
    """
    bits = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(_randomness.take(RANDOM), "big")
    bits = bits & ~(0xF << 76) | 0x7 << 76
    bits = bits & ~(0x3 << 62) | 0x2 << 62
    return f"{bits:032x}"


def secret_id() -> str:
    """A new_id with 64 more random bits, 138 in all: for names whose knowledge lets somebody in."""
    return f"{new_id()}{_randomness.take(8).hex()}"


def is_own(id: str) -> bool:
    """Whether it has the form of those made here, which nobody else's choice of words has by chance."""
    return _OWN.fullmatch(id) is not None
