"""Files that a session changed: their list, and one file with its versions and what differs between two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sessions_app.changes.change import Change
from sessions_app.changes.history import History, NetDiff
from sessions_app.changes.paths import stored
from sessions_app.compiled import Compiled
from sessions_app.models import ChangedFile, FileChange, FileScan, Session

from .file_calls import MOST, told

FILES = 300
"""Files of one page."""
VERSIONS = 500
"""Changes of one file that are put together."""
SEEN = 3
"""Calls that read the file before it was changed, the last ones first, in which its whole text is looked for."""
NAMES = 4
"""Names that a file had one after the other, through which it is followed back."""


@dataclass(frozen=True, slots=True)
class Files:
    """A page of the files of a session."""

    items: list[ChangedFile]
    more: bool


@dataclass(frozen=True, slots=True)
class Version:
    """A change that was made, or one that failed (then without a number)."""

    number: int | None
    row: FileChange

    @property
    def is_known(self) -> bool:
        return self.row.kind not in ("shell", "stated")


@dataclass(frozen=True, slots=True)
class FileView:
    """One file, and what differs between its versions ``since`` and ``until``; version 0 is before the first."""

    file: ChangedFile
    versions: list[Version]
    since: int
    until: int
    diff: NetDiff
    misfits: list[int]
    unknown: list[int]
    lost: list[int]
    is_cut: bool
    """Whether there are more changes, or more text, than are put together."""
    known_from: str
    """The name under which the file was known before its first change, where it was moved from there."""

    @property
    def last(self) -> int:
        return max((version.number or 0 for version in self.versions), default=0)

    def seq_of(self, number: int) -> int | None:
        """The event that made a version."""
        return next((version.row.seq for version in self.versions if version.number == number), None)


def scan_of(session_id: UUID) -> FileScan | None:
    """How far a session was read for its files, and what they came to; None before anybody asked."""
    return _SCAN.first(session_id)


_SCAN = Compiled[FileScan](lambda session_id: FileScan.objects.filter(pk=session_id)[:1])


def files_of(session_id: UUID, after: str = "") -> Files:
    """Files in the order of their paths, a page of those behind ``after``."""
    found = ChangedFile.objects.filter(session_id=session_id, path__gt=after).order_by("path")
    rows = list(found[: FILES + 1])
    return Files(rows[:FILES], len(rows) > FILES)


def first_files(session_id: UUID, count: int) -> list[ChangedFile]:
    """So many files that were changed at most, in the order of their paths; of the first ``FILES`` those of which the
    text is known before those that are only named.
    """
    found = ChangedFile.objects.filter(session_id=session_id).exclude(kind="failed").order_by("path")
    first = list(found[:count])
    if len(first) == count and any(map(is_only_named, first)):
        first = sorted(found[:FILES], key=is_only_named)[:count]
    return sorted(first, key=is_only_named)


def is_only_named(file: ChangedFile) -> bool:
    """Whether nothing is known of its text."""
    return file.kind in ("shell", "stated")


def file_at(session: Session, path: str, until: int | None = None, since: int = 0) -> FileView | None:
    """A file with what differs between two of its versions, of the whole session unless told; None for no such file."""
    path = stored(path)
    file = ChangedFile.objects.filter(session_id=session.pk, path=path).first()
    if file is None:
        return None
    own = FileChange.objects.filter(session_id=session.pk, path=path)
    rows = list(own.exclude(kind="seen").order_by("seq", "number")[: VERSIONS + 1])
    versions = _versions(rows[:VERSIONS])
    made = [version for version in versions if version.number]
    until = len(made) if until is None else max(0, min(until, len(made)))
    since = max(0, min(since, until))
    history, known_from = History(), ""
    if made:
        known_from = _begin(history, session, made[0].row, NAMES)
        _apply(history, session, made[:until], since)
    return FileView(
        file, versions, since, until, history.diff(), history.misfits, history.unknown, history.lost,
        len(rows) > VERSIONS or history.is_too_much, known_from,
    )  # fmt: skip


def _versions(rows: list[FileChange]) -> list[Version]:
    """Changes that were made, numbered, among those that failed. What is only stated beside calls tells nothing."""
    has_calls = any(row.kind != "stated" for row in rows)
    found: list[Version] = []
    number = 0
    for row in rows:
        if row.kind == "stated" and has_calls:
            continue
        is_made = row.outcome in ("done", "unknown")
        number += is_made
        found.append(Version(number if is_made else None, row))
    return found


def _begin(history: History, session: Session, first: FileChange, names: int) -> str:
    """Begin with the whole text of the file before its first change, where a call read it, or it was moved from a name
    under which it is known: then this name is returned.
    """
    own = FileChange.objects.filter(session_id=session.pk, path=first.path)
    reads = own.filter(kind="seen", outcome="done", seq__lt=first.seq).order_by("-seq").values_list("seq", flat=True)
    for seq in reads[:SEEN]:
        for event in told(session.pk, [seq], cwd_of(session), head=MOST):
            for change in event.changes:
                if stored(change.path) == first.path and change.content is not None:
                    history.see(change.content)
                    return ""
    if not first.was or names == 0:
        return ""
    under = FileChange.objects.filter(session_id=session.pk, path=first.was, seq__lt=first.seq).exclude(kind="seen")
    made = [each for each in _versions(list(under.order_by("seq", "number")[:VERSIONS])) if each.number]
    if not made:
        return ""
    before = History()
    _begin(before, session, made[0].row, names - 1)
    _apply(before, session, made, since=0)
    if (text := before.text()) is None:
        return ""
    history.see(text)
    return first.was


def _apply(history: History, session: Session, made: list[Version], since: int) -> None:
    """Make the changes one after the other; those up to ``since`` are what was there before."""
    wanted: dict[int, list[Version]] = {}
    for version in made:
        wanted.setdefault(version.row.seq, []).append(version)
    for event in told(session.pk, list(wanted), cwd_of(session)):
        path = wanted[event.seq][0].row.path
        changes: list[Change] = [change for change in event.changes if stored(change.path) == path]
        for version, change in zip(wanted[event.seq], changes, strict=False):
            history.apply(change, version.number or 0)
            if version.number == since:
                history.freeze()
        if history.is_too_much:
            return


def cwd_of(session: Session) -> str:
    """The working directory that a session's file states first; "" for none."""
    return cwd_in(session.metadata)


def cwd_in(metadata: dict[str, Any]) -> str:
    """The same of a session's metadata."""
    environment = metadata.get("environment")
    found = environment.get("cwd") if isinstance(environment, dict) else None
    return found if isinstance(found, str) else ""
