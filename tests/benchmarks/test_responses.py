from collections.abc import Iterable

import pytest

from benchmarks.responses import BrokenResponse, Response, ResponseReader

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n"


def read(pieces: Iterable[bytes]) -> Response | None:
    reader, response = ResponseReader(), None
    for piece in pieces:
        assert response is None, "a response was complete before its end"
        response = reader.feed(piece)
    return response


@pytest.mark.parametrize("raw", [PLAIN, CHUNKED])
def test_a_response_is_the_same_however_it_is_cut(raw: bytes) -> None:
    for size in (1, 2, 7, len(raw)):
        response = read(raw[start : start + size] for start in range(0, len(raw), size))
        assert response is not None
        assert (response.status, response.body, response.keeps_alive) == (200, b"hello", True)


def test_headers_are_found_whatever_their_case() -> None:
    response = read([b"HTTP/1.1 503 Busy\r\nRETRY-after: 7\r\nconnection: Close\r\ncontent-length: 0\r\n\r\n"])
    assert response is not None
    assert (response.header("Retry-After"), response.header("x-none"), response.keeps_alive) == ("7", "", False)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (PLAIN + b"!", "surplus_bytes"),
        (CHUNKED + b"HTTP/1.1 200 OK\r\n", "surplus_bytes"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello", "bad_length"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "bad_chunk"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "not_http"),
        (b"HTTP/1.1 204 No Content\r\n\r\nbody", "surplus_bytes"),
    ],
)
def test_what_does_not_add_up_is_an_error_by_name(raw: bytes, name: str) -> None:
    with pytest.raises(BrokenResponse, match=name):
        ResponseReader().feed(raw)


def test_a_body_that_ends_before_its_length_is_lost() -> None:
    reader = ResponseReader()
    assert reader.feed(PLAIN[:-1]) is None
    with pytest.raises(BrokenResponse, match="connection_lost"):
        reader.close()


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    reader = ResponseReader()
    assert reader.feed(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello") is None
    assert reader.close().body == b"hello"
