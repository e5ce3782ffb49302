"""What one tool call does to files, from its name, its arguments and its result.

Known by the shape of the arguments, as ``rendering.diff`` knows an edit: Claude Code (Edit, MultiEdit, Write,
NotebookEdit), ``apply_patch`` of Codex and OpenCode, ``str_replace`` of Anthropic's text editor (OpenHands, SWE-agent,
Copilot CLI), Gemini and Qwen (replace, write_file), Cursor, OpenCode, Copilot in VS Code, MCP's file system server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from sessions_app.rendering.diff import patch_text, path_of, replacements, written_text

from . import reads, shell
from .change import MOST_CHANGES, Change, Edit, Kind
from .patches import changes_in, is_patch
from .paths import join, normal

MOST_HUNKS = 1_000
_SIMPLE = re.compile(r"[_\-. ]")
_SWE_FILE = re.compile(r"\[File: (\S[^\n]{0,999}) \(\d+ lines total\)\]")
_SWE_EDIT = re.compile(r"edit \d{1,9}:\d{1,9}\n(.*?)(?:\nend_of_edit\s*)?\Z", re.DOTALL)
DELETES = frozenset({"deletefile", "delete", "removefile", "rmfile"})
MOVES = frozenset({"movefile", "renamefile", "rename", "move"})
EDITS = frozenset({"editfile", "inserteditintofile", "edit", "editnotebookfile", "notebookedit", "undoedit"})
"""Names of tools that edit, without case and "_", whose arguments may say no more than the file."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call with what came of it."""

    name: str | None
    arguments: Any = None
    result: Any = None
    """Its structured result, as far as the recorder kept one."""
    text: str = ""
    """Text of its result."""
    cwd: str = ""
    """Working directory, where it is known."""


def changes_of(call: Call) -> list[Change]:
    """Changes of files that a call makes if it succeeds, by normal paths; and the file that it may have read whole."""
    found: list[Change] = []
    for change in islice(_found(call), MOST_CHANGES):
        path, was = normal(change.path, call.cwd), normal(change.was, call.cwd)
        directory = "/" if change.kind == "shell" and change.path.endswith("/") else ""
        if path:
            found.append(replace(change, path=path + directory, was=was if was != path else ""))
    return found


def _found(call: Call) -> Iterator[Change]:
    name = _SIMPLE.sub("", (call.name or "").rpartition("__")[2]).lower()
    if command := shell.command_of(call.name, call.arguments):
        yield from shell.writes_of(command, _directory(call.arguments))
        return
    arguments = call.arguments if isinstance(call.arguments, dict) else {"patch": call.arguments}
    how = call.name or "edit"
    if text := _patch(arguments, name):
        yield from changes_in(text, how, path_of(arguments))
        return
    if isinstance(several := arguments.get("replacements"), list):
        for each in several[:MOST_CHANGES]:
            if isinstance(each, dict) and (pairs := replacements(each)):
                yield Change(path_of(each), "edited", how, _edits(pairs, each))
        return
    if found := _swe_edit(call, arguments, how) if name == "edit" else None:
        yield found
    elif change := _of_one_file(name, how, arguments, call):
        yield change
    elif reads.may_be_whole(name, arguments):
        content = reads.seen(call.result, call.text)
        yield Change(path_of(arguments) or path_of(call.result), "seen", how, content=content)


def _of_one_file(name: str, how: str, arguments: dict[str, Any], call: Call) -> Change | None:
    path = path_of(arguments) or path_of(call.result)
    operation = arguments.get("command")
    if name in MOVES or operation == "rename":
        return _move(arguments, how)
    if not path:
        return None
    if pairs := replacements(arguments):
        if all(not old for old, _ in pairs) and len(pairs) == 1 and name in ("edit", "replace"):  # Gemini: a new file
            return Change(path, "created", how, content=pairs[0][1])
        return Change(path, "edited", how, _edits(pairs, arguments), hunks=_patch_of(call.result))
    if isinstance(source := arguments.get("new_source"), str):
        return _cell(path, how, source, arguments)
    if (content := written_text(call.name, arguments)) is not None:
        hunks = _patch_of(call.result)
        return Change(path, _written_kind(name, operation, call), how, content=content, hunks=hunks)
    if operation == "insert":
        return _insert(path, how, arguments)
    if name in DELETES or operation == "delete":
        return Change(path, "deleted", how)
    is_edit = name in EDITS and operation in (None, "undo_edit")
    return Change(path, "edited", how, hunks=_patch_of(call.result)) if is_edit else None


def _patch(arguments: dict[str, Any], name: str) -> str:
    """The patch of a call; that of OpenAI's ``apply_patch_call`` has the head that its operation stands for."""
    operation = arguments.get("operation", arguments)
    if isinstance(operation, dict) and operation.get("type") in ("create_file", "update_file", "delete_file"):
        verb = {"create_file": "Add", "update_file": "Update"}.get(operation["type"], "Delete")
        diff = operation.get("diff")
        return f"*** {verb} File: {path_of(operation)}\n{diff if isinstance(diff, str) else ''}"
    found = patch_text(arguments)
    if found is None and "patch" in name:
        texts = (arguments.get(key) for key in ("patch", "patchText", "input", "diff"))
        found = next((text for text in texts if isinstance(text, str) and is_patch(text)), None)
    return found or ""


