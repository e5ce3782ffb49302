"""Things that may stand where a desk should be, on loopback: each answers every request in a wrong way of its own."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from countersign import canonical

Json = dict[str, Any]
APPROVAL, SESSION, OTHER = ("0199a5c0-0000-7000-8000-00000000000" + end for end in "123")


@contextmanager
def answering(reply: Callable[[bytes], bytes | None], *, pace: float = 0.0) -> Iterator[str]:
    """The address of a server that answers with the bytes that ``reply`` makes of a request; None: with nothing, ever.

    ``pace``: seconds before each byte.
    """
    listening = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection:
            try:
                request = _request(connection)
                said = reply(request) if request else b""
                if said is None:
                    over.wait(30)
                elif pace:
                    for at in range(len(said)):
                        if over.wait(pace):
                            return
                        connection.sendall(said[at : at + 1])
                else:
                    connection.sendall(said)
            except OSError:
                return  # the client went away, which is what it should do

    def accept() -> None:
        while not over.is_set():
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        over.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


@contextmanager
def nobody() -> Iterator[str]:
    """An address at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    yield f"http://127.0.0.1:{port}"


@contextmanager
def nowhere() -> Iterator[str]:
    """An address that packets to do not come back from (TEST-NET-1, RFC 5737)."""
    yield "http://192.0.2.1:9"


def _request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return data
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def http(body: bytes, status: str = "200 OK", *more: str) -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Content-Type: application/json", *more]
    return "\r\n".join([*head, "", ""]).encode() + body


def lying(change: Callable[[Json], Any]) -> Callable[[bytes], bytes]:
    """A desk that approves what it is asked, but for what ``change`` does to its answer."""

    def reply(request: bytes) -> bytes:
        head, _, body = request.partition(b"\r\n\r\n")
        asked = json.loads(body)
        if "tool" not in asked:  # what was done, and not what may be
            return http(b"{}", "200 OK" if b"/execution " in head else "404 Not Found")
        said = approved(asked)
        changed = change(said)
        return http(json.dumps(said if changed is None else changed).encode())

    return reply


def approved(asked: Json) -> Json:
    """The question, approved as it should be."""
    tool = {"server": None} | asked["tool"]
    digest = canonical.digest(SESSION, APPROVAL, tool["name"], tool["server"], tool["arguments"])
    decision = {
        "verdict": "approve",
        "by": "Rosa",
        "by_kind": "member",
        "reason": "",
        "arguments": None,
        "digest": digest,
    }
    return {
        "id": APPROVAL, "session_id": SESSION, "client_id": asked["client_id"], "tool": tool, "digest": digest,
        "status": "approved", "rule": None, "decision": decision, "version": 2,
    }  # fmt: skip


def _set(*path: str, to: Any) -> Callable[[Json], None]:
    def change(said: Json) -> None:
        *above, last = path
        for name in above:
            said = said[name]
        said[last] = to

    return change


def _unset(*path: str) -> Callable[[Json], None]:
    def change(said: Json) -> None:
        *above, last = path
        for name in above:
            said = said[name]
        del said[last]

    return change


def _edited(arguments: Any, digest: str | None) -> Callable[[Json], None]:
    def change(said: Json) -> None:
        said["status"] = "approved_edited"
        said["decision"] |= {"arguments": arguments, "digest": digest or said["digest"]}

    return change


LIES: dict[str, Callable[[Json], Any]] = {
    "another session": _set("session_id", to=OTHER),
    "another id": _set("id", to=OTHER),
    "no id": _unset("id"),
    "another call": _set("client_id", to="toolu_other"),
    "no call": _unset("client_id"),
    "another tool": _set("tool", "name", to="Read"),
    "a server that was not asked about": _set("tool", "server", to="shop"),
    "other arguments": _set("tool", "arguments", to={"command": "rm -rf /"}),
    "more arguments": _set("tool", "arguments", "more", to=True),
    "arguments that are no object": _set("tool", "arguments", to="touch made"),
    "no digest of what may be executed": _unset("decision", "digest"),
    "no digest": _unset("digest"),
    "the digest of something else to execute": _set("decision", "digest", to="0" * 64),
    "a digest in capitals": lambda said: _set("decision", "digest", to=said["digest"].upper())(said),
    "edited, without arguments": _edited(None, None),
    "edited, with the digest of what was asked": _edited({"command": "touch other"}, None),
    "edited into a text": _edited("touch other", None),
    "approved, with arguments on the side": _set("decision", "arguments", to={"command": "touch other"}),
    "no decision": _set("decision", to=None),
    "a decision of one word": _set("decision", to="approve"),
    "an unknown status": _set("status", to="yes"),
    "a status that is true": _set("status", to=True),
    "no status": _unset("status"),
    "denied": _set("status", to="denied"),
    "a list": lambda said: [said],
    "true": lambda said: True,
    "allow": lambda said: "allow",
}
"""What a desk may get wrong, each of which has to be read as no."""

GARBAGE: dict[str, Callable[[bytes], bytes]] = {
    "no HTTP": lambda request: b"\x00\xff approve \r\n\r\n",
    "a page": lambda request: http(b"<html>Welcome to nginx</html>"),
    "nothing": lambda request: b"",
    "an empty answer": lambda request: http(b""),
    "half an answer": lambda request: lying(lambda said: None)(request)[:-9],
    "an answer and more": lambda request: lying(lambda said: None)(request) + b"{}",
    "broken JSON": lambda request: http(b'{"status": "approved", '),
    "deep JSON": lambda request: http(b"[" * 100_000),
    "NaN": lambda request: http(b'{"status": NaN}'),
    "a redirect": lambda request: http(b"", "302 Found", "Location: http://127.0.0.1:1/"),
    "broken chunks": lambda request: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello",
    "two lengths": lambda request: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "no rights": lambda request: http(b'{"detail": "the key is revoked"}', "401 Unauthorized"),
    "not found": lambda request: http(b"Not found", "404 Not Found"),
    "a failure": lambda request: http(b"oops", "500 Internal Server Error"),
    "unavailable": lambda request: http(b"<h1>Bad gateway</h1>", "502 Bad Gateway"),
    "approved, but as an error": lambda request: lying(lambda said: None)(request).replace(b"200 OK", b"418 Teapot"),
}
"""What may answer in place of a desk."""


def pause(seconds: float) -> Callable[[bytes], bytes]:
    """A desk that approves, but later."""

    def reply(request: bytes) -> bytes:
        time.sleep(seconds)
        return lying(lambda said: None)(request)

    return reply


WRONG_DESKS: dict[str, Callable[[], AbstractContextManager[str]]] = {
    "stopped": nobody,
    "silent": lambda: answering(lambda request: None),
    "garbage": lambda: answering(GARBAGE["a page"]),
    "other arguments": lambda: answering(lying(LIES["other arguments"])),
}
"""One of each kind, for what takes long to try."""
