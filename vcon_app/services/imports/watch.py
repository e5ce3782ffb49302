"""Following a folder: what is there is imported, and then what its files grow by.

A file that grew goes through the pipeline whole; the log knows by their keys the events that it has already. Each
look at a file costs one ``stat`` until its time or size changes.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import orjson

from sessions_app.models import Agent, Workspace
from sessions_app.services import audit
from vcon_app import registry
from vcon_app.formats.common.head import Head
from vcon_app.formats.common.sqlite import wal
from vcon_app.formats.common.sqlite.opening import is_sqlite
from vcon_app.formats.common.zips import is_zip
from vcon_app.models import Import

from ..documents import documents
from . import companions, import_jobs
from .folder_files import LINK, STORES, files_in, open_file, open_whole, place_of

TEMPORARY = ("~", ".tmp", ".temp", ".swp", ".part", ".partial", ".crdownload", ".download", ".lock")
PASSED_OVER = (*TEMPORARY, *(store + end for store in STORES for end in wal.BESIDE))
KEPT_PER_SECOND = 256 * 1024
"""Each state of a file that is imported is kept, so that a large one is imported less often while it grows."""
LONGEST_PAUSE = 60.0
PATIENCE = 30 * 60.0
"""Seconds for which the first words of a session wait for an answer, which tells of which agent it is."""
POLL_SECONDS = 0.1
Stamp = tuple[int, int]
"""Time of the last change in nanoseconds, and size."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a file: its import when one was made, else why there is none."""

    path: Path
    imported: Import | None = None
    reason: str = ""


@dataclass(slots=True)
class _File:
    seen: Stamp | None = None
    is_settled: bool = False
    """Whether it was the same at the look before."""
    done: Stamp | None = None
    """As it was when it was imported, or found to be nothing for us."""
    not_before: float = 0.0
    waiting: Stamp | None = None
    """As it was when it was found to hold nothing yet that says of which agent it is."""
    is_known: bool = False
    """Whether an import of it was reported."""
    is_ignored: bool = False
    """Whether the reason why there is none was reported."""


class Watch:
    """A folder that is followed. Not to be shared by threads."""

    def __init__(self, folder: Path, workspace: Workspace, *, agent: Agent | None = None) -> None:
        self.folder = folder
        self.workspace = workspace
        self.agent = agent
        self._files: dict[Path, _File] = {}

    def follow(self, wait: Callable[[], bool]) -> Iterator[Outcome]:
        """Look again and again until ``wait``, which is called in between, says that it is enough."""
        yield from self.look()
        while not wait():
            yield from self.look()

    def look(self, *, once: bool = False) -> Iterator[Outcome]:
        """Import what is new or has changed.

        Files that are written as a whole are left until they have not changed between two looks; with ``once`` there
        is no second look, and they are read as they are. Raises ``OSError`` when the folder itself cannot be read.
        """
        paths = [path for path in files_in(self.folder) if not path.name.endswith(PASSED_OVER)]
        self._files = {path: self._files.get(path) or _File() for path in paths}
        for path, file in self._files.items():
            try:
                outcome = self._look_at(path, file, once)
            except FileNotFoundError:  # went away meanwhile, or was renamed: it comes back under its other name
                continue
            except OSError as error:
                outcome = self._no_import(path, file, error.strerror or str(error))
            if outcome:
                yield outcome

    def _look_at(self, path: Path, file: _File, once: bool) -> Outcome | None:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            return self._no_import(path, file, LINK)
        stamp = _stamp(path, status)
        file.is_settled, file.seen = once or file.seen == stamp, stamp
        if stamp == file.done or not status.st_size or time.monotonic() < file.not_before:
            return None
        if file.is_ignored and not file.is_settled:  # a log of something else is not looked into with each of its lines
            return None
        is_final = once or time.time() - status.st_mtime > PATIENCE
        if stamp == file.waiting and not is_final:
            return None
        try:
            is_ready = self._is_ready(path, file, is_final)
        except registry.Unrecognised:
            return self._no_import(path, file, "unsupported file format; ignored") if file.is_settled else None
        return self._import(path, file, stamp) if is_ready else None

    def _import(self, path: Path, file: _File, stamp: Stamp) -> Outcome | None:
        began = time.monotonic()
        try:
            imported = self._run(path, stamp[1])
        except documents.TooLarge as error:
            return self._no_import(path, file, str(error))
        now = time.monotonic()
        file.done, file.is_ignored = stamp, False
        file.not_before = now + min(max(now - began, stamp[1] / KEPT_PER_SECOND), LONGEST_PAUSE)
        was_known, file.is_known = file.is_known, True
        return None if was_known and imported.duplicate_of_id else Outcome(path, imported)

    def _run(self, path: Path, size: int) -> Import:
        """Import so many bytes of a file: here, or by a worker when one is faster."""
        with open_whole(path, self.folder) as stream:
            chunks = documents.chunks_of(stream) if is_sqlite(stream) else _first(stream, size)
            started = import_jobs.start_import(
                self.workspace, path.name, chunks, by=audit.COMMAND, agent=self.agent,
                folder=place_of(path, self.folder),
            )  # fmt: skip
        while started.status in (Import.Status.QUEUED, Import.Status.RUNNING):
            import_jobs.run(started.pk)
            started.refresh_from_db()
            if started.status == Import.Status.RUNNING:
                time.sleep(POLL_SECONDS)
        return started

    def _is_ready(self, path: Path, file: _File, is_final: bool) -> bool:
        """Whether a file rests, or is read line by line, so that it does no harm if its last line is cut off.

        Raises ``registry.Unrecognised``.
        """
        with open_file(path, self.folder) as stream:
            found = detect(stream, path.name)
        if found is None:
            return file.is_settled
        name, head = found
        place = f"{place_of(path, self.folder)}/{path.name}"
        if not is_final and registry.may_become_another(name, head, place):
            file.waiting = file.seen
            return False
        return file.is_settled or (registry.get(name).SPEC.grows == "lines" and _starts_with_a_line(head))

    def _no_import(self, path: Path, file: _File, reason: str) -> Outcome | None:
        """The reason why a file is not imported, once for each file, however it changes."""
        file.done = file.seen
        was_ignored, file.is_ignored = file.is_ignored, True
        return None if was_ignored else Outcome(path, reason=reason)


def detect(stream: BinaryIO, name: str) -> tuple[str, Head] | None:
    """The format of a file and its head; None where that is found out as it is read, as of archives and companions.

    The stream is left at its start. Raises ``registry.Unrecognised``.
    """
    if companions.is_companion(name) or is_zip(stream):
        return None
    try:
        return registry.detect(stream)
    except registry.Ambiguous:
        return None


def _stamp(path: Path, status: os.stat_result) -> Stamp:
    """Time and size of a file; of a SQLite file with its log, which grows while the file itself rests."""
    with suppress(OSError):
        log = path.with_name(path.name + wal.SUFFIX).lstat() if path.name.endswith(STORES) else None
        if log:
            return max(status.st_mtime_ns, log.st_mtime_ns), status.st_size + log.st_size
    return status.st_mtime_ns, status.st_size


def _first(stream: BinaryIO, size: int) -> Iterator[bytes]:
    """So many bytes of a file that may be growing under our hands."""
    while size > 0 and (chunk := stream.read(min(size, documents.CHUNK))):
        size -= len(chunk)
        yield chunk


def _starts_with_a_line(head: Head) -> bool:
    """Whether the first line is an object of its own, as against that of a document in many lines."""
    try:
        return isinstance(orjson.loads(head.data.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]), dict)
    except orjson.JSONDecodeError:
        return False
