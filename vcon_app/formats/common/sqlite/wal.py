"""The write-ahead log beside a SQLite file: the newest rows of a store that is in use stand in it alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import BinaryIO

SUFFIX = "-wal"
BESIDE = (SUFFIX, "-shm", "-journal")
"""What the names of files beside a database end with."""
SLACK = 16 * 1024 * 1024
"""Bytes of pages that were taken and given back, which no frame of a log holds."""
HEADER = 32
"""Bytes at the start of a log that change when it begins anew (https://www.sqlite.org/fileformat2.html, 4.1)."""


ALONE = (
    "it came without its log: while its agent runs, the newest sessions stand in a file beside it whose name ends with "
    "-wal, and were not read; drop both at once, or have the folder read on its machine (script/manage ingest)"
)


def needs_log(database: BinaryIO) -> bool:
    """Whether a SQLite file says that a log belongs to it (4.1: its versions are 2). It is left at its start."""
    database.seek(0)
    head = database.read(20)
    database.seek(0)
    return head.startswith(b"SQLite format 3\0") and head[18:20] == b"\2\2"


def is_beside(name: str, names: Collection[str]) -> bool:
    """Whether a file is one that SQLite keeps beside a database that is among ``names``, too."""
    return any(name.endswith(end) and name.removesuffix(end) in names for end in BESIDE)


def with_wal(database: BinaryIO, wal: BinaryIO) -> BinaryIO:
    """The database with what its log holds, as a file of its own that goes away when it is closed.

    Frames that were never committed, or are damaged, are left out by SQLite. Raises ``sqlite3.Error``, also for a log
    that names pages far behind the end of both: the file would be as long, and hold nothing.
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
            connection.execute("PRAGMA journal_mode=DELETE")  # it is whole now, and says so: see ``needs_log``
        if path.stat().st_size > 2 * sum(map(_size_of, (database, wal))) + SLACK:
            raise sqlite3.DatabaseError("the log names pages that neither file has")
        return path.open("rb")  # unlinked with the folder, and read all the same


def _size_of(source: BinaryIO) -> int:
    return source.seek(0, 2)
