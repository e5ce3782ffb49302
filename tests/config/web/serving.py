"""A server of one test on a real socket: uvicorn with our protocol, in a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.places import ROOT

PATIENCE = 60


@contextmanager
def served(application: str, **settings: float) -> Iterator[int]:
    """The port of a server; ``settings`` are numbers of ``config.web.protocol`` to test with."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code = (
        f"from config.web import protocol; vars(protocol).update({settings!r}); import uvicorn;"
        f"uvicorn.run({application!r}, port={port}, http=protocol.LimitedProtocol, loop='asyncio', ws='none',"
        "lifespan='off', proxy_headers=False, log_level='warning')"
    )
    server = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=os.environ)
    try:
        wait_for(port)
        yield port
    finally:
        server.terminate()
        server.wait()


def wait_for(port: int) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with suppress(OSError), connect(port, b"GET / HTTP/1.1\r\nHost: desk\r\nConnection: close\r\n\r\n") as probe:
            assert answer(probe)[0]
            time.sleep(0.1)  # it is no longer counted among the connections
            return
        time.sleep(0.05)
    raise AssertionError("the server does not listen")


def connect(port: int, sent: bytes = b"") -> socket.socket:
    """A connection on which something was sent."""
    opened = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    opened.sendall(sent)
    return opened


def answer(opened: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of what comes until the server closes; status 0 when nothing does."""
    received = b""
    with suppress(ConnectionResetError):
        while piece := opened.recv(65_536):
            received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    return int(lines[0].split()[1]) if lines[0] else 0, headers, body
