"""One HTTP/1.1 exchange with the desk, whole or not at all, within one deadline.

Written on sockets, because the hook of a coding agent is started for every call and has 30 ms: ``http.client`` alone
takes 20 of them to import. It refuses what it does not know (redirects are an answer like any other).
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_HEAD, MAX_BODY = 64 << 10, 32 << 20
"""Bytes of an answer."""


class Unreachable(Exception):
    """No answer came: nobody listens, the connection broke, or the time was up. It may be tried again."""


class Garbled(Exception):
    """Something answered that is no desk, or not whole."""


class Address:
    """Where a desk is: ``http(s)://HOST[:PORT][/PREFIX]``. Raises ``ValueError`` with what is wrong."""

    def __init__(self, url: str) -> None:
        scheme, separator, rest = url.strip().partition("://")
        self.secure = scheme.lower() == "https"
        if not separator or scheme.lower() not in ("http", "https"):
            raise ValueError(f'"{url}" is no address of a desk: write it as http://HOST:PORT or https://HOST')
        place, _, prefix = rest.partition("/")
        if not place or set("@?#\\") & set(rest) or not rest.isascii() or not rest.isprintable() or " " in rest:
            raise ValueError(f'"{url}" is no address of a desk: only a host, a port and a path may be in it')
        self.place, self.prefix = place, f"/{prefix}".rstrip("/")
        host, colon, port = place.rpartition(":") if not place.endswith("]") else (place, "", "")
        if not colon:
            host, port = place, "443" if self.secure else "80"
        if not port.isdecimal() or not 0 < int(port) < 65536:
            raise ValueError(f'"{url}" is no address of a desk: "{port}" is no port')
        self.host, self.port = host.strip("[]"), int(port)


def exchange(
    desk: Address, method: str, path: str, body: bytes | None, headers: dict[str, str], timeout: float
) -> tuple[int, bytes]:
    """Status and body of the answer. Raises ``Unreachable`` or ``Garbled``."""
    until = time.monotonic() + timeout
    try:
        connection = _connect(desk, until)
        try:
            _left(connection, until)
            connection.sendall(_request(desk, method, path, body, headers))
            return _answer(connection, until)
        finally:
            connection.close()
    except OSError as error:  # TimeoutError, gaierror and ssl.SSLError are such
        raise Unreachable(f"{desk.place}: {error or type(error).__name__}") from None


def _connect(desk: Address, until: float) -> Any:
    if desk.secure:
        import socket
        import ssl

        plain = socket.create_connection((desk.host, desk.port), max(until - time.monotonic(), 0.001))
        try:
            return ssl.create_default_context().wrap_socket(plain, server_hostname=desk.host)
        except BaseException:
            plain.close()
            raise
    try:  # the module below ``socket``, without its enumerations: 4 ms less
        import _socket as sockets
    except ImportError:
        import socket as sockets  # type: ignore[no-redef, unused-ignore]
    refused: OSError = OSError("no address")
    for family, kind, protocol, _, place in sockets.getaddrinfo(desk.host, desk.port, 0, sockets.SOCK_STREAM):
        connection = sockets.socket(family, kind, protocol)
        try:
            _left(connection, until)
            connection.connect(place)
            return connection
        except OSError as error:
            connection.close()
            refused = error
    raise refused


def _left(connection: Any, until: float) -> None:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("no answer in time")
    connection.settimeout(left)


def _request(desk: Address, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> bytes:
    lines = [f"{method} {desk.prefix}{path} HTTP/1.1", f"Host: {desk.place}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    if any("\r" in line or "\n" in line for line in lines):
        raise Garbled("a line break in the address or the key")
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "strict") + (body or b"")


def _answer(connection: Any, until: float) -> tuple[int, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        more = _receive(connection, until)
        if not more:
            raise Unreachable("the connection was closed without an answer") if not data else Garbled("half an answer")
        data += more
        if len(data) > MAX_HEAD and b"\r\n\r\n" not in data:
            raise Garbled("an answer without an end of its head")
    head, _, rest = data.partition(b"\r\n\r\n")
    status, fields = _head(head)
    if 100 <= status < 200:
        raise Garbled(f"an answer that goes on after {status}")
    coding, length = fields.get("transfer-encoding"), fields.get("content-length")
    if coding is not None:
        if coding.lower() != "chunked":
            raise Garbled(f"an answer coded as {coding[:40]}")
        return status, _dechunked(_to_the_end(connection, until, rest))
    if length is None:
        return status, _to_the_end(connection, until, rest)
    if not length.isdecimal() or int(length) > MAX_BODY:
        raise Garbled(f"an answer of {length[:20]} bytes")
    return status, _exactly(connection, until, rest, int(length))


def _head(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    code = rest[:3]
    if version not in ("HTTP/1.0", "HTTP/1.1") or not (code.isascii() and code.isdecimal() and len(code) == 3):
        raise Garbled("an answer that is no HTTP")
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or (name.lower() in fields and name.lower() in ("content-length", "transfer-encoding")):
            raise Garbled("an answer whose head is broken")
        fields[name.lower()] = value.strip()
    return int(code), fields


def _exactly(connection: Any, until: float, rest: bytes, length: int) -> bytes:
    pieces, got = [rest], len(rest)
    while got < length:
        more = _receive(connection, until)
        if not more:
            raise Garbled(f"an answer that ends after {got} of {length} bytes")
        pieces.append(more)
        got += len(more)
    if got > length:
        raise Garbled("an answer that is longer than it says")
    return b"".join(pieces)


def _to_the_end(connection: Any, until: float, rest: bytes) -> bytes:
    pieces, got = [rest], len(rest)
    while more := _receive(connection, until):
        pieces.append(more)
        got += len(more)
        if got > MAX_BODY:
            raise Garbled("an answer without an end")
    return b"".join(pieces)


def _dechunked(data: bytes) -> bytes:
    """RFC 9112, 7.1; raises ``Garbled`` unless the last chunk is there."""
    pieces: list[bytes] = []
    at = 0
    while True:
        end = data.find(b"\r\n", at)
        size = data[at:end].split(b";")[0].strip() if end >= 0 else b""
        if not size or len(size) > 8 or set(size.lower()) - set(b"0123456789abcdef"):
            raise Garbled("an answer in broken chunks")
        start, stop = end + 2, end + 2 + int(size, 16)
        if stop == start:
            return b"".join(pieces)
        if data[stop : stop + 2] != b"\r\n":
            raise Garbled("an answer in broken chunks")
        pieces.append(data[start:stop])
        at = stop + 2


def _receive(connection: Any, until: float) -> bytes:
    _left(connection, until)
    got = connection.recv(1 << 16)
    return bytes(got)
