"""ASGI middleware in front of Django: a limit on the body's size, and the static files.

Both sit outside of Django on purpose: Django stores a whole body before the first middleware sees it, and
WhiteNoise's own middleware is synchronous, which would cost a thread per open stream.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from asgiref.sync import sync_to_async
from whitenoise import WhiteNoise
from whitenoise.responders import Response, StaticFile

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

UPLOAD_LESS = "send fewer or smaller files, or raise COUNTERSIGN_MAX_UPLOAD_BYTES"


class BodyTooLarge(Exception):
    """More bytes came than the limit allows."""


class BodyLimit:
    """Answers 413 (RFC 9457) to a body over ``limit`` bytes, before it fills the disk.

    ``below`` bounds only the addresses that begin so; ``now`` says what the sender may do.
    """

    def __init__(self, application: Application, limit: int, below: str = "", now: str = UPLOAD_LESS) -> None:
        self.application, self.limit, self.below, self.now = application, limit, below, now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(self.below):
            return await self.application(scope, receive, send)
        declared = _header(scope, b"content-length")
        if declared.isdigit() and int(declared) > self.limit:
            return await self._refuse(send)
        try:
            await self.application(scope, self._counting(receive), send)
        except BodyTooLarge:
            await self._refuse(send)

    def _counting(self, receive: Receive) -> Receive:
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.limit:
                raise BodyTooLarge
            return message

        return counted

    async def _refuse(self, send: Send) -> None:
        problem = {
            "type": "about:blank",
            "title": "Content Too Large",
            "status": 413,
            "detail": f"The request is larger than the {self.limit} bytes that this server takes: {self.now}.",
        }
        headers = [(b"content-type", b"application/problem+json"), (b"connection", b"close")]
        await _answer(send, 413, headers, json.dumps(problem).encode())


class StaticFiles(WhiteNoise):  # type: ignore[misc]  # a class without types
    """WhiteNoise for ASGI: its table of files, gzip variants, ETags and ranges; the body in one message."""

    def __init__(self, application: Application, root: str, prefix: str) -> None:
        super().__init__(
            application,
            root,
            prefix,
            allow_all_origins=False,
            # HashedFilesStorage puts 12 hex digits of the content's hash into the name, so such a file never changes.
            immutable_file_test=r"^.+\.[0-9a-f]{12}\..+$",
            add_headers_function=lambda headers, path, url: headers.add_header("X-Content-Type-Options", "nosniff"),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        file = self.files.get(scope["path"]) if scope["type"] == "http" else None
        if file is None:
            return await self.application(scope, receive, send)
        # In a thread: reading a file would block the event loop, and with it every live page.
        response, body = await sync_to_async(_read, thread_sensitive=False)(file, scope)
        headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in response.headers]
        await _answer(send, response.status, headers, body)


def _read(file: StaticFile, scope: Scope) -> tuple[Response, bytes]:
    names = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
    asked = {name.decode().upper().replace("-", "_"): _header(scope, name).decode("latin-1") for name in names}
    response = file.get_response(scope["method"], {f"HTTP_{name}": value for name, value in asked.items() if value})
    if response.file is None:
        return response, b""
    with response.file as opened:
        return response, opened.read()


def _header(scope: Scope, name: bytes) -> bytes:
    return next((value for found, value in scope["headers"] if found == name), b"")


async def _answer(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": body})
