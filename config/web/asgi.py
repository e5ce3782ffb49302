"""Types of ASGI as they are used here, and what every middleware of this folder does with them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from config.web.refusals import Refusal

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]


def header(scope: Scope, name: bytes) -> bytes:
    """Value of the first header of this name, in lower case; empty when there is none."""
    return next((value for found, value in scope["headers"] if found == name), b"")


async def answer(send: Send, status: int, headers: Headers, body: bytes) -> None:
    """Send a whole response."""
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def refuse(refusal: Refusal, scope: Scope, send: Send) -> None:
    """Send a refusal."""
    status, headers, body = refusal.answer(scope["path"], header(scope, b"content-type").decode("latin-1"))
    await answer(send, status, headers, b"" if scope["method"] == "HEAD" else body)
