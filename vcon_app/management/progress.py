"""What commands that import files show on a terminal: a line for each, and a bar."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TextIO

from sessions_app.management.terminal import printable
from vcon_app.models import Import
from vcon_app.queries.imports import sentence

WIDTH = 24


def result_line(row: Import, path: Path) -> str:
    """What came of a file: ``done    a.jsonl: 1 session, 12 events (claude-code)``."""
    before = "imported before: " if row.duplicate_of_id else ""
    format = f" ({row.format})" if row.format else ""
    return f"{row.status:<7} {printable(path)}: {before}{printable(sentence(row))}{format}"


class Progress:
    """``[#####       ] 3 of 9 files`` in the last line, redrawn in place."""

    def __init__(self, stream: TextIO, total: int) -> None:
        self._stream = stream if stream.isatty() else None
        self._total = total
        self._done = 0

    def __enter__(self) -> Progress:
        self.show()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.clear()

    def advance(self) -> None:
        """One more is done."""
        self._done += 1
        self.show()

    def show(self, part: float = 0) -> None:
        """Draw it; ``part`` is how much of what is not done yet is done, in files."""
        if self._stream:
            filled = int(WIDTH * min(1, (self._done + part) / self._total))
            bar = "#" * filled + " " * (WIDTH - filled)
            self._stream.write(f"\r[{bar}] {self._done} of {self._total} files")
            self._stream.flush()

    def clear(self) -> None:
        """Make room for a line."""
        if self._stream:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
