"""An MCP server at an address: Streamable HTTP, of 2026-07-28 and of the versions before it.

Every message is a POST of its own; nothing is sent twice, so that no call runs twice. What is different before
2026-07-28: a session that ``initialize`` opens, a stream for what the server says by itself, and a stream that broke
off can be asked for its rest.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from . import messages
from .messages import Json
from .tool_list import header

CONNECTING, IDLE = 15.0, 3600.0
"""Seconds for a connection, and for a server that says nothing: a call may take its time."""
TRIES, PAUSE = 3, 1.0
"""How often a stream that broke off is asked for again, and the seconds before it, unless the server says others."""
LONGEST = 64 << 20
"""Bytes of one message."""
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri", "tasks/get": "taskId",
         "tasks/update": "taskId", "tasks/cancel": "taskId"}  # fmt: skip
"""Method -> the parameter that the header ``Mcp-Name`` repeats."""


class RemoteServer:
    """``headers``: sent with each request. Raises ``ValueError`` for an address that is none."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.fragment:
            raise ValueError(f'"{url}" is no address of an MCP server: write it as https://HOST/PATH')
        self.name, self.place = parts.hostname, url
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._headers = {"Accept": "application/json, text/event-stream", "User-Agent": "countersign"} | headers
        self._deliver: Callable[[bytes], None] = lambda line: None
        self._session = self._version = ""
        self._in_flight: dict[str, _Exchange] = {}
        self._changing, self._over = threading.Lock(), threading.Event()

    def attach(self, deliver: Callable[[bytes], None]) -> None:
        """Where what the server says goes to, a line each."""
        self._deliver = deliver

    def run(self) -> int:
        """Until ``close``; the exit status."""
        self._over.wait()
        return 0

    def send(self, message: Json, headers: dict[str, str] | None = None) -> None:
        """Requests are answered later, through ``deliver``, also where nobody could be reached."""
        if "method" in message and "id" in message:
            exchange = _Exchange(self, message, headers or {})
            with self._changing:
                self._in_flight[messages.key_of(message["id"])] = exchange
            threading.Thread(target=self._request, args=(exchange,), daemon=True).start()
        elif not self._hangs_up(message):
            self._post(message)
            if message.get("method") == "notifications/initialized":
                threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        """Hang up: what is under way is not waited for."""
        self._over.set()
        with self._changing:
            left = list(self._in_flight.values())
        for exchange in left:
            exchange.hang_up()
        if self._session:
            self._quietly("DELETE", b"")

    def _request(self, exchange: _Exchange) -> None:
        id_ = exchange.message["id"]
        try:
            for message in exchange.received():
                if exchange.message["method"] == "initialize" and messages.is_answer(message):
                    self._note_session(exchange, message)
                self._deliver(messages.line_of(message))
        except (OSError, http.client.HTTPException, ValueError) as error:
            if not exchange.is_over:
                said = f"the MCP server at {self._host} did not answer ({type(error).__name__}: {error})"
                self._deliver(messages.line_of(messages.fault(id_, messages.INTERNAL_ERROR, said)))
        finally:
            exchange.hang_up()
            with self._changing:
                if self._in_flight.get(messages.key_of(id_)) is exchange:
                    del self._in_flight[messages.key_of(id_)]

    def _note_session(self, exchange: _Exchange, message: Json) -> None:
        self._session = exchange.session
        version = messages.result_of(message).get("protocolVersion")
        self._version = version if isinstance(version, str) else ""

    def _hangs_up(self, message: Json) -> bool:
        """In 2026-07-28 a request is taken back by closing its stream; the notification is of a connection."""
        if message.get("method") != "notifications/cancelled":
            return False
        with self._changing:
            exchange = self._in_flight.get(messages.key_of(messages.params_of(message).get("requestId")))
        if exchange is None or not messages.is_modern(exchange.message):
            return not self._version
        exchange.hang_up()
        return True

    def _post(self, message: Json) -> None:
        """A notification, or the answer to a request of the server: nothing comes back."""
        self._quietly("POST", messages.line_of(message))

    def _quietly(self, method: str, body: bytes) -> None:
        connection = self.connection()
        try:
            connection.connect()
            connection.request(method, self._path, body or None, self.headers_for({}))
            connection.getresponse().read(LONGEST)
        except (OSError, http.client.HTTPException, ValueError) as error:
            print(f"countersign: the MCP server at {self._host} was not told: {error}", file=sys.stderr)
        finally:
            connection.close()

    def _listen(self) -> None:
        """What the server says by itself, before 2026-07-28; many offer no such stream."""
        listening = _Exchange(self, {"method": "GET"}, {})
        try:
            for message in listening.resumed():
                if self._over.is_set():
                    return
                self._deliver(messages.line_of(message))
        except (OSError, http.client.HTTPException, ValueError) as error:
            print(f"countersign: the MCP server at {self._host} tells nothing more by itself: {error}", file=sys.stderr)

    def headers_for(self, message: Json) -> dict[str, str]:
        """Of a request with this message; of one in the session, where it says no version."""
        version = messages.version_of(message) or ("" if message.get("method") == "initialize" else self._version)
        found = self._headers | {"Content-Type": "application/json"}
        found |= {"MCP-Protocol-Version": version} if version else {}
        found |= {"Mcp-Session-Id": self._session} if self._session else {}
        if messages.is_modern(message):
            method = str(message["method"])
            name = messages.params_of(message).get(NAMED.get(method, ""))
            found |= {"Mcp-Method": header(method)} | ({"Mcp-Name": header(name)} if isinstance(name, str) else {})
        return found

    def connection(self) -> http.client.HTTPConnection:
        if self._secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=CONNECTING, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=CONNECTING)

    @property
    def path(self) -> str:
        return self._path


