"""Patches in text: unified diffs, and the ``*** Begin Patch`` dialect that ``apply_patch`` takes.

Source of the dialect: the grammar in Codex' instructions for ``apply_patch``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .change import MOST_CHANGES, Change, Edit, Kind

MOST = 2 * 1024 * 1024
"""Characters of a patch that are read; one that is longer is read up to there."""
_SECTION = re.compile(r"\*\*\* (Add|Update|Delete) File: (.*\S)")
_MOVE = re.compile(r"\*\*\* Move to: (.*\S)")
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_KINDS: dict[str, Kind] = {"Add": "created", "Update": "edited", "Delete": "deleted"}


@dataclass(slots=True)
class _File:
    path: str
    kind: Kind = "edited"
    was: str = ""
    hunks: list[_Hunk] = field(default_factory=list)


@dataclass(slots=True)
class _Hunk:
    line: int | None = None
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    marks: int = 0
    """Lines with ``+`` or ``-``."""
    is_of_nothing: bool = False
    """``@@ -0,0 +1,9 @@``: the file was not there, or empty."""

    def take(self, line: str) -> None:
        mark, text = line[:1], line[1:]
        if mark in ("-", " ", ""):
            self.old.append(text)
        if mark in ("+", " ", ""):
            self.new.append(text)
        self.marks += mark in ("+", "-")


def _hunk(head: re.Match[str] | None) -> _Hunk:
    """A hunk at the line that its head names for the file after: there it stands once those before it are applied."""
    if head is None:
        return _Hunk()
    return _Hunk(int(head[3]) + (head[4] == "0"), is_of_nothing=head[1] == "0" and head[2] == "0")


def is_patch(text: str) -> bool:
    head = text[:MOST]
    return "*** Begin Patch" in head or bool(_SECTION.search(head)) or bool(re.search(r"^@@ ", head, re.MULTILINE))


def changes_in(text: str, how: str, path: str = "") -> list[Change]:
    """Changes of the files in a patch. ``path`` is the file of a patch that names none."""
    lines = text[:MOST].split("\n")
    is_sections = any(line.startswith("*** ") and _SECTION.match(line) for line in lines)
    found = _sections(lines) if is_sections else _unified(lines, path)
    return [_change(file, how) for file, _ in zip(found, range(MOST_CHANGES), strict=False) if file.path]


def _sections(lines: list[str]) -> Iterator[_File]:
    file: _File | None = None
    for line in lines:
        if match := _SECTION.match(line):
            if file:
                yield file
            file = _File(match[2], _KINDS[match[1]])
        elif file and (match := _MOVE.match(line)):
            file.kind, file.was, file.path = "renamed", file.path, match[1]
        elif line.startswith("*** End Patch"):
            break
        elif file and line.startswith("@@"):
            file.hunks.append(_hunk(_HUNK.match(line)))
        elif file and line[:1] in ("+", "-", " ") or file and not line and file.hunks:
            if not file.hunks:
                file.hunks.append(_Hunk())
            file.hunks[-1].take(line)
    if file:
        yield file


def _unified(lines: list[str], path: str) -> Iterator[_File]:
    file = _File(path)
    before = ""
    old = new = 0
    for line in lines:
        if old > 0 or new > 0:  # inside a hunk: a removed "-- x" looks like a head
            mark = line[:1]
            if mark in ("+", "-", " ", ""):
                file.hunks[-1].take(line)
                old, new = old - (mark != "+"), new - (mark != "-")
                continue
            if mark == "\\":
                continue
            old = new = 0
        if match := _HUNK.match(line):
            old, new = int(match[2] or 1), int(match[4] or 1)
            file.hunks.append(_hunk(match))
        elif line.startswith("@@"):
            file.hunks.append(_Hunk())
        elif line.startswith("--- "):
            before = _named(line)
        elif line.startswith("+++ "):
            if file.hunks or file.was:
                yield file
            file = _between(before, _named(line)) or _File(path)
        elif line.startswith("rename from "):
            if file.hunks or file.was:
                yield file
            file = _File("", "renamed", line.removeprefix("rename from "))
        elif line.startswith("rename to "):
            file.path = line.removeprefix("rename to ")
        elif file.hunks and file.hunks[-1].line is None and line[:1] in ("+", "-", " "):
            file.hunks[-1].take(line)
    if file.hunks or file.was:
        yield file


def _named(line: str) -> str:
    """The path behind ``---`` or ``+++``, without the date that some tools write behind a tab."""
    path = line[4:].split("\t")[0].strip()
    return path[2:] if path[:2] in ("a/", "b/") else path


def _between(before: str, after: str) -> _File | None:
    if after == "/dev/null":
        return _File(before, "deleted") if before not in ("", "/dev/null") else None
    if before == "/dev/null":
        return _File(after, "created")
    return _File(after, "renamed", before) if before and before != after else _File(after)


def _change(file: _File, how: str) -> Change:
    hunks = [hunk for hunk in file.hunks if hunk.marks]
    if file.kind == "created" or (file.kind == "edited" and len(hunks) == 1 and hunks[0].is_of_nothing):
        content = "".join(f"{line}\n" for hunk in hunks for line in hunk.new)
        return Change(file.path, "created", how, content=content)
    edits = tuple(
        Edit(
            "".join(f"{line}\n" for line in hunk.old), "".join(f"{line}\n" for line in hunk.new), line=hunk.line,
            whole_lines=True,
        )
        for hunk in hunks
    )  # fmt: skip
    return Change(file.path, file.kind, how, edits, was=file.was)
