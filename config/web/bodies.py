"""Limits on the size of a request's body, by its address: counted as it comes, before Django keeps any of it.

Outside of Django on purpose: Django stores a whole body before the first middleware sees it.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from django.conf import settings

from config.web.asgi import Application, Message, Receive, Scope, Send, header, refuse
from config.web.refusals import Refusal

MIB = 1024 * 1024
SEND_LESS = "send less at a time"
DRAIN_BYTES, DRAIN_SECONDS = 64 * MIB, 5.0
"""What is read and thrown away of a body that is refused: a client that still sends would not see the answer."""


class BodyTooLarge(Exception):
    """More bytes came than the limit allows."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Most bytes of a body at the addresses that match; ``now`` says what the sender may do."""

    path: re.Pattern[str]
    most: int
    now: str = SEND_LESS

    @property
    def refusal(self) -> Refusal:
        return Refusal(413, f"the request is larger than the {self.most:,} bytes that this address takes: {self.now}")


def limits() -> tuple[Limit, ...]:
    """Limits of this installation; the first that matches counts."""
    # Two files of almost the full size: the upload page says what is wrong with one a little too large, by name.
    upload = 2 * settings.MAX_UPLOAD_BYTES + MIB
    files = "send fewer or smaller files, or raise COUNTERSIGN_MAX_UPLOAD_BYTES"
    return (
        # Anybody may post to a webhook's address, so no more is read than is kept.
        Limit(re.compile(r"/hooks/"), settings.MAX_WEBHOOK_BYTES, "send a link to what is larger"),
        Limit(re.compile(r"/(api/v1/)?imports/?$"), upload, files),
        # A batch of 1,000 events, an OTLP request: read whole into memory, so bounded well below a file.
        Limit(
            re.compile(r"(/api/v1/(sessions/[^/]+/events|otlp/.*)|/v1/traces)$"), settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        ),
        # A message has a million characters at most; up to here the answer says so.
        Limit(re.compile(r"/dashboard/"), 16 * MIB),
        Limit(re.compile(r"/sign-in/|/sign-out/"), MIB // 16),
        Limit(re.compile(r"/"), 4 * MIB),
    )


class BodyLimits:
    """ASGI middleware that answers 413 to a body that is larger than its address takes, as soon as that shows."""

    def __init__(self, application: Application, table: Sequence[Limit]) -> None:
        self.application, self.table = application, table

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        limit = self._limit(scope)
        if limit is None:
            return await self.application(scope, receive, send)
        declared = header(scope, b"content-length")
        if declared.isdigit() and int(declared) > limit.most:
            return await _refuse(limit, scope, receive, send)
        try:
            await self.application(scope, _counting(receive, limit.most), send)
        except BodyTooLarge:
            await _refuse(limit, scope, receive, send)

    def _limit(self, scope: Scope) -> Limit | None:
        if scope["type"] != "http":
            return None
        return next((limit for limit in self.table if limit.path.match(scope["path"])), None)


def _counting(receive: Receive, most: int) -> Receive:
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise BodyTooLarge
        return message

    return counted


async def _refuse(limit: Limit, scope: Scope, receive: Receive, send: Send) -> None:
    if not header(scope, b"expect"):  # who asks first has not begun to send
        await drain(receive)
    await refuse(limit.refusal, scope, send)


async def drain(receive: Receive) -> None:
    """Read on, and keep nothing, until the body ends or there is no end to it."""
    read, until = 0, time.monotonic() + DRAIN_SECONDS
    with suppress(TimeoutError):
        while read < DRAIN_BYTES and (left := until - time.monotonic()) > 0:
            message = await asyncio.wait_for(receive(), left)
            read += len(message.get("body", b""))
            if message["type"] == "http.disconnect" or not message.get("more_body"):
                return
