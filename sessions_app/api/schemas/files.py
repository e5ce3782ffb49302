"""Files that a session changed, as the API answers them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from sessions_app import models
from sessions_app.changes.history import Hunk
from sessions_app.queries.log.file_changes import FileView, Version

FileKind = Literal["created", "written", "edited", "deleted", "renamed", "shell", "stated", "failed"]


class DiffQuery(BaseModel):
    """Which file, and which two of its versions."""

    path: str = Field("", max_length=4_000, description="path of the file, as in the list of files; required")
    version: int | None = Field(None, ge=0, le=10**6, description="the later version; left out: the last one")
    from_: int = Field(0, alias="from", ge=0, le=10**6, description="the earlier version; 0: before the first change")


class ChangedFile(BaseModel):
    """A file that a session changed, as its tool calls say: the desk has not looked at it."""

    path: str = Field(description="relative to the session's working directory where it lies in it")
    was: str | None = Field(description="path before a rename")
    kind: FileKind = Field(
        description="`written`: whole, whether or not it was there before; `shell`: named by a command that writes it;"
        " `stated`: by the recorder, without contents; `failed`: no call for it succeeded"
    )
    edits: int
    failed: int = Field(description="calls for it that did not succeed")
    commands: int = Field(description="shell commands that write it; what they wrote is not known")
    added: int = Field(description="lines, added up edit by edit")
    removed: int
    last_seq: int = Field(description="the last event that changed it, or tried to")

    @classmethod
    def from_row(cls, file: models.ChangedFile) -> ChangedFile:
        same = ("path", "edits", "failed", "added", "removed", "last_seq")
        return cls(
            **{name: getattr(file, name) for name in same}, was=file.was or None, kind=file.kind, commands=file.shell
        )


class FileSums(BaseModel):
    """All files of a session."""

    files: int
    edits: int
    added: int
    removed: int
    unknown: int = Field(description="files of whose contents nothing is known")


class FileList(BaseModel):
    """A page of the files of a session."""

    items: list[ChangedFile]
    next_cursor: str | None
    total: FileSums
    read_to_seq: int = Field(description="each request reads on in a long log: ask again until it is `last_seq`")
    last_seq: int


class FileVersion(BaseModel):
    """One change of a file."""

    version: int | None = Field(description="null where it changed nothing, as the call failed or has no result yet")
    seq: int = Field(description="the event")
    kind: Literal["created", "written", "edited", "deleted", "renamed", "shell", "stated"]
    how: str = Field(description="tool or command")
    outcome: Literal["done", "failed", "unknown", "pending"] = Field(description="unknown: no result is recorded")
    added: int
    removed: int

    @classmethod
    def from_version(cls, version: Version) -> FileVersion:
        same = ("seq", "kind", "how", "outcome", "added", "removed")
        return cls(version=version.number, **{name: getattr(version.row, name) for name in same})


class DiffRow(BaseModel):
    mark: Literal[" ", "+", "-"]
    text: str
    old: int | None = Field(description="number of the line before, where known")
    new: int | None


class FileHunk(BaseModel):
    """Lines that changed, with three around them."""

    versions: list[int]
    seqs: list[int] = Field(description="the events that made the change")
    apart: bool = Field(description="whether its place in the file is not known, as it does not fit the rest")
    rows: list[DiffRow]

    @classmethod
    def from_hunk(cls, hunk: Hunk, view: FileView) -> FileHunk:
        seqs = [seq for number in hunk.versions if (seq := view.seq_of(number)) is not None]
        rows = [DiffRow(mark=row.mark, text=row.text, old=row.old, new=row.new) for row in hunk.rows]
        return cls(versions=list(hunk.versions), seqs=seqs, apart=hunk.is_apart, rows=rows)


class FileDiff(BaseModel):
    """What differs between two versions of a file, as far as the calls tell."""

    file: ChangedFile
    versions: list[FileVersion]
    from_version: int
    to_version: int
    whole: bool = Field(description="whether the text of the file is known from its first line to its last")
    added: int
    removed: int
    hunks: list[FileHunk]
    unknown: list[int] = Field(description="versions of which the session does not tell the text")
    lost: list[int] = Field(description="versions that replaced a text that the session does not tell")
    misfits: list[int] = Field(description="versions whose edits do not fit the text known until then")
    cut: bool = Field(description="whether there are more changes, or more text, than are compared")

    @classmethod
    def from_view(cls, view: FileView) -> FileDiff:
        same = ("unknown", "lost", "misfits")
        return cls(
            file=ChangedFile.from_row(view.file), versions=[FileVersion.from_version(each) for each in view.versions],
            from_version=view.since, to_version=view.until, whole=view.diff.is_whole, added=view.diff.added,
            removed=view.diff.removed, hunks=[FileHunk.from_hunk(hunk, view) for hunk in view.diff.hunks],
            cut=view.is_cut, **{name: getattr(view, name) for name in same},
        )  # fmt: skip
