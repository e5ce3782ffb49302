"""What of a folder is somebody's file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def files_in(folder: Path) -> Iterator[Path]:
    """Files below a folder in order of name, hidden ones and links to folders left out. Raises ``OSError``."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from files_in(path)
        elif path.is_file():
            yield path
