"""Durations and sizes as people write them: a bare number is seconds or bytes, and a unit may follow it."""

import re
from typing import Annotated

from pydantic import BeforeValidator

_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", re.IGNORECASE)
_SECONDS = {"": 1, "ms": 0.001, "s": 1, "min": 60, "m": 60, "h": 3600, "d": 86_400}
_BYTES = {"": 1, "b": 1, "kb": 1000, "mb": 1000**2, "gb": 1000**3, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}


def seconds(value: object) -> object:
    """`"72 h"` as 259200.0; what is no text is left to the model."""
    return _quantity(value, _SECONDS, "a duration such as 20, '20 s', '15 min', '72 h' or '30 d'")


def size(value: object) -> object:
    """`"1 MiB"` as 1048576; what is no text is left to the model."""
    quantity = _quantity(value, _BYTES, "a size such as 1048576, '512 KiB' or '1 MiB'")
    return int(quantity) if isinstance(quantity, float) else quantity


def _quantity(value: object, units: dict[str, float] | dict[str, int], expected: str) -> object:
    if not isinstance(value, str):
        return value
    match = _QUANTITY.fullmatch(value)
    factor = units.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise ValueError(f"{value[:40]!r} is not {expected}; write it like that")
    return float(match[1]) * factor


Seconds = Annotated[float, BeforeValidator(seconds)]
Bytes = Annotated[int, BeforeValidator(size)]
