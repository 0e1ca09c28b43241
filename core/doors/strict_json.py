"""JSON as strangers may send it: what the usual parsers let through, refused before one of them runs.

No one parser refuses NaN, numbers that overflow, lone surrogates, depth and duplicate keys, so the refusal is a pass
of its own over the bytes: a few searches at C speed, linear in the worst case. `check_json_bytes` is that pass, for
callers that hand the bytes to a typed parser afterwards; `strict_json` adds the standard library's parse and the
duplicate keys.

Syntax is left to the parser that follows. Whatever offends before the first syntax error is found here; behind it no
parser looks.
"""

import json
import re
from typing import Any

MAX_DEPTH = 64  # deeper than any vendor's or agent's payload known; far below what makes a parser recurse too far
MAX_DIGITS = 308  # digits in a row; a double holds no longer integer (RFC 8259, 6: interoperable numbers)

# Digits become 0, exponent marks become e and signs vanish, so that one plain search finds a suspicious number.
_FOLD = bytes.maketrans(b"123456789E", b"000000000e")
_SIGNS = b"+-"
_BIG_EXPONENT = b"0e000"
_LONG_NUMBER = b"0" * 200  # a shorter one, even with an exponent of two digits, is within a double
_NUMBER = re.compile(rb"[0-9][0-9.eE+-]*")
_DIGIT_RUN = re.compile(rb"[0-9]{%d}" % (MAX_DIGITS + 1))

_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKET = bytes(byte for byte in range(256) if byte not in b"[]{}")

# A high half without its low one, or a low half without its high one; the text holds no escaped backslash any more.
_LONE_SURROGATE = re.compile(
    rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD])[c-fC-F])"
)


class BadJson(ValueError):
    """JSON that is refused; `reason` is a machine word and never holds any of the text."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"JSON refused: {reason}")
        self.reason = reason


def strict_json(raw: bytes) -> object:
    """The parsed value; raises `BadJson`. Escaped NUL characters are kept: the stores hold them."""
    check_json_bytes(raw)
    try:
        return json.loads(raw.decode(), object_pairs_hook=_without_duplicates)
    except BadJson:
        raise
    except ValueError as error:
        raise BadJson("syntax") from error


def check_json_bytes(raw: bytes, *, depth: int = MAX_DEPTH) -> int:
    """How many members are written in its objects: a parser that finds fewer has dropped a duplicate key.

    Raises `BadJson` for bad UTF-8, lone surrogates, NaN, Infinity, numbers beyond a double, and depth. Says nothing of
    syntax.
    """
    if not raw.isascii():
        _check_utf8(raw)
    if b"\\" in raw:
        raw = _without_escapes(raw)
    bare = b" ".join(raw.split(b'"')[::2])  # what stands outside the strings
    if b"NaN" in bare or b"Infinity" in bare:
        raise BadJson("not_a_number")
    folded = bare.translate(_FOLD, _SIGNS)
    if (_BIG_EXPONENT in folded or _LONG_NUMBER in folded) and _has_huge_number(bare):
        raise BadJson("number_too_large")
    if bare.count(b"[") + bare.count(b"{") > depth and _deeper_than(bare, depth):
        raise BadJson("too_deep")
    return bare.count(b":")


def _check_utf8(raw: bytes) -> None:
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        raise BadJson("encoding") from error


def _without_escapes(raw: bytes) -> bytes:
    """The text with each escaped backslash and quote blotted out, so that every quote left opens or closes a string."""
    raw = raw.replace(b"\\\\", b"__")
    if _LONE_SURROGATE.search(raw):
        raise BadJson("lone_surrogate")
    return raw.replace(b'\\"', b"__")


def _has_huge_number(bare: bytes) -> bool:
    return _DIGIT_RUN.search(bare) is not None or any(map(_overflows, _NUMBER.findall(bare)))


def _overflows(number: bytes) -> bool:
    try:
        return float(number) == float("inf")
    except ValueError:  # not a number at all; the parser says so
        return False


def _deeper_than(bare: bytes, depth: int) -> bool:
    """Takes the innermost pairs away, one level a round; brackets that never pair count as depth.

    Rounds at C speed instead of a loop over characters: the largest body takes milliseconds. Which bracket closes
    which is a matter of syntax, so both kinds are counted as one.
    """
    rest = bare.translate(_ONE_KIND, _NOT_BRACKET)
    too_many = b"[" * (depth + 1)
    for _ in range(depth):
        outer = rest.replace(b"[]", b"")
        if too_many in outer or len(outer) == len(rest):
            return outer.count(b"[") > depth
        rest = outer
    return b"[" in rest


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise BadJson("duplicate_key")
    return members
