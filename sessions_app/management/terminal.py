"""What commands say on a terminal: text of strangers could hold commands for it."""

from __future__ import annotations

from pathlib import Path

from sessions_app.rendering.text import mark_invisible


def printable(text: str | Path) -> str:
    """One line without anything that a terminal obeys: names and messages of strangers are in it."""
    return mark_invisible(str(text)).replace("\n", " ")
