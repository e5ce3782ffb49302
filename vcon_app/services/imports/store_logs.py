"""Stores in SQLite that come with the log beside them: what is kept and read is the database with all that it holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import BinaryIO

from django.conf import settings

from sessions_app.rendering import numbers
from vcon_app.formats.common.sqlite import wal

from ..documents import documents


class NotReadable(ValueError):
    """The log does not belong to the database, or one of them is damaged."""


def merged(database: BinaryIO, log: BinaryIO) -> BinaryIO:
    """The database with what its log holds. Raises ``NotReadable``, ``documents.TooLarge``."""
    size = sum(source.seek(0, 2) for source in (database, log))
    if size > settings.MAX_UPLOAD_BYTES:
        limit = numbers.size(settings.MAX_UPLOAD_BYTES)
        raise documents.TooLarge(f"with its log it has {numbers.size(size)}, the limit is {limit}")
    try:
        return wal.with_wal(database, log)
    except sqlite3.Error as error:
        raise NotReadable(f"it cannot be read with the log that came with it: {error}") from None


def merged_chunks(database: BinaryIO, log: BinaryIO) -> Iterator[bytes]:
    """As ``merged``, at once, and in pieces of a megabyte."""
    return _pieces(merged(database, log))


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        yield from documents.chunks_of(file)
