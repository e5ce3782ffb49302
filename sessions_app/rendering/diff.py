"""Edits as rows of a diff, from whatever the recorder kept: a patch, old and new text, or only the new file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

MAX_LINES = 2_000
"""difflib is quadratic: beyond this the old text is shown as taken out and the new one as put in."""
MAX_ROWS = 5_000
"""Rows that are kept of one edit; ``FileDiff.cut`` says that there were more."""
CONTEXT = 3
PATHS = ("file_path", "filePath", "path", "filename", "notebook_path", "target_file")
PATCHES = ("patch", "patchText", "input", "diff", "unified_diff")
"""Names of arguments that hold a path, and of those that may hold a patch."""

Mark = Literal[" ", "+", "-", "@"]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a diff; ``@`` is the head of a hunk. ``old`` and ``new`` are its line numbers, where known."""

    mark: Mark
    text: str
    old: int | None = None
    new: int | None = None


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What was changed in one file."""

    path: str
    rows: tuple[Row, ...]
    cut: bool = False

    @property
    def is_numbered(self) -> bool:
        """Whether it is known where in the file the lines are."""
        return any(row.old is not None or row.new is not None for row in self.rows)

    @property
    def added(self) -> int:
        return sum(row.mark == "+" for row in self.rows)

    @property
    def removed(self) -> int:
        return sum(row.mark == "-" for row in self.rows)


def diffs_of_call(name: str | None, arguments: Any, result: Any = None) -> list[FileDiff]:
    """The edits a tool call made or asked for; empty when it is none.

    Known by the shape of its arguments: Claude Code (Edit, MultiEdit, Write with ``structuredPatch`` in the
    result), the Anthropic text editor tool, Codex's ``apply_patch``, and their relatives.
    """
    arguments = arguments if isinstance(arguments, dict) else {"patch": arguments}
    path = path_of(arguments) or path_of(result)
    patch = result.get("structuredPatch") if isinstance(result, dict) else None
    if isinstance(patch, list) and (rows := list(from_patch(patch))):
        return [_file(path, iter(rows))]
    if pairs := replacements(arguments):
        return [_file(path, (_unnumbered(row) for old, new in pairs for row in between(old, new)))]
    if (written := written_text(name, arguments)) is not None:
        return [_file(path, added(written))]
    return from_unified(text) if (text := patch_text(arguments)) else []


def beside(name: str | None, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that the diffs of a call do not say in full, whoever chose their names."""
    path = next((key for key in PATHS if isinstance(arguments.get(key), str)), "")
    return {key: value for key, value in arguments.items() if key not in {path, *_keys_shown(name, arguments)}}


def _keys_shown(name: str | None, arguments: dict[str, Any]) -> set[str]:
    """Keys whose values ``diffs_of_call`` shows whole, in its order."""
    if pairs := replacements(arguments):
        if not all(_lines(old) != _lines(new) for old, new in pairs):
            return set()
        edits = arguments.get("edits")
        if not isinstance(edits, list):
            return set(_names_of_pair(arguments))
        return (
            {"edits"} if all(isinstance(one, dict) and set(one) == set(_names_of_pair(one)) for one in edits) else set()
        )
    if written_text(name, arguments) is not None:
        return {next(key for key in ("file_text", "content", "contents") if isinstance(arguments.get(key), str))}
    key = next((key for key in PATCHES if _is_patch(arguments.get(key))), "")
    return {key} if key and _is_whole(arguments[key]) else set()


def _unnumbered(row: Row) -> Row:
    """A row of a replaced text: where in the file it lies is not known, and lines of the text are none of the file."""
    return Row("@", "@@") if row.mark == "@" else Row(row.mark, row.text)


def from_patch(hunks: list[Any]) -> Iterator[Row]:
    """Rows of a ``structuredPatch``: ``[{oldStart, oldLines, newStart, newLines, lines}]``."""
    for hunk in hunks:
        if not isinstance(hunk, dict) or not isinstance(hunk.get("lines"), list):
            continue
        old, new = _number(hunk.get("oldStart")), _number(hunk.get("newStart"))
        yield Row("@", f"@@ -{old} +{new} @@" if old is not None and new is not None else "@@")
        yield from _numbered((line for line in hunk["lines"] if isinstance(line, str)), old, new)


def between(old: str, new: str) -> Iterator[Row]:
    """Rows from one text to another; line numbers count inside the texts."""
    before, after = _lines(old), _lines(new)
    if len(before) > MAX_LINES or len(after) > MAX_LINES:
        yield from _numbered((f"-{line}" for line in before), 1, 1)
        yield from _numbered((f"+{line}" for line in after), 1, 1)
        return
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=True)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        start_old, start_new = group[0][1] + 1, group[0][3] + 1
        if start_old > 1 or start_new > 1:
            yield Row("@", f"@@ -{start_old} +{start_new} @@")
        yield from _numbered(_changed(group, before, after), start_old, start_new)


def added(content: str) -> Iterator[Row]:
    """Rows of a file that was written whole."""
    return _numbered((f"+{line}" for line in _lines(content)), 1, 1)


_FILE = re.compile(r"\*\*\* (?:Add|Update|Delete) File: (.+)|\+\+\+ (?:b/)?(\S.*)")
_DELETED = re.compile(r"^\*\*\* Delete File: (.+)|^--- (?:a/)?(\S.*)\n\+\+\+ /dev/null", re.MULTILINE)
_HUNK = re.compile(r"@@(?: -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@)?")
_NOISE = re.compile(r"\*\*\* |--- |diff --git |index [0-9a-f]+\.\.|\\ No newline")
_WHOLE = re.compile(
    r"[-+ @]|$|diff --git |index [0-9a-f]+\.\.|\\ No newline|\*\*\* (?:(?:Begin|End) Patch|End of File|Add File: )"
)
"""Lines of a patch that a diff shows or that say nothing more: no file that is deleted, moved or of other rights."""


