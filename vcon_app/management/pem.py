"""PEM files that are named on a command line."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import CommandError

from sessions_app.management.terminal import printable
from vcon_app.signing.keys import LONGEST_PEM


def text_of(path: Path) -> str:
    """What stands in the file; more than any PEM has is not read. Raises ``CommandError``."""
    try:
        with path.open("rb") as file:
            return file.read(LONGEST_PEM + 1).decode("ascii", "replace")
    except OSError as error:
        raise CommandError(f"{printable(path)}: {error.strerror or error}") from None
