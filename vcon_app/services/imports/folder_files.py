"""Files of folders that others write into: listed and opened without following a link.

An agent that writes into a folder could put a link there to any file that this process may read, and everybody in the
workspace could download what it leads to. So no link is followed below the folder, to files in it neither, and what is
opened is looked at again: between the listing and the opening a file may be replaced by a link.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from django.conf import settings

from vcon_app.formats.common.sqlite import wal
from vcon_app.formats.common.sqlite.opening import is_sqlite

STORES = (".db", ".sqlite", ".sqlite3", ".vscdb")
"""What the names of SQLite files end with, so that not each file is looked at for a log beside it."""
OF_AGENTS = frozenset({".aider.chat.history.md", ".crush", ".opencode", ".specstory", ".system_generated"})
"""Hidden names under which agents keep sessions in a project, or below a folder of theirs."""
TRIES = 3
NAMED = 4
"""Folders above a file among which are those that name its session in formats whose files name none."""
LINK = "is a link, and links are not followed"


class NotPlain(OSError):
    """A link, or no file at all (a pipe, a device): nothing of it was read."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.ELOOP, reason)


def files_in(folder: Path) -> Iterator[Path]:
    """Files below a folder in order of name, and links, which ``open_file`` refuses. Raises ``OSError``.

    Hidden ones are left out, but for those in which agents keep sessions (and the folder itself, whatever its name);
    so is what is neither a file nor a link.
    """
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") and path.name not in OF_AGENTS:
            continue
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            yield from files_in(path)
        elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            yield path


def place_of(path: Path, folder: Path | None = None) -> str:
    """Where a file lies, for ``import_jobs.start_import``: from ``folder`` on, and as much above as names its session.

    Whichever folder somebody named, a session is known again by it.
    """
    above = path.absolute().parent.parts[1:]
    below = len(path.parent.relative_to(folder).parts) if folder else 0
    named = "/".join(above[-max(NAMED, below + 1) :])
    return os.fsencode(named).decode(errors="replace")


def open_file(path: Path, folder: Path | None = None) -> BinaryIO:
    """Open a file for reading. Neither it nor a folder between ``folder`` and it may be a link.

    Raises ``NotPlain``, and OSError as ``open`` does.
    """
    folder = folder or path.parent
    parts = path.relative_to(folder).parts
    with ExitStack() as opened:
        place = _open(folder, os.O_DIRECTORY, None, opened)
        for part in parts[:-1]:
            place = _open(part, os.O_DIRECTORY | os.O_NOFOLLOW, place, opened)
        # Without O_NONBLOCK the opening of a pipe would wait for somebody who writes.
        file = _open(parts[-1], os.O_NOFOLLOW | os.O_NONBLOCK, place, opened)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise NotPlain("is no plain file")
        return os.fdopen(os.dup(file), "rb")


def open_whole(path: Path, folder: Path | None = None) -> BinaryIO:
    """As ``open_file``; a SQLite file comes with what stands in the log beside it.

    Raises OSError too while a store is written so fast that no state of it can be copied.
    """
    file = open_file(path, folder)
    log = path.with_name(path.name + wal.SUFFIX)
    log_size = _size(log) if path.name.endswith(STORES) else 0
    # One that is too large is refused by who stores it; two copies of it would fill the disk first.
    if not log_size or _size(path) + log_size > settings.MAX_UPLOAD_BYTES or not is_sqlite(file):
        return file
    with file:
        for _ in range(TRIES):
            with open_file(log, folder) as beside:
                begins = beside.read(wal.HEADER)
                try:
                    merged = wal.with_wal(file, beside)
                except sqlite3.Error as error:
                    raise OSError(errno.EIO, f"cannot be read with the log beside it: {error}") from None
            with open_file(log, folder) as beside:
                # A log that began anew meanwhile holds no more what the copy of the database lacks.
                if beside.read(wal.HEADER) == begins:
                    return merged
            merged.close()
    raise OSError(errno.EBUSY, "is being written; it is read once it rests")


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _open(name: str | Path, flags: int, place: int | None, opened: ExitStack) -> int:
    """File descriptor of a name in a folder, until ``opened`` ends."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | flags, dir_fd=place)
    except OSError as fault:
        if fault.errno == errno.ELOOP or (fault.errno == errno.ENOTDIR and flags & os.O_NOFOLLOW):
            raise NotPlain(LINK) from None
        raise
    opened.callback(os.close, descriptor)
    return descriptor