class _Exchange:
    """One request and what comes back."""

    def __init__(self, server: RemoteServer, message: Json, headers: dict[str, str]) -> None:
        self.message, self._server, self._more = message, server, headers
        self.session, self.is_over = "", False
        self._last_id, self._pause = "", PAUSE
        self._connection: http.client.HTTPConnection | None = None
        self._over = threading.Event()

    def received(self) -> Iterator[Json]:
        """What the server says until it has answered. Raises ``OSError``, ``HTTPException`` or ``ValueError``."""
        response = self._sent("POST", messages.line_of(self.message))
        self.session = response.headers.get("Mcp-Session-Id", "")
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if response.status == 200 and kind == "text/event-stream":
            for message in self._until_answered(self._events(response)):
                yield message
                if messages.is_answer(message):
                    return
            if not self._last_id:
                raise ValueError("its answer broke off")
            yield from self.resumed()
        else:
            yield self._whole(response, kind)

    def resumed(self) -> Iterator[Json]:
        """The rest of a stream, or the stream of what the server says by itself; again where it breaks off."""
        tries = 0
        while tries < TRIES and not self._over.wait(self._pause if tries or self._last_id else 0):
            tries += 1
            response = self._sent("GET", None, {"Last-Event-ID": self._last_id} if self._last_id else {})
            if response.status != 200:
                break
            for message in self._until_answered(self._events(response)):
                tries = 0
                yield message
                if messages.is_answer(message):
                    return
        if "id" in self.message and not self.is_over:
            raise ValueError("its answer broke off")

    def hang_up(self) -> None:
        """Ends what is read, in whatever thread."""
        self.is_over = True
        self._over.set()
        sock = self._connection.sock if self._connection else None
        if sock:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # the other side was faster

    def _sent(self, method: str, body: bytes | None, more: dict[str, str] | None = None) -> http.client.HTTPResponse:
        if self._connection:
            self._connection.close()
        self._connection = self._server.connection()
        self._connection.connect()
        self._connection.sock.settimeout(IDLE)
        if self.is_over:
            raise OSError("it was taken back")
        headers = self._server.headers_for(self.message) | self._more | (more or {})
        self._connection.request(method, self._server.path, body, headers)
        return self._connection.getresponse()

    def _whole(self, response: http.client.HTTPResponse, kind: str) -> Json:
        """The answer in one piece; what is none becomes an error that says what came."""
        if 300 <= response.status < 400:
            raise ValueError(
                f"it sends elsewhere, to {response.headers.get('Location', '')[:200]}: that is not followed"
            )
        if kind == "application/json":
            message = _message_in(response.read(LONGEST))
            if messages.is_answer(message):
                return message | {"id": self.message["id"]}
        raise ValueError(f"it answers {response.status} {response.reason}, as {kind or 'nothing'}")

    def _until_answered(self, events: Iterator[Json]) -> Iterator[Json]:
        for message in events:
            if messages.is_answer(message) and "id" in self.message:
                yield message | {"id": self.message["id"]}
                return
            yield message

    def _events(self, response: http.client.HTTPResponse) -> Iterator[Json]:
        """Server-sent events (HTML standard, 9.2) that hold messages."""
        data: list[bytes] = []
        size = 0
        while line := _line_of(response):
            name, _, value = line.rstrip(b"\r\n").partition(b":")
            value = value.removeprefix(b" ")
            if not line.strip():
                if any(data):
                    yield _message_in(b"\n".join(data))
                data, size = [], 0
            elif name == b"data":
                data.append(value)
                size += len(value)
            elif name == b"id":
                self._last_id = value.decode("latin-1")
            elif name == b"retry" and value.isdigit():
                self._pause = min(int(value) / 1000, 60.0)
            if size > LONGEST:
                raise ValueError("a message without an end")


def _line_of(response: http.client.HTTPResponse) -> bytes:
    """Empty at the end, also where the connection breaks: the rest may be asked for."""
    try:
        return response.readline(LONGEST)
    except (ConnectionError, http.client.IncompleteRead):
        return b""


def _message_in(data: bytes) -> Json:
    """Raises ``ValueError``."""
    try:
        return messages.read(data)
    except messages.Unreadable as fault:
        raise ValueError(f"it answers with what is no message: {fault}") from None
