"""What JSON is refused, and that nothing else is."""

import json
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.doors.strict_json import BadJson, check_json_bytes, strict_json

MEGABYTE = 1 << 20
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-(10**300), 10**300)
    | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=30,
)


def reason(raw: bytes) -> str:
    with pytest.raises(BadJson) as caught:
        strict_json(raw)
    return caught.value.reason


@given(VALUES, st.booleans())
def test_whatever_json_can_say_is_read_as_it_was_written(value: object, ascii_only: bool) -> None:
    assert strict_json(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@given(st.text(alphabet='[]{}":,\\NaInfity0123456789.eE+-u d8', max_size=60))
def test_text_inside_a_string_is_never_mistaken_for_structure(text: str) -> None:
    assert strict_json(json.dumps({"text": text}).encode()) == {"text": text}


@pytest.mark.case("T15")
@pytest.mark.parametrize(
    "bomb",
    [
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"[" * (MEGABYTE // 2) + b"]" * (MEGABYTE // 2),
        b'[{"a":' * 33 + b"1" + b"}]" * 33,
        b"[" * 65 + b"]" * 65,
        b'["\\"",' * 65 + b"1" + b"]" * 65,
    ],
    ids=["arrays", "objects", "closed", "alternating", "one over the limit", "with escaped quotes"],
)
def test_a_depth_bomb_is_refused_without_recursion(bomb: bytes) -> None:
    assert reason(bomb) == "too_deep"


@pytest.mark.parametrize(
    "raw", [b"[" * 64 + b"]" * 64, b'[{"a":' * 32 + b"1" + b"}]" * 32, b"[" + b"[]," * 500 + b"1]"]
)
def test_depth_up_to_the_limit_and_any_width_pass(raw: bytes) -> None:
    strict_json(raw)


@pytest.mark.case("T15")
@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 100_000,
        b"[" * (MEGABYTE // 2) + b"]" * (MEGABYTE // 2),
        b"[]" * (MEGABYTE // 2),
        b'"' + b'\\"' * (MEGABYTE // 2),
        b"[[]" * (MEGABYTE // 3),
        b"\\ud800\\" * (MEGABYTE // 7),
        b"1" * MEGABYTE,
    ],
    ids=["open", "closed", "wide", "quotes", "half closed", "surrogates", "digits"],
)
def test_hostile_text_is_scanned_in_linear_time(raw: bytes) -> None:
    started = time.process_time()
    with suppress(BadJson):
        check_json_bytes(raw)
    assert time.process_time() - started < 0.5


@pytest.mark.case("T20")
@pytest.mark.parametrize("raw", [b'{"n":NaN}', b"[Infinity]", b"[-Infinity]", b'["a",NaN]'])
def test_what_is_not_a_number_is_refused(raw: bytes) -> None:
    assert reason(raw) == "not_a_number"


@pytest.mark.case("T20")
@pytest.mark.parametrize(
    "raw",
    [
        b"1e999",
        b'{"n":-1E+999}',
        b"123456789e301",
        b"9" * 309,
        b"1" * 20_000,
        b"0." + b"1" * 20_000,
        b"1" * 300 + b"e99",
    ],
)
def test_a_number_beyond_a_double_is_refused(raw: bytes) -> None:
    assert reason(raw) == "number_too_large"


@pytest.mark.parametrize("raw", [b"1e308", b"1e-999", b"9" * 308, b"[1.5e+10,-0.0]", b'{"id":"550e8400-e29b-41d4"}'])
def test_large_numbers_within_a_double_pass(raw: bytes) -> None:
    strict_json(raw)


@pytest.mark.case("T19")
@pytest.mark.parametrize("raw", [b"\xff\xfe", b'"\xed\xa0\x80"', b'"\xc0\xaf"', b'{"a":"\x80"}'])
def test_bytes_that_are_not_utf_8_are_refused(raw: bytes) -> None:
    assert reason(raw) == "encoding"


@pytest.mark.case("T19")
@pytest.mark.parametrize(
    "raw",
    [
        rb'"\ud800"',
        rb'"\uDBFF x"',
        rb'"\udc00"',
        rb'"\ude00\ud83d"',
        rb'"\ud83d\ud83d\ude00"',
        rb'"\ud83d\ude00\ude00"',
        rb'"\\\ud800"',
    ],
)
def test_half_a_surrogate_pair_is_refused(raw: bytes) -> None:
    assert reason(raw) == "lone_surrogate"


@pytest.mark.parametrize(
    ("raw", "text"), [(rb'"\ud83d\uDE00"', "😀"), (rb'"\\ud800"', r"\ud800"), ('"😀"'.encode(), "😀")]
)
def test_whole_pairs_and_mere_talk_of_surrogates_pass(raw: bytes, text: str) -> None:
    assert strict_json(raw) == text


@pytest.mark.case("T19")
def test_an_escaped_nul_is_kept() -> None:
    assert strict_json(rb'"a\u0000b"') == "a\x00b"


@pytest.mark.case("T18")
@pytest.mark.parametrize("raw", [b'{"text":1,"text":2}', b'[{"a":{"b":1,"b":1}}]', rb'{"a":1,"\u0061":2}'])
def test_a_key_given_twice_is_refused_where_a_caller_wrote_the_json(raw: bytes) -> None:
    assert reason(raw) == "duplicate_key"


@pytest.mark.parametrize("raw", [b"", b"{}x", b"\xef\xbb\xbf{}", b'"a', b"[1,]", b'"a\x00b"', b"{'a':1}", b"[}", b"\\"])
def test_broken_json_is_refused_without_quoting_it(raw: bytes) -> None:
    assert reason(raw) == "syntax"
