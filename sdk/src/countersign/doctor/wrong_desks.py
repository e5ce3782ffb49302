"""What may stand where the desk should be, for one call: each address here must lead to a no."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from ..canonical import digest
from .loopback import serving

OTHER = {"command": "something else"}
APPROVAL, SESSION = "00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002"


@contextmanager
def stopped() -> Iterator[str]:
    """A port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    yield f"http://127.0.0.1:{port}"


@contextmanager
def slow() -> Iterator[str]:
    """A server that takes the question and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@contextmanager
def garbage() -> Iterator[str]:
    """A server that answers with a page."""
    with _server(lambda question: (b"<html>It works!</html>", "text/html")) as url:
        yield url


@contextmanager
def mistaken() -> Iterator[str]:
    """A desk that approves another call than it was asked about."""
    with _server(lambda question: (json.dumps(approval_of(question, OTHER)).encode(), "application/json")) as url:
        yield url


@contextmanager
def approving() -> Iterator[str]:
    """A desk that approves what it is asked: else a hook that always refuses would look like a gate."""
    answer = lambda question: (json.dumps(approval_of(question)).encode(), "application/json")  # noqa: E731
    with _server(answer) as url:
        yield url


WRONG: dict[str, Callable[[], Any]] = {"stopped": stopped, "slow": slow, "garbage": garbage, "mistaken": mistaken}


def approval_of(question: dict[str, Any], arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    """A question, approved as the desk would, or with other arguments."""
    tool = {"server": None} | question["tool"]
    if arguments is not None:
        tool["arguments"] = arguments
    named = digest(SESSION, APPROVAL, tool["name"], tool["server"], tool["arguments"])
    decision = {"by": "doctor", "by_kind": "system", "reason": "", "arguments": None, "digest": named}
    return {
        "id": APPROVAL, "session_id": SESSION, "client_id": question["client_id"], "tool": tool, "digest": named,
        "status": "approved", "rule": None, "decision": decision, "version": 2,
    }  # fmt: skip


@contextmanager
def _server(answer: Callable[[dict[str, Any]], tuple[bytes, str]]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            """Nobody reads it."""

        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["content-length"])))
            body, media_type = answer(question)
            self.send_response(201)
            self.send_header("content-type", media_type)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serving(Handler) as url:
        yield url
