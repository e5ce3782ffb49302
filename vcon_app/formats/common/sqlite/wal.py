"""The write-ahead log beside a SQLite file: the newest rows of a store that is in use stand in it alone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import BinaryIO

SUFFIX = "-wal"
BESIDE = (SUFFIX, "-shm", "-journal")
"""What the names of files beside a database end with."""
HEADER = 32
"""Bytes at the start of a log that change when it begins anew (https://www.sqlite.org/fileformat2.html, 4.1)."""


def with_wal(database: BinaryIO, wal: BinaryIO) -> BinaryIO:
    """The database with what its log holds, as a file of its own that goes away when it is closed.

    Frames that were never committed, or are damaged, are left out by SQLite. Raises ``sqlite3.Error``.
    """
    with TemporaryDirectory(prefix="store-") as folder:
        path = Path(folder) / "store.db"
        for source, name in ((database, path.name), (wal, path.name + SUFFIX)):
            source.seek(0)
            with path.with_name(name).open("wb") as copy:
                copyfileobj(source, copy, 1024 * 1024)
        with closing(sqlite3.connect(path)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            connection.execute("PRAGMA trusted_schema=OFF")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return path.open("rb")  # unlinked with the folder, and read all the same
