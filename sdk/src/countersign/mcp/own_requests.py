"""Requests that the gateway itself makes of the server, among those of its client."""

from __future__ import annotations

import queue
import uuid
from collections.abc import Callable

from . import messages
from .messages import Json

Send = Callable[[Json, dict[str, str] | None], bool]
"""Of a message and its headers; False where nothing is sent any more."""


class OwnRequests:
    """Their ids begin with one that nobody else knows, so that a late answer is told from one to the client."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begin = str(uuid.uuid4())
        self._waiting: dict[str, queue.SimpleQueue[Json | None]] = {}

    def new_id(self) -> str:
        return f"{self._begin}:{uuid.uuid4()}"

    def ask(self, message: Json, seconds: float | None, headers: dict[str, str] | None = None) -> Json | None:
        """The answer to a message with an id of ``new_id``; None where none comes."""
        came = self._waiting[message["id"]] = queue.SimpleQueue[Json | None]()
        try:
            return came.get(timeout=seconds) if self._send(message, headers) else None
        except queue.Empty:
            return None
        finally:
            del self._waiting[message["id"]]

    def take(self, message: Json) -> bool:
        """Whether what the server says is for the gateway; what is no answer ends the wait for one."""
        id_ = message.get("id")
        if not isinstance(id_, str) or not id_.startswith(self._begin):
            return False
        if came := self._waiting.get(id_):
            came.put(message if messages.is_answer(message) else None)
        return True

    def stop(self, id_: str) -> None:
        """Tell the server that the answer is not wanted any more, and do not wait for it."""
        self._send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}}, None)
        if came := self._waiting.get(id_):
            came.put(None)

    def close(self) -> None:
        """No answer will come."""
        for came in list(self._waiting.values()):
            came.put(None)
