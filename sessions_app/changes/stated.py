"""A change of a file as a recorder states it, beside the calls: an event of the kind ``file_change``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .change import MOST_CHANGES, Change
from .patches import changes_in
from .paths import normal

HOW = "stated"
FAILED = frozenset({"failed", "declined", "error", "cancelled"})
_DIFF = re.compile(r"^(?:--- |@@ |\*\*\* (?:Add|Update|Delete) File: )", re.MULTILINE)


def failed(data: Mapping[str, Any]) -> bool:
    """Whether the recorder says that the change was not made."""
    return data.get("success") is False or data.get("status") in FAILED


def stated(text: str, data: Mapping[str, Any], cwd: str = "") -> list[Change]:
    """Changes that an event states: its text is a diff, or in a vCon the whole new text (``agent_file_change``)."""
    path = data.get("path")
    path = path if isinstance(path, str) else ""
    found = changes_in(text, HOW, path) if _DIFF.search(text[:4_000]) else []
    if not found:
        found = _without_diff(path, text, data)
    normals = (
        replace(change, path=normal(change.path, cwd), was=normal(change.was, cwd)) for change in found[:MOST_CHANGES]
    )
    return [change for change in normals if change.path]


def _without_diff(path: str, text: str, data: Mapping[str, Any]) -> list[Change]:
    operation = data.get("operation")
    if operation in ("delete", "remove", "deleted"):
        return [Change(path, "deleted", HOW)]
    if text and "type" not in data and data.get("line_range") is None:  # of a vCon: others name their record's type
        return [Change(path, "created" if operation in ("add", "create") else "written", HOW, content=text)]
    paths = data.get("paths")
    several = [each for each in paths if isinstance(each, str)] if isinstance(paths, list) else []
    return [Change(each, "stated", HOW) for each in dict.fromkeys([path, *several]) if each]
