"""A desk on loopback that keeps what it is sent in a list, and can be made to fail in each way a real one may."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
Fault = Callable[[str, Json], tuple[int, bytes] | None]


class FakeDesk:
    """``fault`` may answer in place of the desk; ``after`` also, when the desk has taken what was sent."""

    def __init__(self) -> None:
        self.sessions: dict[str, str] = {}
        self.log: dict[str, dict[str, Json]] = {}
        """External id of a session -> client id -> event, in the order in which they came."""
        self.requests: list[tuple[str, Json]] = []
        self.fault: Fault = lambda path, body: None
        self.after: Fault = self.fault
        self.lock = threading.Lock()

    def events(self, session: str) -> list[Json]:
        with self.lock:
            return list(self.log.get(session, {}).values())

    def texts(self, session: str) -> list[str]:
        return [event["text"] for event in self.events(session)]

    def answer(self, path: str, body: Json) -> tuple[int, bytes]:
        with self.lock:
            self.requests.append((path, body))
            return self.fault(path, body) or self._taken(path, body)

    def _taken(self, path: str, body: Json) -> tuple[int, bytes]:
        if path == "/api/v1/sessions":
            id_ = self.sessions.setdefault(body["external_id"], f"id-{len(self.sessions)}")
            said: Json = {"id": id_}
        else:
            name = next((name for name, id_ in self.sessions.items() if id_ == path.split("/")[-2]), None)
            if name is None:
                return problem(404, "there is no such session")
            log = self.log.setdefault(name, {})
            new = {event["client_id"]: event for event in body["events"] if event["client_id"] not in log}
            log |= new
            said = {"accepted": len(new), "duplicates": len(body["events"]) - len(new)}
        return self.after(path, body) or (200, json.dumps(said).encode())


def problem(status: int, detail: str) -> tuple[int, bytes]:
    return status, json.dumps({"type": "about:blank", "status": status, "detail": detail}).encode()


@contextmanager
def serving(desk: FakeDesk, port: int = 0) -> Iterator[str]:
    """The address of a desk; nobody listens there afterwards."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, said = desk.answer(self.path, body)
            if status:
                self.send_response(status)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

        def log_message(self, *parts: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
