"""The file that a session was read from, to the byte: a document, or a member of one that is an archive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from vcon_app.models import ImportedSession

from . import archives, documents


def name_of(link: ImportedSession) -> str:
    """The name it came with."""
    return PurePosixPath(link.member.replace("\\", "/")).name if link.member else link.imported.filename


def size_of(link: ImportedSession) -> int:
    """Bytes. Raises ``FormatError``, ``OSError``."""
    if not link.member:
        return link.document.size
    with documents.open_document(link.document) as source:
        return archives.member_of(archives.open_archive(source), link.member).file_size


def chunks_of(link: ImportedSession) -> Iterator[bytes]:
    """Its bytes, in pieces of a megabyte. Raises ``FormatError``, ``OSError``."""
    with documents.open_document(link.document) as source:
        if not link.member:
            yield from documents.chunks_of(source)
            return
        archive = archives.open_archive(source)
        yield from archive.chunks(archives.member_of(archive, link.member))
