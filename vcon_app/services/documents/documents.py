"""Source documents: bytes kept once under their SHA-256, written whole or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from sessions_app.models import Workspace
from sessions_app.prepared import Statement, fetch
from sessions_app.rendering import numbers
from vcon_app.models import SourceDocument

from . import storage

CHUNK = 1024 * 1024
LOCKS = 1_024
"""Documents share them: the database has no lock for each of thousands in one transaction."""

INSERT = Statement("""
INSERT INTO vcon_app_sourcedocument (id, workspace_id, sha256, size, created_at) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (workspace_id, sha256) DO NOTHING RETURNING 1
""")


class TooLarge(ValueError):
    """The file is over the size limit; the message names the limit."""


@dataclass(frozen=True, slots=True)
class Stored:
    sha256: str
    size: int


@transaction.atomic(savepoint=False)
def store(workspace: Workspace, chunks: Iterable[bytes]) -> SourceDocument:
    """Store a stream of bytes and return its document row. Raises ``TooLarge``; nothing is left behind then."""
    stored = _write_bytes(chunks)
    document = SourceDocument(workspace=workspace, sha256=stored.sha256, size=stored.size, created_at=timezone.now())
    if fetch(INSERT, [document.id, workspace.id, document.sha256, document.size, document.created_at]):
        return document
    return SourceDocument.objects.get(workspace=workspace, sha256=stored.sha256)


def lock(sha256: str, *, shared: bool = False) -> None:
    """Hold the bytes of this hash until the transaction ends: who takes them in shares them, who removes them does not.

    Without it, bytes that come again while they are being removed would be a row without bytes.
    """
    function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(hashtext('document'), hashtext(%s) %% {LOCKS})", [sha256])


def name_of(sha256: str) -> str:
    """The name of a document's bytes in the storage."""
    return f"{sha256[:2]}/{sha256[2:4]}/{sha256}"


def open_document(document: SourceDocument) -> BinaryIO:
    """The bytes of a document. Raises ``storage.Missing``, ``storage.Unavailable``."""
    return open_stored(document.sha256)


def open_stored(sha256: str) -> BinaryIO:
    """The bytes with this hash. Raises ``storage.Missing``, ``storage.Unavailable``."""
    return storage.of_documents().open(name_of(sha256))


def chunks_of(stream: BinaryIO) -> Iterable[bytes]:
    """The stream in pieces of a megabyte."""
    while chunk := stream.read(CHUNK):
        yield chunk


def _write_bytes(chunks: Iterable[bytes]) -> Stored:
    digest, size = hashlib.sha256(), 0
    with storage.incoming(storage.of_documents()) as incoming:
        for chunk in chunks:
            size += len(chunk)
            if size > settings.MAX_UPLOAD_BYTES:
                limit = numbers.size(settings.MAX_UPLOAD_BYTES)
                raise TooLarge(f"the file is larger than the limit of {limit}; ask an admin to raise it")
            digest.update(chunk)
            incoming.file.write(chunk)
        lock(digest.hexdigest(), shared=True)
        incoming.keep(name_of(digest.hexdigest()))
    return Stored(digest.hexdigest(), size)
