"""Named instants at which a test may end the process, as `kill -9` would.

`FRONTDESK_CRASHPOINT=name:n` ends it at the n-th pass of the named point. `frontdesk doctor --crashpoints` lists them.
"""

import os
from collections.abc import Callable

POINTS: dict[str, str] = {
    "ingress.before_commit": "an inbound batch was read and checked; nothing of it is stored",
    "ingress.after_commit": "an inbound batch is stored; its sender has no answer yet",
    "router.after_claim": "a turn was begun and its submission stored as intended; its remote agent was not called",
    "a2a.after_send": "the agent said its first word about a message; nothing of that is stored",
    "task.after_observe": "something an agent said was stored, with the deliveries it implies",
    "deliver.before_send": "a delivery is due; its attempt has not begun",
    "deliver.after_claim": "an attempt is stored as begun; no byte was sent",
    "window.after_take": "a reply window took an answer; nothing of it was written",
    "deliver.after_send": "the channel answered; the outcome is not stored",
    "deliver.after_settle": "the outcome of an attempt is stored",
}


def _armed(setting: str) -> Callable[[str], None]:
    name, _, count = setting.partition(":")
    if name not in POINTS or not (count or "1").isdigit():
        raise SystemExit(f"FRONTDESK_CRASHPOINT={setting}: no such point; one of {', '.join(POINTS)}, then :n")
    left = int(count or "1")

    def passing(point: str) -> None:
        nonlocal left
        if point == name:
            left -= 1
            if left == 0:
                os._exit(137)

    return passing


def _unarmed(_point: str) -> None:
    return None


_setting = os.environ.get("FRONTDESK_CRASHPOINT", "")
crashpoint: Callable[[str], None] = _armed(_setting) if _setting else _unarmed
