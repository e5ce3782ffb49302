"""One streamed request to the Messages API, by the real SDK, while this thread shows the text and watches the person.

The stream is read in the event loop of the turn, which is how it can be closed in the middle of a silence. Retries of
the SDK are off: those that wait are waited for in sight of everybody.
"""

from __future__ import annotations

import queue
from collections.abc import AsyncIterator
from concurrent.futures import wait
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import anthropic
import httpx2
from anthropic.types import Message
from anyio.from_thread import BlockingPortal
from django.conf import settings
from django.db import connections

from sessions_app import retry_after
from sessions_app.services.log.sanitise import text

from .. import Failed
from ..provider import key_of
from ..run import TurnRun

TIMEOUT = httpx2.Timeout(60.0, connect=10.0, read=180.0)
"""Seconds. A stream that brings nothing for the last of them, not even a ping, is dead."""
SHOW_SECONDS = 0.06
"""Between two pieces of text that are shown: each costs a statement and a notice."""
CLOSE_SECONDS = 5.0
FIRST_WAIT, LONGEST_WAIT = 2.0, 60.0
TOO_LONG = ("prompt is too long", "exceed context limit")
"""What 400 says of a request that does not fit into the context window, without or with what may be answered."""
PASSING = {"rate_limit_error", "overloaded_error", "api_error", "timeout_error"}
"""Errors inside of a stream come with status 200, so their type says what they are."""


class Later(Exception):
    """A failure that may pass; ``seconds`` as the API asked for, else None."""

    def __init__(self, why: str, seconds: float | None = None) -> None:
        super().__init__(why)
        self.seconds = seconds


class TooLong(Failed):
    """The request does not fit into the context window of the model, or is more than the API takes at once."""


@dataclass
class Reply:
    """Reply to a request: a message, whole or as far as it was when a person stopped it."""

    message: Message | None = None
    whole: bool = False
    pieces: queue.SimpleQueue[str] = field(default_factory=queue.SimpleQueue)


class Model:
    """Requests of one advance of a turn, over one client."""

    def __init__(self, portal: BlockingPortal) -> None:
        self._portal = portal
        self._open = ExitStack()
        self._made: anthropic.AsyncAnthropic | None = None

    def __enter__(self) -> Model:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.close()

    def stream_response(self, turn: TurnRun, request: dict[str, Any], *, shown: bool = True) -> Reply:
        """Stream a response, ``shown`` as it is written. Raises ``Later`` and ``Failed``; then nothing came of it."""
        reply = Reply()
        client = self._client(turn)
        connections.close_all()  # a stream may take minutes
        future = self._portal.start_task_soon(_read, client, request, reply)
        try:
            while not wait([future], timeout=SHOW_SECONDS).done and not turn.interrupted:
                if shown:
                    _show_new_text(turn, reply)
            if not future.done():
                future.cancel()
                wait([future], timeout=CLOSE_SECONDS)
            if shown:
                _show_new_text(turn, reply)
        finally:
            future.cancel()
        if future.cancelled() or turn.interrupted:
            return reply
        if error := future.exception():
            raise _exception_of(error) from error
        if not reply.whole:
            raise Later("the answer of the model broke off before its end")
        return reply

    def _client(self, turn: TurnRun) -> anthropic.AsyncAnthropic:
        if self._made is None:
            opened = _open_client(key_of(turn.session.workspace_id))
            self._made = self._open.enter_context(self._portal.wrap_async_context_manager(opened))
        return self._made


@asynccontextmanager
async def _open_client(key: str) -> AsyncIterator[anthropic.AsyncAnthropic]:
    place = settings.ANTHROPIC_BASE_URL
    async with anthropic.AsyncAnthropic(api_key=key, base_url=place, max_retries=0, timeout=TIMEOUT) as client:
        yield client


async def _read(client: anthropic.AsyncAnthropic, request: dict[str, Any], reply: Reply) -> None:
    """Read the stream, in the event loop. ``message`` grows as the SDK puts the response together."""
    async with client.messages.stream(**request) as stream:
        async for event in stream:
            if event.type == "message_start":
                reply.message = stream.current_message_snapshot
            elif event.type == "content_block_start" and event.index and event.content_block.type == "text":
                reply.pieces.put("\n\n")
            elif event.type == "text":
                reply.pieces.put(event.text)
            elif event.type == "message_stop":
                reply.whole = True


def _show_new_text(turn: TurnRun, reply: Reply) -> None:
    pieces = []
    while not reply.pieces.empty():
        pieces.append(reply.pieces.get())
    written = text("".join(pieces))
    if written and reply.message is not None:
        turn.stream_text(
            written if turn.flight.said_request == reply.message.id else written.lstrip("\n"), reply.message.id
        )
        connections.close_all()


def _exception_of(error: BaseException) -> Exception:
    """Exception for a failure of the SDK: ``Later`` when trying again may help, else ``Failed``."""
    if isinstance(error, anthropic.APIStatusError):
        return _refused(error)
    if isinstance(error, anthropic.APIConnectionError | httpx2.HTTPError | OSError):
        return Later(f"the connection to the model failed: {_cause(error)}")
    if isinstance(error, anthropic.AnthropicError):
        return Failed(f"the request to the model failed: {error}")
    return Later(f"the answer of the model cannot be read ({type(error).__name__}: {str(error)[:300]})")


def _refused(error: anthropic.APIStatusError) -> Exception:
    status, words = error.status_code, f"{error.api_message or error.message}"[:2_000]
    asked = f" (request {error.request_id})" if error.request_id else ""
    if status in (408, 409, 429) or status >= 500 or (status == 200 and error.type in PASSING):
        what = str(status) if status != 200 else error.type
        return Later(f"the API answers {what}: {words}{asked}", _retry_after(error.response.headers))
    if status in (401, 403):
        return Failed(
            f"the API refuses the key ({status}: {words}){asked}; an admin has to check ANTHROPIC_API_KEY and what "
            "the key may use"
        )
    if status == 413 or any(phrase in words for phrase in TOO_LONG):
        return TooLong(f"the API refuses the request ({status}): {words}{asked}")
    return Failed(f"the API refuses the request ({status if status != 200 else error.type}): {words}{asked}")


def _retry_after(headers: httpx2.Headers) -> float | None:
    """Of its two headers the finer one first, as the SDK does."""
    milliseconds = retry_after.seconds(headers.get("retry-after-ms", ""))
    return retry_after.seconds(headers.get("retry-after", "")) if milliseconds is None else milliseconds / 1000


def _cause(error: BaseException) -> str:
    cause = error.__cause__ or error
    return f"{type(cause).__name__}: {cause}"[:300]


def patience(failures: int) -> float:
    """Seconds before the next try where the API asked for none: 2, 4, 8 and so on up to a minute."""
    return min(FIRST_WAIT * 2 ** min(failures, 10), LONGEST_WAIT)
