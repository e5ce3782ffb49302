"""What a tool call is to a reader of a run: a command, an edit, a page, a sub-agent; and its object."""

from __future__ import annotations

import re
from typing import Any, Literal

from sessions_app.changes import shell
from sessions_app.changes.calls import Call, changes_of
from sessions_app.rendering.diff import path_of
from sessions_app.rendering.toolline import ASK, describe_call

from .commands import meant
from .lines import cut

CallKind = Literal["command", "edit", "page", "search", "agent", "other"]
SUBJECT = 120
"""Bytes."""
_EDITS = re.compile(r"edit|write|create|patch|replace|insert|delete|remove|rename|move|notebook|save", re.IGNORECASE)
_NO_EDITS = re.compile(r"todo|task|memory|plan|issue|pull|comment|message|event|branch|page|search", re.IGNORECASE)

_LAST = frozenset({
    "attempt_completion", "complete_task", "exit", "final_answer", "final_result", "finish", "mark_task_complete",
    "submit", "task_complete", "task_done",
})  # fmt: skip
"""Tools by which agents say that they are done (OpenHands, SWE-agent, Cline, smolagents, Pydantic AI, Copilot)."""


def ends_run(name: str) -> bool:
    """Whether a call says that the work is done, so that no result need come."""
    return name.rpartition("__")[2].casefold() in _LAST


def kind_of(name: str) -> CallKind:
    """What calls of a tool are, by its name."""
    if shell.command_of(name, {"command": "ls"}):
        return "command"
    line = describe_call(name.rpartition("__")[2] or name, None)
    if line.icon == "terminal":
        return "command"
    if line.icon == "globe":
        return "page" if line.verb == "fetch" else "search"
    if line.icon == "agent" and line.verb != ASK:
        return "agent"
    if line.icon == "pencil" or _EDITS.search(name) and not _NO_EDITS.search(name):
        return "edit"
    return "other"


def command_of(name: str, arguments: Any) -> str:
    """The command that a call runs."""
    return shell.command_of(name, arguments) or describe_call(name, arguments).subject


def edited(name: str, arguments: Any, kind: CallKind, command: str) -> list[str]:
    """Files that a call edits, as it says; what a shell command writes by itself is not among them."""
    if kind == "command":
        if "apply_patch" not in command or "*** Begin Patch" not in command:
            return []
    elif kind != "edit":
        return []
    elif isinstance(arguments, dict) and "patch" not in name and "replacements" not in arguments:
        path = "" if arguments.get("command") == "view" else path_of(arguments)
        if path:
            return [path]
    return [
        change.path for change in changes_of(Call(name, arguments)) if change.kind not in ("seen", "shell", "stated")
    ]


def subject_of(name: str, arguments: Any, kind: CallKind) -> str:
    """The object of a call: the file, the command without its options, the address, the pattern."""
    if kind == "command":
        return meant(command_of(name, arguments))
    return cut(describe_call(name, arguments).subject, SUBJECT)
