"""ASGI middleware for a full disk: 507 with a sentence, before a large body comes and where one finds no room.

Outside of Django, which writes a body to a temporary file before the first middleware sees it; what that raised was
answered by the server as plain text.
"""

from __future__ import annotations

import shutil

from django.conf import settings

from config.web.asgi import Application, Message, Receive, Scope, Send, header, refuse
from config.web.bodies import drain
from config.web.refusals import Refusal
from sessions_app.services.upkeep import disk

LARGE = 1024 * 1024
"""Bytes of a body from which the disk is looked at first."""
COPIES = 2
"""The temporary file, and the document that is made of it."""
LEFT = 16 * 1024 * 1024
"""Bytes that have to be left for everybody else: a segment of PostgreSQL's log."""
FULL = Refusal(507, disk.REFUSED, retry_after=60)


class DiskRoom:
    """Answers 507 to a body for which there is no room, and to what a full disk raises in the application."""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.application(scope, receive, send)
        declared = header(scope, b"content-length")
        if declared.isdigit() and int(declared) > LARGE and _free() < COPIES * int(declared) + LEFT:
            if not header(scope, b"expect"):  # who asks first has not begun to send
                await drain(receive)
            return await refuse(FULL, scope, send)
        began = False

        async def send_and_note(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)

        try:
            await self.application(scope, receive, send_and_note)
        except OSError as fault:
            if began or not disk.is_full(fault):
                raise
            await refuse(FULL, scope, send)


def _free() -> int:
    """Bytes that are free where bodies are written."""
    return shutil.disk_usage(settings.FILE_UPLOAD_TEMP_DIR).free
