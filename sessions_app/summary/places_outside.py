"""Files outside of the working directory that a call writes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sessions_app.changes import shell
from sessions_app.changes.paths import is_outside, normal

_SCRATCH = re.compile(
    r"(?:/private)?/(?:var/)?tmp(?:/|$)|/(?:private/)?var/folders/|/dev/|/proc/|/run/|/workspace(?:/|$)|\\\\\.\\"
    r"|.*[\\/](?:Temp|tmp|scratchpad|\.?cache|Caches|site-packages|node_modules)(?:[\\/]|$)"
    r"|.*[\\/]\.(?:claude|codex|gemini|qwen|copilot|cursor|windsurf|opencode|factory|kiro|goose|grok|vibe|kimi|agents|config/\w+)"
    r"[\\/](?:[^\n]{0,300}[\\/])?(?:plans?|projects|todos|memor(?:y|ies)|sessions?|session-state|history|brain|artifacts|tmp"
    r"|conversations|transcripts|worktrees|workspaces?|sandbox)(?:[\\/]|$)"
)
"""Where nobody keeps anything: temporary files, caches, devices, and what agents keep of their own runs."""
_WRITES = re.compile(r">|\b(?:tee|touch|rm|mv|cp|ln|install|sed|perl|mkdir|truncate|curl|wget|unlink|rmdir)\b")
_LEADS_OUT = re.compile(r"(?:^|[\s=\"'>])(?:/(?!dev/|tmp\b|proc/)|~/|\.\./|[A-Za-z]:[\\/])")


def is_scratch(path: str) -> bool:
    """Whether a path leads to where nobody keeps anything."""
    return bool(_SCRATCH.match(path))


def written_outside(paths: Sequence[str], command: str, cwd: str) -> str:
    """The first file outside of a working directory that a call edits, or that its command evidently writes; empty for
    none, and where nobody says which directory it is."""
    if not cwd:
        return ""
    found = [path for path in paths if _is_beyond(path, cwd)]
    if not found and command and _LEADS_OUT.search(command[: shell.MOST]) and _WRITES.search(command[: shell.MOST]):
        named = (path for change in shell.writes_of(command) for path in (change.path,) if not path.endswith("/"))
        found = [path for path in named if _is_beyond(path, cwd)]
    return found[0] if found else ""


def _is_beyond(path: str, cwd: str) -> bool:
    inside = normal(path, cwd)
    return is_outside(inside) and not is_scratch(path)
