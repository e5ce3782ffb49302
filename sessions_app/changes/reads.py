"""Files that a call read whole: what an edit after it is seen against."""

from __future__ import annotations

import re
from typing import Any

TOOLS = frozenset({"read", "readfile", "view", "viewfile", "strreplaceeditor", "strreplacebasededittool", "texteditor"})
"""Names of tools that read one file, without case and "_"."""
PARTIAL = ("offset", "limit", "view_range", "viewRange", "start_line", "startLine", "end_line", "endLine", "pages")
MOST_LINES = 2_000
"""What the readers of Claude Code and OpenCode give without a limit: a text of so many lines may go on."""
MOST_WIDE = 2_000
"""Characters of a line, beyond which they cut it."""
_NUMBERED = re.compile(r" {0,8}0{0,6}(\d{1,7})(?:→|\t|\| )(.*)")


def may_be_whole(name: str, arguments: dict[str, Any]) -> bool:
    """Whether a call asks for a whole file."""
    is_part = any(arguments.get(key) is not None for key in PARTIAL)
    return name in TOOLS and not is_part and arguments.get("command") in (None, "view")


def seen(result: Any, text: str) -> str | None:
    """The whole text of the file that a call read, or None: when it read a part, or that is not certain.

    Only numbered lines tell that they begin with the first and that none is missing.
    """
    file = result.get("file") if isinstance(result, dict) else None
    total = file.get("totalLines") if isinstance(file, dict) else None
    lines: list[str] = []
    for line in text.split("\n"):
        match = _NUMBERED.match(line)
        if match is None:
            if lines:
                break  # a reminder or a closing tag behind the file
            continue
        if int(match[1]) != len(lines) + 1:
            return None
        lines.append(match[2])
    is_cut = len(lines) >= MOST_LINES or any(len(line) >= MOST_WIDE for line in lines)
    is_whole = len(lines) == total if isinstance(total, int) else not is_cut
    return "".join(f"{line}\n" for line in lines) if lines and is_whole and not is_cut else None
