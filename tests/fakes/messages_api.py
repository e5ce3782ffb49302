"""A Messages API on loopback: strict, scripted, and able to misbehave. For the real SDK to talk to.

It streams as the real one does, keeps a prompt cache by the rules of the real one, and refuses what that refuses (see
``messages_api_rules``). What it cannot do: answers that are not streamed, server tools, files, batches.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .managed_agents_errors import ApiError, new_id
from .messages_api_rules import Cache, check, check_size

KEY = "sk-ant-test-0002"
Json = dict[str, Any]
PIECE = 8
"""Characters of a delta."""


@dataclass
class Said:
    """A response. ``breaks_at``: after so many frames the connection is cut, in the middle of the next one.

    ``hangs_at``: after so many frames nothing comes any more. ``error``: an error event in place of the end.
    """

    blocks: list[Json]
    stop: str = "end_turn"
    details: Json | None = None
    breaks_at: int | None = None
    hangs_at: int | None = None
    ends_at: int | None = None
    """After so many frames the response ends as if it were over."""
    error: tuple[str, str] | None = None
    id: str = ""


@dataclass
class Refusal:
    """An error in place of a response."""

    status: int
    kind: str
    message: str
    headers: dict[str, str] = field(default_factory=dict)


def text(said: str) -> Json:
    return {"type": "text", "text": said}


def thinking(said: str, signature: str = "sig-1") -> Json:
    return {"type": "thinking", "thinking": said, "signature": signature}


def call(name: str, id: str = "", **given: Any) -> Json:
    return {"type": "tool_use", "id": id or new_id("toolu"), "name": name, "input": given}


class FakeMessagesApi:
    """The server. Tests queue responses with ``says`` and ``refuses`` and read ``requests``."""

    def __init__(self) -> None:
        self.script: deque[Said | Refusal] = deque()
        self.requests: list[Json] = []
        """Bodies of the requests that were taken."""
        self.refused: list[str] = []
        """What was wrong with the others."""
        self.cache = Cache()
        self.signed: dict[str, str] = {}
        """Signature -> thinking of the responses so far."""
        self.paused = False
        self.window = 0
        """Tokens that the model reads at once; 0: as many as there are."""
        self.pace = 0.0
        """Seconds before each frame."""
        self.left = threading.Event()
        """Set when a client goes away in the middle of a response."""
        self.base_url = ""

    def says(self, *blocks: Json, stop: str = "", **more: Any) -> None:
        """The next response; ``stop`` follows from whether tools are called, unless told."""
        called = any(block["type"] == "tool_use" for block in blocks)
        self.script.append(Said(list(blocks), stop or ("tool_use" if called else "end_turn"), **more))

    def refuses(self, status: int, kind: str, message: str, **headers: str) -> None:
        """The next request gets this error."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.script.append(Refusal(status, kind, message, named))

    @contextmanager
    def serving(self) -> Iterator[FakeMessagesApi]:
        api = self

        class Handler(_Handler):
            server_of = api

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self.left.set()
            server.shutdown()
            thread.join(60)
            server.server_close()

    def take(self, body: Any) -> tuple[Said, Json]:
        """The response to a request, and its usage. Raises ``ApiError``."""
        try:
            check(body, self.signed, paused=self.paused)
            check_size(body, self.window)
        except ApiError as error:
            self.refused.append(error.message)
            raise
        self.requests.append(body)
        if not self.script:
            raise ApiError(500, "api_error", "the test wrote no script for this request")
        said = self.script.popleft()
        if isinstance(said, Refusal):
            error = ApiError(said.status, said.kind, said.message)
            error.headers = said.headers
            raise error
        self.paused = said.stop == "pause_turn"
        for block in said.blocks:
            if block["type"] == "thinking":
                self.signed[block["signature"]] = block["thinking"]
        return said, self.cache.used(body)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_of: FakeMessagesApi

    def log_message(self, *args: Any) -> None:
        """Tests are quiet."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            said, used = self.server_of.take(self._admitted(raw))
        except ApiError as error:
            self._refuse(error)
            return
        self.send_response(200)
        for name, value in (("content-type", "text/event-stream"), ("transfer-encoding", "chunked")):
            self.send_header(name, value)
        self.send_header("request-id", new_id("req"))
        self.end_headers()
        try:
            self._stream(said, used)
        except OSError:
            self.server_of.left.set()
            self.close_connection = True

    def _admitted(self, raw: bytes) -> Any:
        given = self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ")
        if self.path != "/v1/messages":
            raise ApiError(404, "not_found_error", "Not found")
        if given != KEY:
            raise ApiError(401, "authentication_error", "invalid x-api-key")
        if not self.headers.get("anthropic-version"):
            raise ApiError(400, "invalid_request_error", "anthropic-version: header is required")
        if len(raw) > 32_000_000:
            raise ApiError(413, "request_too_large", "Request exceeds the maximum size")
        try:
            return json.loads(raw)
        except ValueError:
            raise ApiError(400, "invalid_request_error", "The request body is not valid JSON") from None

    def _refuse(self, error: ApiError) -> None:
        id_ = new_id("req")
        error_body = {"type": error.kind, "message": error.message}
        body = json.dumps({"type": "error", "error": error_body, "request_id": id_}).encode()
        self.send_response(error.status)
        for name, value in {"content-type": "application/json", "request-id": id_, **error.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, said: Said, used: Json) -> None:
        for number, frame in enumerate(frames(said, used)):
            written = f"event: {frame['type']}\ndata: {json.dumps(frame)}\n\n".encode()
            if number == said.breaks_at:
                self._chunk(written[: len(written) // 2])
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            if number == said.hangs_at:
                self._hang()
                return
            if number == said.ends_at:
                break
            time.sleep(self.server_of.pace)
            self._chunk(written)
        self._chunk(b"")

    def _hang(self) -> None:
        """Nothing but pings, until the client goes away: a closed socket shows when something is written to it."""
        while not self.server_of.left.is_set():
            time.sleep(0.05)
            self._chunk(b'event: ping\ndata: {"type": "ping"}\n\n')

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


def frames(said: Said, used: Json) -> Iterator[Json]:
    """The events of a response."""
    empty = {"stop_reason": None, "stop_sequence": None, "stop_details": None}
    message = {"id": said.id or new_id("msg"), "type": "message", "role": "assistant", "content": []} | empty
    started = message | {"model": "claude-opus-5-5", "usage": used | {"output_tokens": 1}}
    yield {"type": "message_start", "message": started}
    for index, block in enumerate(said.blocks):
        yield from _block(index, block)
        if not index:
            yield {"type": "ping"}
    if said.error:
        yield {"type": "error", "error": {"type": said.error[0], "message": said.error[1]}}
        return
    ended = {"stop_reason": said.stop, "stop_sequence": None, "stop_details": said.details}
    output = {"output_tokens": len(json.dumps(said.blocks)) // 4}
    yield {"type": "message_delta", "delta": ended, "usage": output}
    yield {"type": "message_stop"}


def _block(index: int, block: Json) -> Iterator[Json]:
    empty, deltas = {
        "text": (("text", ""), ("text_delta", "text", block.get("text", ""))),
        "thinking": (("thinking", ""), ("thinking_delta", "thinking", block.get("thinking", ""))),
        "tool_use": (("input", {}), ("input_json_delta", "partial_json", json.dumps(block.get("input", {})))),
    }.get(block["type"], (None, None))
    begun = block | dict([empty]) if empty else block
    yield {"type": "content_block_start", "index": index, "content_block": begun | _unsigned(block)}
    if deltas:
        kind, name, whole = deltas
        for start in range(0, len(whole), PIECE):
            delta = {"type": kind, name: whole[start : start + PIECE]}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
    if "signature" in block:
        delta = {"type": "signature_delta", "signature": block["signature"]}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _unsigned(block: Json) -> Json:
    return {"signature": ""} if "signature" in block else {}
