"""Paths as a reader needs them: from the working directory on, and the name of the file never cut off."""

from __future__ import annotations

from typing import NamedTuple

from .text import clean

MOST = 300
"""Characters of a path that a line holds; of a longer one those at its end."""


class ShownPath(NamedTuple):
    """``folder`` with its slash, empty where there is none; ``name`` of the file; ``whole`` as the call says it."""

    folder: str
    name: str
    whole: str


def shown_path(path: str, cwd: str = "") -> ShownPath:
    """A path on one line. It is relative where it lies in the working directory, which a page says once."""
    whole = " ".join(clean(path).split())
    home = " ".join(clean(cwd).split()).rstrip("/")
    near = whole[len(home) + 1 :] if home and whole.startswith(f"{home}/") else whole
    near = (f"…{near[-MOST:]}" if len(near) > MOST else near) or whole
    at = max(near.rstrip("/\\").rfind("/"), near.rstrip("/\\").rfind("\\")) + 1
    return ShownPath(near[:at], near[at:], whole[-4_000:])