def _edits(pairs: list[tuple[str, str]], arguments: dict[str, Any]) -> tuple[Edit, ...]:
    found = arguments.get("edits")
    each = found if isinstance(found, list) else [arguments]
    everywhere = [isinstance(edit, dict) and _is_everywhere(edit) for edit in each]
    everywhere = everywhere if len(everywhere) == len(pairs) else [False] * len(pairs)
    return tuple(Edit(old, new, all_) for (old, new), all_ in zip(pairs[:MOST_HUNKS], everywhere, strict=False))


def _is_everywhere(edit: dict[str, Any]) -> bool:
    expected = edit.get("expected_replacements")
    return (
        edit.get("replace_all") is True or edit.get("replaceAll") is True or edit.get("allow_multiple") is True
        or isinstance(expected, int) and expected > 1
    )  # fmt: skip


def _patch_of(result: Any) -> tuple[Edit, ...]:
    """Hunks of a ``structuredPatch`` (Claude Code), with their surroundings and line numbers."""
    hunks = result.get("structuredPatch") if isinstance(result, dict) else None
    found = []
    for hunk in hunks[:MOST_HUNKS] if isinstance(hunks, list) else ():
        lines = hunk.get("lines") if isinstance(hunk, dict) else None
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            continue
        old = "".join(f"{line[1:]}\n" for line in lines if line[:1] in (" ", "-"))
        new = "".join(f"{line[1:]}\n" for line in lines if line[:1] in (" ", "+"))
        found.append(Edit(old, new, line=_number(hunk.get("newStart"), more=not new), whole_lines=True))
    return tuple(found)


_NEW = re.compile(r"(?:file )?(?:successfully )?created|created (?:new |and wrote )", re.IGNORECASE)
_OVERWRITTEN = re.compile(r"updated|overwr[io]t", re.IGNORECASE)


def _written_kind(name: str, operation: Any, call: Call) -> Kind:
    """Created, where the call or its result says so; else it is not known whether there was a file before."""
    kind = call.result.get("type") if isinstance(call.result, dict) else None
    if kind == "create" or operation == "create" or name in ("createfile", "create"):
        return "created"
    head = call.text[:200]
    return "created" if kind is None and _NEW.search(head) and not _OVERWRITTEN.search(head) else "written"


def _cell(path: str, how: str, source: str, arguments: dict[str, Any]) -> Change:
    """A cell of a notebook: the text of the one that is replaced is not in the call."""
    if arguments.get("edit_mode") == "delete":
        return Change(path, "edited", how)
    return Change(
        path, "edited", how, (Edit("", source if source.endswith("\n") else f"{source}\n", whole_lines=True),)
    )


def _insert(path: str, how: str, arguments: dict[str, Any]) -> Change:
    line, text = arguments.get("insert_line"), arguments.get("insert_text", arguments.get("new_str"))
    if not isinstance(text, str):
        return Change(path, "edited", how)
    new = text if text.endswith("\n") else f"{text}\n"
    return Change(path, "edited", how, (Edit("", new, line=_number(line, more=1), whole_lines=True),))


def _number(value: Any, more: int) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9
    return value + more if is_number else None


def _move(arguments: dict[str, Any], how: str) -> Change | None:
    sources = ("source", "old_path", "oldPath", "from", "path")
    into = ("destination", "new_path", "newPath", "to")
    was, path = (next((arguments[key] for key in keys if isinstance(arguments.get(key), str)), "") for keys in
                 (sources, into))  # fmt: skip
    return Change(path, "renamed", how, was=was) if was and path else None


def _swe_edit(call: Call, arguments: dict[str, Any], how: str) -> Change | None:
    """SWE-agent's edit of the file that is open, which its result names."""
    opened = _SWE_FILE.search(call.text[:8_000])
    if opened is None:
        return None
    if isinstance(arguments.get("search"), str):
        new = arguments.get("replace")
        pair = (arguments["search"], new if isinstance(new, str) else "")
        return Change(opened[1], "edited", how, (Edit(*pair, arguments.get("replace-all") is True),))
    command = arguments.get("command")
    if isinstance(command, str) and (match := _SWE_EDIT.match(command)):
        text: Any = match[1]
    else:
        text = arguments.get("replacement_text")
    if not isinstance(text, str):
        return None
    # The lines that it replaces are named by their numbers alone: what stood there is not told.
    return Change(opened[1], "edited", how, (Edit("", f"{text}\n" if text else "", whole_lines=True),))


def _directory(arguments: Any) -> str:
    """The directory that a command runs in, where the call names one."""
    if not isinstance(arguments, dict):
        return ""
    names = ("workdir", "cwd", "working_directory", "workingDirectory", "directory")
    return next((join("", arguments[name]) for name in names if isinstance(arguments.get(name), str)), "")