def from_unified(text: str) -> list[FileDiff]:
    """Files of a unified diff, or of the ``*** Begin Patch`` dialect that ``apply_patch`` takes."""
    files: list[tuple[str, list[str]]] = []
    for line in _lines(text):
        if match := _FILE.match(line):
            files.append((match[1] or match[2], []))
        elif not _NOISE.match(line) and (files or line[:1] in "+-@"):
            if not files:
                files.append(("", []))
            files[-1][1].append(line)
    return [_file(path, _hunks(lines)) for path, lines in files if any(line[:1] in ("+", "-") for line in lines)]


def _is_whole(text: str) -> bool:
    """Whether the diffs of a patch say all of it: every line is one of theirs, and every file has some."""
    names = [match[1] or match[2] for line in _lines(text) if (match := _FILE.match(line))]
    known = all(_WHOLE.match(line) or line.startswith("*** Update File: ") for line in _lines(text))
    return known and "/dev/null" not in names and names == [file.path for file in from_unified(text)]


def files_of_patch(text: str) -> list[str]:
    """Names of the files of a patch, each once."""
    found = (match[1] or match[2] for line in _lines(text) if (match := _FILE.match(line)))
    return list(dict.fromkeys(found))


def deleted_files(text: str) -> list[str]:
    """Names of the files that a patch deletes, each once, in either dialect."""
    return list(dict.fromkeys(match[1] or match[2] for match in _DELETED.finditer(text)))


def _lines(text: str) -> list[str]:
    """Split at ``\\n`` alone: ``splitlines`` also breaks at U+2028 and would hide it."""
    return text.removesuffix("\n").split("\n") if text else []


def _hunks(lines: list[str]) -> Iterator[Row]:
    old: int | None = None
    new: int | None = None
    for line in lines:
        if match := _HUNK.match(line):
            old, new = (int(match[1]), int(match[2])) if match[1] else (None, None)
            yield Row("@", line)
            continue
        mark = line[:1]
        yield from _numbered(iter([line if mark in ("+", "-") else f" {line.removeprefix(' ')}"]), old, new)
        old = old + (mark != "+") if old is not None else None
        new = new + (mark != "-") if new is not None else None


def _numbered(lines: Iterator[str], old: int | None, new: int | None) -> Iterator[Row]:
    """Diff lines (mark and text) with their numbers, counted from where the hunk starts."""
    for line in lines:
        mark, text = line[:1], line[1:]
        if mark == "+":
            yield Row("+", text, None, new)
        elif mark == "-":
            yield Row("-", text, old, None)
        else:
            yield Row(" ", text, old, new)
        old = old + 1 if old is not None and mark != "+" else old
        new = new + 1 if new is not None and mark != "-" else new


def _changed(group: list[tuple[str, int, int, int, int]], before: list[str], after: list[str]) -> Iterator[str]:
    for tag, a, b, c, d in group:
        if tag == "equal":
            yield from (f" {line}" for line in before[a:b])
            continue
        yield from (f"-{line}" for line in before[a:b])
        yield from (f"+{line}" for line in after[c:d])


def _file(path: str, rows: Iterator[Row]) -> FileDiff:
    kept: list[Row] = []
    for row in rows:
        if len(kept) == MAX_ROWS:
            return FileDiff(path, tuple(kept), cut=True)
        kept.append(row)
    return FileDiff(path, tuple(kept))


def path_of(value: Any) -> str:
    """The path that arguments or a structured result name; empty when there is none."""
    if not isinstance(value, dict):
        return ""
    return next((value[name] for name in PATHS if isinstance(value.get(name), str)), "")


def replacements(arguments: dict[str, Any]) -> list[tuple[str, str]]:
    """Pairs of old and new text that arguments hold, alone or as a list of ``edits``."""
    edits = arguments.get("edits")
    found = (_pair(edit) for edit in (edits if isinstance(edits, list) else [arguments]))
    return [pair for pair in found if pair]


PAIRS = (("old_string", "new_string"), ("oldString", "newString"), ("old_str", "new_str"), ("oldText", "newText"))
"""Names of old and new text, in the dialects of the coding agents."""


def _pair(edit: Any) -> tuple[str, str] | None:
    if isinstance(edit, dict) and (names := _names_of_pair(edit)):
        old, new = names
        return edit[old], edit[new] if isinstance(edit.get(new), str) else ""
    return None


def _names_of_pair(edit: dict[str, Any]) -> tuple[str, ...]:
    """Under which names an edit has its old and its new text; empty where it has none."""
    return next((pair for pair in PAIRS if isinstance(edit.get(pair[0]), str)), ())


_WRITES = re.compile(r"write|create|save", re.IGNORECASE)


def written_text(name: str | None, arguments: dict[str, Any]) -> str | None:
    """The whole text of a file that a call writes; None when it is no such call."""
    if isinstance(arguments.get("file_text"), str):
        return arguments["file_text"]
    writes = name and _WRITES.search(name) and path_of(arguments)
    content = arguments.get("content", arguments.get("contents"))
    return content if writes and isinstance(content, str) else None


def patch_text(arguments: dict[str, Any]) -> str | None:
    """A patch that arguments hold."""
    return next((arguments[name] for name in PATCHES if _is_patch(arguments.get(name))), None)


def _is_patch(text: Any) -> bool:
    return isinstance(text, str) and ("*** Begin Patch" in text or bool(re.search(r"^@@ ", text, re.MULTILINE)))


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else None
