"""Over real sockets: what is too long or never ends is refused, and everybody else is served meanwhile."""

from __future__ import annotations

import json
import socket
import time
from contextlib import suppress

import pytest

from .serving import PATIENCE, answer, connect, served

GET = b"GET /page HTTP/1.1\r\nHost: desk\r\nConnection: close\r\n\r\n"
ECHO = "tests.config.web.asgi:echo"


@pytest.fixture(scope="module")
def port():
    with served(ECHO, HEADER_SECONDS=1.0, BODY_SECONDS=0.5, WAITING_EACH=20) as found:
        yield found


def test_a_request_passes(port):
    with connect(port, b"POST / HTTP/1.1\r\nHost: desk\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc") as opened:
        status, _, body = answer(opened)
    assert (status, b"abc" in body) == (200, True)


@pytest.mark.parametrize("path", ["/api/v1/sessions", "/sessions/"])
@pytest.mark.parametrize("megabytes", [1, 100])
def test_a_header_without_end_is_431(port, path, megabytes):
    """100 MB kept the event loop busy for 34 s: bytes were put together again with each piece that came."""
    with connect(port, f"GET {path} HTTP/1.1\r\nHost: desk\r\nX-Long: ".encode()) as opened:
        with suppress(ConnectionError):  # what is not read any more after two seconds
            for _ in range(megabytes):
                opened.sendall(b"a" * 1_000_000)
        began = time.monotonic()
        with connect(port, GET) as other:
            assert answer(other)[0] == 200
        assert time.monotonic() - began < 20
        status, headers, body = answer(opened)
    assert status == 431
    if path.startswith("/api/"):
        assert (headers["content-type"], json.loads(body)["status"]) == ("application/problem+json", 431)
    else:
        assert b"The headers are longer than the 65,536 bytes" in body


def test_a_header_that_is_whole_but_too_long_is_431(port):
    """It comes in one piece, so nothing was counted before it was complete."""
    sent = GET.replace(b"\r\n\r\n", b"\r\nX-Long: " + b"a" * 70_000 + b"\r\n\r\n")
    with connect(port, sent) as opened:
        assert answer(opened)[0] == 431


def test_many_small_headers_are_431_as_well(port):
    sent = GET.replace(b"\r\n\r\n", b"\r\n" + b"".join(b"x%d: y\r\n" % n for n in range(20_000)) + b"\r\n")
    with connect(port, sent) as opened:
        assert answer(opened)[0] == 431


def test_trailers_without_end_are_431(port):
    head = b"POST / HTTP/1.1\r\nHost: desk\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Long: "
    with connect(port, head) as opened:
        with suppress(ConnectionError):
            for _ in range(100):
                opened.sendall(b"a" * 10_000)
        assert answer(opened)[0] == 431


def test_a_half_sent_header_is_closed_with_408(port):
    with connect(port, b"GET /page HTTP/1.1\r\nHost: desk\r\n") as opened:
        status, _, body = answer(opened)
    assert status == 408 and b"not complete within" in body


def test_a_header_that_comes_byte_by_byte_is_no_excuse(port):
    """The clock runs from the first byte, so one byte now and then does not wind it up again."""
    with connect(port) as opened:
        began = time.monotonic()
        with suppress(ConnectionError):
            for byte in GET[:-2] * 10:
                opened.sendall(bytes([byte]))
                time.sleep(0.1)
                if time.monotonic() - began > PATIENCE:
                    break
        assert time.monotonic() - began < PATIENCE


def test_a_connection_on_which_nothing_comes_is_closed_without_a_word(port):
    with connect(port) as opened:
        assert answer(opened)[0] == 0


def test_a_kept_connection_is_closed_as_well_when_blank_lines_come(port):
    """A blank line between requests is allowed, and stopped uvicorn's own clock for good."""
    with connect(port, GET.replace(b"Connection: close\r\n", b"")) as opened:
        assert opened.recv(65_536).startswith(b"HTTP/1.1 200")
        opened.sendall(b"\r\n")
        opened.settimeout(PATIENCE)
        assert b"HTTP/1.1 200" not in opened.recv(65_536)


