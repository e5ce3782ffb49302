"""Source documents: bytes kept once under their SHA-256, written whole or not at all."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from django.conf import settings

from sessions_app.models import Workspace
from sessions_app.rendering import numbers
from vcon_app.models import SourceDocument

CHUNK = 1024 * 1024
READ_AHEAD = 256 * 1024
"""A hundred lines of a transcript; with Python's 8 KB every third line is put together from two reads."""


class TooLarge(ValueError):
    """The file is over the size limit; the message names the limit."""


@dataclass(frozen=True, slots=True)
class Stored:
    sha256: str
    size: int


def store(workspace: Workspace, chunks: Iterable[bytes]) -> SourceDocument:
    """Store a stream of bytes and return its document row. Raises ``TooLarge``; nothing is left behind then."""
    stored = _write_bytes(chunks)
    document, _ = SourceDocument.objects.get_or_create(
        workspace=workspace, sha256=stored.sha256, defaults={"size": stored.size}
    )
    return document


def path_of(sha256: str) -> Path:
    """Where the bytes of a document are."""
    return Path(settings.DOCUMENTS_DIR) / sha256[:2] / sha256[2:4] / sha256


def open_document(document: SourceDocument) -> BinaryIO:
    return path_of(document.sha256).open("rb", buffering=READ_AHEAD)


def chunks_of(stream: BinaryIO) -> Iterable[bytes]:
    """The stream in pieces of a megabyte."""
    while chunk := stream.read(CHUNK):
        yield chunk


def _write_bytes(chunks: Iterable[bytes]) -> Stored:
    root = Path(settings.DOCUMENTS_DIR)
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest, size = hashlib.sha256(), 0
    handle, name = tempfile.mkstemp(dir=root, prefix=".incoming-")
    incoming = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            for chunk in chunks:
                size += len(chunk)
                if size > settings.MAX_UPLOAD_BYTES:
                    limit = numbers.size(settings.MAX_UPLOAD_BYTES)
                    raise TooLarge(f"the file is larger than the limit of {limit}; ask an admin to raise it")
                digest.update(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())  # bytes before name: after a power cut no document has half of its bytes
        target = path_of(digest.hexdigest())
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        incoming.replace(target)
    except BaseException:
        incoming.unlink()
        raise
    return Stored(digest.hexdigest(), size)
