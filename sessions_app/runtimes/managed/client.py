"""The Managed Agents API as this desk uses it: few calls, plain JSON in and out, errors by what can be done about them.

Over the ``anthropic`` SDK 2.10, whose own retries are off: a repeated ``POST .../events`` carries no idempotency key,
so who sends has to look whether the first one arrived. Answers are read as JSON and streams as frames, because the
SDK's objects make an event of a type it does not know a user message, and its streams drop a frame without ``event:``.
"""

from __future__ import annotations

import json
import queue
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import anthropic
import httpx2
import orjson

from sessions_app import retry_after

Json = dict[str, Any]
CONNECT_SECONDS, ANSWER_SECONDS = 5.0, 30.0
SILENCE_SECONDS = 60.0
"""A stream that brings nothing for so long, not even a ping, is dead."""
PREVIEWS: Any = ["agent.message"]
PAGE = 1000
_WAITING = re.compile(r"waiting on responses to events \[([^\]]*)\]")


class PortError(Exception):
    """The API did not do what was asked; the message is its own."""


class NotFound(PortError):
    """404: also a key without access to the beta, and what another workspace made."""


class AuthFailed(PortError):
    """401, 403."""


class Rejected(PortError):
    """Any other 4xx: the same request will be refused again."""


class Waiting(Rejected):
    """A message is not taken while the session waits for answers to ``event_ids``."""

    def __init__(self, message: str, event_ids: list[str]) -> None:
        super().__init__(message)
        self.event_ids = event_ids


class Conflict(Rejected):
    """409."""


class Unavailable(PortError):
    """408, 5xx, 529 or no connection: whether it took effect is not known. ``retry_after`` in seconds, if told."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RateLimited(Unavailable):
    """429: it took no effect."""


class Port:
    """One API key. ``before`` is called before each request: whoever waits here shall hold nothing that others need."""

    def __init__(self, api_key: str, base_url: str | None, before: Callable[[], None]) -> None:
        timeout = anthropic.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
        self._client = anthropic.Anthropic(api_key=api_key, base_url=base_url, max_retries=0, timeout=timeout)
        self._before = before

    def close(self) -> None:
        self._client.close()

    # --- definitions ---

    def create_agent(self, definition: Json) -> Json:
        return self._do(self._client.beta.agents.with_raw_response.create, **definition)

    def update_agent(self, agent_id: str, definition: Json) -> Json:
        """A new version; without ``version`` in it the last writer wins."""
        return self._do(self._client.beta.agents.with_raw_response.update, agent_id, **definition)

    def create_environment(self, name: str, config: Json) -> Json:
        """Raises ``Conflict`` when the name is taken."""
        return self._do(self._client.beta.environments.with_raw_response.create, name=name, config=config)

    def environments(self) -> Iterator[Json]:
        return self._pages(self._client.beta.environments.with_raw_response.list, limit=100)

    # --- sessions ---

    def create_session(self, **body: Any) -> Json:
        return self._do(self._client.beta.sessions.with_raw_response.create, **body)

    def session(self, session_id: str) -> Json:
        return self._do(self._client.beta.sessions.with_raw_response.retrieve, session_id)

    def sessions(self, agent_id: str) -> Iterator[Json]:
        """Sessions of an agent, the newest first."""
        return self._pages(self._client.beta.sessions.with_raw_response.list, agent_id=agent_id, limit=100)

    def archive(self, session_id: str) -> Json:
        """Raises ``Rejected`` while it runs."""
        return self._do(self._client.beta.sessions.with_raw_response.archive, session_id)

    def threads(self, session_id: str) -> Iterator[Json]:
        return self._pages(self._client.beta.sessions.threads.with_raw_response.list, session_id)

    # --- events ---

    def events(self, session_id: str, **filters: Any) -> Iterator[Json]:
        """Events in the order of ``processed_at``; filters as the SDK names them."""
        return self._pages(self._client.beta.sessions.events.with_raw_response.list, session_id, limit=PAGE, **filters)

    def thread_events(self, session_id: str, thread_id: str) -> Iterator[Json]:
        events = self._client.beta.sessions.threads.events.with_raw_response
        return self._pages(events.list, thread_id, session_id=session_id, limit=PAGE)

    def send(self, session_id: str, event: Json) -> Json:
        """Send an event; it comes back with its id. Not idempotent: after ``Unavailable`` list before sending again."""
        sent = self._do(self._client.beta.sessions.events.with_raw_response.send, session_id, events=[event])
        taken = next(iter(sent.get("data") or ()), None)
        if not isinstance(taken, dict) or not taken.get("id"):
            raise Unavailable("the answer does not name the event that was sent")
        return taken

    @contextmanager
    def stream(self, session_id: str) -> Iterator[Stream]:
        """Stream of events from now on; there is no replay, so list the earlier ones after this is open."""
        self._before()
        timeout = anthropic.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS, read=SILENCE_SECONDS)
        events = self._client.beta.sessions.events.with_streaming_response
        with _mapped(), events.stream(session_id, event_deltas=PREVIEWS, timeout=timeout) as response:
            reading = Stream(response.http_response)
            try:
                yield reading
            finally:
                reading.stop()

    # --- how ---

    def _do(self, call: Callable[..., Any], *args: Any, **body: Any) -> Json:
        self._before()
        with _mapped():
            return _object(call(*args, **body).http_response.content)

    def _pages(self, call: Callable[..., Any], *args: Any, **filters: Any) -> Iterator[Json]:
        while True:
            page = self._do(call, *args, **filters)
            yield from (row for row in page.get("data") or () if isinstance(row, dict))
            if not page.get("next_page"):
                return
            filters["page"] = page["next_page"]


class Stream:
    """Frames of a stream, read by a thread of its own, so that who waits for them can look at other things, too."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._stopped = threading.Event()
        self._frames: queue.SimpleQueue[Json | Unavailable] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._read, name="managed-stream", daemon=True)
        self._thread.start()

    def next(self, seconds: float) -> Json | None:
        """The next event, or None after so many seconds. Raises ``Unavailable`` when the stream has ended."""
        try:
            frame = self._frames.get(timeout=seconds) if seconds else self._frames.get_nowait()
        except queue.Empty:
            return None
        if isinstance(frame, Unavailable):
            raise frame
        return frame

    def stop(self) -> None:
        """End the connection under the reader: closing the response would wait for the next ping."""
        self._stopped.set()
        connection = self._response.extensions.get("network_stream")
        with suppress(OSError, AttributeError):
            connection.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        self._thread.join(timeout=2)

    def _read(self) -> None:
        try:
            for frame in anthropic.Stream.raw_events(self._response):
                if self._stopped.is_set():
                    return
                if frame.event == "error":
                    raise Unavailable(f"the stream says: {frame.data[:500]}")
                if frame.event != "ping" and frame.data and (event := _object(frame.data)).get("type") != "ping":
                    self._frames.put(event)
            self._frames.put(Unavailable("the stream ended"))
        except Unavailable as broken:
            self._frames.put(broken)
        except (httpx2.HTTPError, httpx2.StreamError, OSError, UnicodeDecodeError) as error:
            self._frames.put(Unavailable(f"the stream broke: {error}"))


