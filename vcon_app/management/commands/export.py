from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.management.arguments import session_of
from sessions_app.services import audit
from vcon_app.models import Export
from vcon_app.services import exports

POLL_SECONDS = 0.2


class Command(BaseCommand):
    help = "Writes one session to a file or to standard output. What the format cannot carry is told on standard error."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("session", metavar="SESSION_ID")
        parser.add_argument("--format", required=True)
        parser.add_argument(
            "--output", metavar="PATH", type=Path, help="a file, or a folder for a file of its own name"
        )
        parser.add_argument("--sign", action="store_true", help="with the key named in COUNTERSIGN_SIGNING_KEY")

    def handle(self, *args: Any, session: str, format: str, output: Path | None, **options: Any) -> None:
        wanted = {"signed": True} if options["sign"] else {}
        try:
            export = exports.start_export(session_of(session), format, by=audit.COMMAND, options=wanted)
        except exports.CannotExport as error:
            raise CommandError(str(error)) from None
        export = _written(export)
        if export.status == Export.Status.FAILED:
            raise CommandError(export.error)
        for loss in export.losses:
            self.stderr.write(f"left out: {loss['what']} ({loss['count']}): {loss['why']}")
        try:
            _copy(export, output)
        except OSError as error:
            raise CommandError(f"{output}: {error.strerror or error}") from None


def _written(export: Export) -> Export:
    """The export with its file there. A large one is left to a worker, but here nobody else waits."""
    exports.run(export.pk)
    while True:
        export = Export.objects.select_related("session").get(pk=export.pk)
        if export.status in (Export.Status.DONE, Export.Status.FAILED):
            return export
        time.sleep(POLL_SECONDS)


def _copy(export: Export, output: Path | None) -> None:
    with exports.path_of(export).open("rb") as source:
        if output is None:
            shutil.copyfileobj(source, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        target = output / export.filename if output.is_dir() else output
        with target.open("wb") as file:
            shutil.copyfileobj(source, file)
