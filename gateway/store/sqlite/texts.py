"""JSON in text columns: fast, and exact for every value that JSON has.

orjson takes integers of 64 bits only, and reads longer ones as floating point. A value with longer ones is written by
the standard library, and begins with a space, which says so to the reader.
"""

import json
from typing import Any

import orjson


def encoded(value: Any) -> str:
    """Raises TypeError for what is no JSON, lone surrogates among it."""
    try:
        return orjson.dumps(value).decode()
    except TypeError as error:
        try:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            text.encode()
        except ValueError:
            raise error from None
        return f" {text}"


def decoded(text: str) -> Any:
    return json.loads(text) if text.startswith(" ") else orjson.loads(text)
