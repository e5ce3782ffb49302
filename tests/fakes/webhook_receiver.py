"""A receiver of webhooks on loopback: keeps what comes, answers as it is told."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Receiver:
    """``answers`` are used up from the front; then 200. ``delay`` is in seconds, ``retry_after`` a header of each."""

    port: int
    posts: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    delay: float = 0.0
    retry_after: str = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"


@contextmanager
def receiver() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            known.posts.append(({name.lower(): value for name, value in self.headers.items()}, body))
            time.sleep(known.delay)
            status = known.answers.pop(0) if known.answers else 200
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", "/elsewhere")
            if known.retry_after:
                self.send_header("Retry-After", known.retry_after)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    known = Receiver(server.server_address[1])
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield known
    finally:
        server.shutdown()
        server.server_close()
