"""Identities the gateway issues itself."""

import random
import time

_random = random.SystemRandom()


def new_id() -> str:
    """A UUID version 7 (RFC 9562, section 5.7) as 32 hexadecimal digits.

    Ids made later sort later, to the millisecond, so that indexes grow at one end; 74 random bits keep them
    unguessable enough for names. Where an id is a capability (a cookie, a push URL) use `secrets` instead.
    """
    bits = (time.time_ns() // 1_000_000) << 80 | _random.getrandbits(80)
    bits = bits & ~(0xF << 76) | 0x7 << 76
    bits = bits & ~(0x3 << 62) | 0x2 << 62
    return f"{bits:032x}"
