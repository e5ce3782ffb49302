"""The file that a session was read from, to the byte: a document, or a member of one that is an archive."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePosixPath

from vcon_app import registry
from vcon_app.drafts import Json
from vcon_app.formats.common import jsonio
from vcon_app.models import ImportedSession

from . import archives, decryption, documents, event_bytes

PARSED = 32 * 1024 * 1024
"""Bytes of an original that is parsed whole, in a worker, for long values that readers leave in it."""


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


class LongValues:
    """Values of an original that readers leave in it, by their JSON pointers; it is parsed once, when first asked."""

    def __init__(self, link: ImportedSession, format: str) -> None:
        self._link = link
        self._format = format

    def __call__(self, pointer: str) -> Json:
        """Raises ``LookupError`` where there is nothing, or the original is too large to be parsed whole."""
        try:
            return event_bytes.at_pointer(self._document, pointer)
        except (ValueError, OSError) as fault:
            raise LookupError(str(fault)) from None

    @cached_property
    def _document(self) -> Json:
        if self._link.document.size > PARSED:
            return None
        prefix = f"{self._link.member}{archives.BEHIND_NAME}" if self._link.member else ""
        with documents.open_document(self._link.document) as source, archives.open_part(source, prefix) as (file, _):
            format = registry.readers().get(self._format)
            data = (decryption.decrypted(format, file) if format else file).read(PARSED + 1)
        return jsonio.loads(data)[0] if len(data) <= PARSED else None