@pytest.mark.parametrize("size", [100_000, 250_000, 3_000_000])
def test_the_end_of_a_large_body_is_no_header(port, size):
    """It came in one piece of more bytes than a header may have, and was counted as the header of a next request."""
    head = b"POST / HTTP/1.1\r\nHost: desk\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % size
    for _ in range(5):
        with connect(port, head) as opened:
            opened.sendall(b"a" * size)
            assert answer(opened)[0] == 200


def test_a_half_sent_body_is_closed_with_408(port):
    head = b"POST /api/v1/x HTTP/1.1\r\nHost: desk\r\nContent-Length: 100000\r\n\r\nabc"
    with connect(port, head) as opened:
        status, headers, _ = answer(opened)
    assert (status, headers["content-type"]) == (408, "application/problem+json")


def test_a_body_that_comes_fast_enough_may_take_long(port):
    head = b"POST / HTTP/1.1\r\nHost: desk\r\nConnection: close\r\nContent-Length: 10000\r\n\r\n"
    with connect(port, head) as opened:
        for _ in range(10):
            opened.sendall(b"a" * 1_000)
            time.sleep(0.15)
        assert answer(opened)[0] == 200


def test_requests_behind_each_other_are_all_answered(port):
    kept = GET.replace(b"Connection: close\r\n", b"")
    with connect(port, kept + kept + GET) as opened:
        assert answer(opened)[2].count(b"HTTP/1.1 200") == 2


def test_half_sent_requests_give_way_to_whole_ones():
    """More connections than one address may have waiting: the oldest go, the newcomer is served."""
    with served(ECHO, WAITING_EACH=20, GRACE_SECONDS=0.3, HEADER_SECONDS=600.0) as port:
        half: list[socket.socket] = [connect(port, b"GET / HTTP/1.1\r\n") for _ in range(60)]
        time.sleep(0.5)
        for _ in range(60):
            with connect(port, GET) as opened:
                assert answer(opened)[0] == 200
        assert [answer(opened)[0] for opened in half[:20]] == [408] * 20
        for opened in half:
            opened.close()


def test_many_that_connect_in_the_same_moment_are_all_served():
    with served(ECHO, WAITING_EACH=20) as port:
        burst = [connect(port) for _ in range(200)]
        for opened in burst:
            opened.sendall(GET)
        assert [answer(opened)[0] for opened in burst] == [200] * 200
        for opened in burst:
            opened.close()


def test_connections_of_one_address_have_an_end():
    with served(ECHO, CONNECTIONS_EACH=5, HEADER_SECONDS=30.0) as port:
        head = b"POST /api/v1/x HTTP/1.1\r\nHost: desk\r\nContent-Length: 9\r\n\r\n"
        bodies = [connect(port, head) for _ in range(5)]
        time.sleep(0.5)  # until their headers are read: none of them waits for a request any more
        with connect(port, GET) as opened:
            status, headers, _ = answer(opened)
        assert (status, headers["retry-after"]) == (429, "5")
        for opened in bodies:
            opened.sendall(b"123456789")
            assert opened.recv(65_536).startswith(b"HTTP/1.1 200")
            opened.close()
        time.sleep(0.2)
        with connect(port, GET) as opened:
            assert answer(opened)[0] == 200


def test_a_client_that_does_not_read_its_answer_is_cut_off():
    with served(ECHO, WRITE_SECONDS=0.5) as port:
        length = 20_000_000
        head = b"POST / HTTP/1.1\r\nHost: desk\r\nContent-Length: %d\r\n\r\n" % length
        with connect(port, head + b"a" * length) as opened:
            time.sleep(3)
            assert len(answer(opened)[2]) < length
