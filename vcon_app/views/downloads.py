"""Files to the browser: always as an attachment, never rendered, whatever they claim to be."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import BinaryIO

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

from sessions_app.live.threads import in_thread, release
from vcon_app.services.documents.documents import CHUNK

OPAQUE = "application/octet-stream"


def attachment(file: BinaryIO, filename: str, size: int, media_type: str = OPAQUE) -> StreamingHttpResponse:
    """``file`` in pieces of a megabyte; it is closed at the end.

    Asynchronous, because Django reads a synchronous iterator whole into memory before it serves it under ASGI.
    """
    response = _named(pieces(file), filename, media_type)
    response.headers["Content-Length"] = str(size)
    return response


def written_meanwhile(chunks: Iterator[bytes], filename: str, media_type: str) -> StreamingHttpResponse:
    """What is written while it is read. Each piece may be written in another thread, with its own connection.

    The first is written by whoever calls: what is wrong from the start is an error, and not half a file. A file that
    breaks off later has no end: the connection is closed in the middle.
    """
    first = next(chunks, b"")
    return _named(_rest(first, chunks), filename, media_type)


async def _rest(first: bytes, chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    await release()
    while piece := await in_thread(next, chunks, b""):
        yield piece


def _named(pieces: AsyncIterator[bytes], filename: str, media_type: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(pieces, content_type=media_type)
    response.headers["Content-Disposition"] = content_disposition_header(True, filename)
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return response


async def pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    """A file in pieces of a megabyte; it is closed at the end."""
    with file:
        while piece := await sync_to_async(file.read, thread_sensitive=False)(CHUNK):
            yield piece
