"""A caller's JSON is read by a fast parser, and no otherwise than by the strict one."""

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a.server.encoding import loads
from core.doors.strict_json import MAX_DEPTH, BadJson, strict_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)

ours = partial(loads, depth=MAX_DEPTH)


def outcome(read: Any, raw: bytes) -> object:
    try:
        return read(raw)
    except BadJson as error:
        return error.reason


@given(VALUES, st.booleans())
def test_whatever_is_sent_means_the_same_to_both(value: object, is_ascii: bool) -> None:
    raw = json.dumps(value, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    assert repr(outcome(ours, raw)) == repr(outcome(strict_json, raw))


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a": 1, "a": 1}',
        b'{"a": {"b": 1, "c": [{"b": 1, "b": 2}]}}',
        b'{"a": "x:y", "b:": ":"}',
        b'{"a\\"b": 1, "a\\u0022b": 2}',
        b'{"n": 123456789012345678901234567890}',
        b'{"n": -9223372036854775809, "n": 1}',
        b'{"n": 1e999}',
        b'["\\ud800"]',
        b"[" * 65 + b"]" * 65,
        b"{'a': 1}",
        b"",
        b"\xef\xbb\xbf{}",
        b"[1,]",
        b"[01]",
        b'["\x01"]',
        b"NaN",
    ],
)
def test_what_only_one_of_them_might_take_is_the_same_to_both(raw: bytes) -> None:
    assert repr(outcome(ours, raw)) == repr(outcome(strict_json, raw))
