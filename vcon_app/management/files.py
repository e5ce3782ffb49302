"""Files that commands write for a period: their arguments, and how they come to lie where they were asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from vcon_app.services.evidence.period import NoPeriod, Period, of_days


def add_period(parser: CommandParser, *, required: bool = False) -> None:
    """``--from DATE --to DATE``: whole days in UTC, both of them in it."""
    parser.add_argument("--from", dest="first", metavar="DATE", required=required, help="first day (UTC), 2026-11-01")
    parser.add_argument("--to", dest="last", metavar="DATE", required=required, help="last day (UTC), still in it")


def period_of(options: dict[str, Any]) -> Period:
    """The period of the arguments. Raises ``CommandError``."""
    first = _day("--from", options["first"]) if options["first"] else date(1970, 1, 1)
    last = _day("--to", options["last"]) if options["last"] else date(9999, 12, 29)
    try:
        return of_days(first, last)
    except NoPeriod as error:
        raise CommandError(str(error)) from None


def _day(name: str, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise CommandError(f'{name} "{text}" is no date; it looks like 2026-11-22') from None


def write_file(chunks: Iterator[bytes], output: Path | None) -> None:
    """To a file, whole or not at all, or to standard output. Raises ``CommandError``."""
    if output is None:
        for chunk in chunks:
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return
    aside = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        with aside.open("xb") as file:
            for chunk in chunks:
                file.write(chunk)
        aside.replace(output)
    except OSError as error:
        raise CommandError(f"{output}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
