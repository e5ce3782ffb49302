"""Sessions that are named by the folder or the name of their file, in formats whose files name none."""

from __future__ import annotations

import re

from ..facts import ID_LIMIT


def session_of(path: str, pattern: re.Pattern[str]) -> str | None:
    """The id in a path: the groups of ``pattern`` that are there, with a slash between them."""
    found = pattern.search(path.replace("\\", "/"))
    return "/".join(group[:ID_LIMIT] for group in found.groups() if group) if found else None
