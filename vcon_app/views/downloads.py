"""Files to the browser: always as an attachment, never rendered, whatever they claim to be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import BinaryIO

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

from vcon_app.services.documents.documents import CHUNK

OPAQUE = "application/octet-stream"


def attachment(file: BinaryIO, filename: str, size: int, media_type: str = OPAQUE) -> StreamingHttpResponse:
    """``file`` in pieces of a megabyte; it is closed at the end.

    Asynchronous, because Django reads a synchronous iterator whole into memory before it serves it under ASGI.
    """
    response = StreamingHttpResponse(_pieces(file), content_type=media_type)
    response.headers["Content-Disposition"] = content_disposition_header(True, filename)
    response.headers["Content-Length"] = str(size)
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return response


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while piece := await sync_to_async(file.read, thread_sensitive=False)(CHUNK):
            yield piece
