"""JSON on its way out: fast, and never failing over a value that came in."""

import json
from typing import Any

import orjson


def dumps(value: Any) -> bytes:
    """UTF-8 on one line. orjson takes integers of 64 bits only; the standard library takes a caller's longer ones."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
