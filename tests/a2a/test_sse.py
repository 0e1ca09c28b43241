"""Server-sent events arrive in any pieces and never take more memory than allowed."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a.sse import EventTooLarge, ServerEvent, SseParser

STREAM = (
    b'\xef\xbb\xbf: ping\r\ndata: {"a":\r\ndata: 1}\r\n\r\nevent: error\ndata:no space\n\n'
    b"id: 7\nretry: 5\n\n:\rdata: last\r\rdata: cut off\n"
)
EVENTS = [ServerEvent(b'{"a":\n1}'), ServerEvent(b"no space", "error"), ServerEvent(b"last")]


def parsed(*chunks: bytes, limit: int = 1000) -> list[ServerEvent]:
    parser = SseParser(limit=limit)
    return [event for chunk in chunks for event in parser.feed(chunk)]


def test_lines_may_end_in_cr_lf_or_both_and_comments_say_nothing() -> None:
    assert parsed(STREAM) == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_where_the_network_cuts_the_bytes_changes_nothing(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    assert parsed(*(STREAM[start:end] for start, end in pairwise(places))) == EVENTS


def test_byte_by_byte_is_the_same_stream() -> None:
    assert parsed(*(STREAM[at : at + 1] for at in range(len(STREAM)))) == EVENTS


@given(st.lists(st.binary(max_size=12)))
def test_no_bytes_make_the_parser_fail(chunks: list[bytes]) -> None:
    assert all(event.data is not None for event in parsed(*chunks))


def test_an_event_that_the_end_cuts_short_is_dropped() -> None:
    assert parsed(b"data: whole\n\ndata: half") == [ServerEvent(b"whole")]


def test_an_event_without_data_is_none() -> None:
    assert parsed(b"event: error\n\n") == []


@pytest.mark.parametrize(
    "chunks",
    [[b"data: " + b"x" * 101 + b"\n\n"], [b"data: 1\n"] * 60, [b"x" * 40] * 3, [b": " + b"x" * 50, b"x" * 60]],
    ids=["one line", "many lines", "a line without end", "a comment without end"],
)
@pytest.mark.case("F14")
def test_an_event_over_the_limit_ends_the_parsing(chunks: list[bytes]) -> None:
    with pytest.raises(EventTooLarge, match="100"):
        parsed(*chunks, limit=100)


def test_events_before_the_one_that_is_too_large_are_kept() -> None:
    events = SseParser(limit=100).feed(b"data: small\n\ndata: " + b"x" * 200 + b"\n\n")
    assert next(events) == ServerEvent(b"small")
    with pytest.raises(EventTooLarge):
        next(events)


def test_the_limit_counts_each_event_anew() -> None:
    assert len(parsed(*[b"data: " + b"x" * 80 + b"\n\n"] * 50, limit=100)) == 50