def _object(raw: bytes | str) -> Json:
    """JSON of an answer. Raises ``Unavailable`` for what is none: a proxy's page, half a frame."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        value = _lenient(raw)
    if not isinstance(value, dict):
        raise Unavailable("the answer is not a JSON object")
    return value


def _lenient(raw: bytes | str) -> Any:
    """JSON with halves of surrogates in it, which orjson refuses; the log keeps what it can of them."""
    try:
        return json.loads(raw, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise Unavailable(f"the answer is not JSON: {error}") from None


@contextmanager
def _mapped() -> Iterator[None]:
    """Errors of the SDK as those of this port. Only words of the API go on, never what was sent: it has the key."""
    try:
        yield
    except anthropic.APIStatusError as error:
        raise _of_status(error) from None
    except (anthropic.APIError, httpx2.HTTPError) as error:
        raise Unavailable(f"no answer: {type(error).__name__}") from None


def _of_status(error: anthropic.APIStatusError) -> PortError:
    status = error.status_code
    message = f"{status} {error.api_message or error.type or 'without a reason'}"
    if status in (401, 403):
        return AuthFailed(message)
    if status == 404:
        return NotFound(message)
    if status == 409:
        return Conflict(message)
    if status == 429:
        return RateLimited(message, _seconds(error))
    if status == 408 or status >= 500:
        return Unavailable(message, _seconds(error))
    if waits := _WAITING.search(message):
        return Waiting(message, [id_.strip() for id_ in waits[1].split(",") if id_.strip()])
    return Rejected(message)


def _seconds(error: anthropic.APIStatusError) -> float | None:
    return retry_after.seconds(error.response.headers.get("retry-after", ""))
