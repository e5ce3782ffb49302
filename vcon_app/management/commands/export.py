from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.management.arguments import session_of
from sessions_app.services import audit
from vcon_app.drafts import Option
from vcon_app.models import Export
from vcon_app.services.exports import export_jobs, export_options, handing_on
from vcon_app.services.trust import recipients
from vcon_app.signing.keys import Anchor

POLL_SECONDS = 0.2


class Command(BaseCommand):
    help = (
        "Writes one session to a file or to standard output. What the format cannot carry is listed on standard error."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("session", metavar="SESSION_ID")
        formats = ", ".join(export_options.format_names())
        parser.add_argument("--format", required=True, metavar="FORMAT", help=f"one of {formats}")
        parser.add_argument(
            "--output",
            metavar="PATH",
            type=Path,
            help="a file, or a folder (the file gets its own name); default: standard output",
        )
        parser.add_argument("--signed", "--sign", action="store_true", help="sign it with the key of this installation")
        parser.add_argument(
            "--encrypt-for", metavar="PEM", type=Path, action="append", default=[],
            help="a certificate or public key (RSA) whose owner can read it; may be repeated; it is signed first",
        )  # fmt: skip
        for name, found in export_options.all_options().items():
            parser.add_argument(f"--{name.replace('_', '-')}", nargs="?", const="true", help=_help(found))

    def handle(self, *args: Any, session: str, format: str, output: Path | None, **options: Any) -> None:
        try:
            wanted = _wanted(options)
            export = export_jobs.start_export(session_of(session), format, by=audit.COMMAND, options=wanted)
        except (export_options.CannotExport, recipients.NoRecipient) as error:
            raise CommandError(str(error)) from None
        export = _written(export)
        if export.status == Export.Status.FAILED:
            raise CommandError(export.error)
        for loss in export.losses:
            self.stderr.write(f"left out: {loss['what']} ({loss['count']}): {loss['why']}")
        if reason := handing_on.REASONS.get(handing_on.state_of(export.session)):
            self.stderr.write(f"do not hand it on: {reason}")
        try:
            _copy(export, output)
        except OSError as error:
            raise CommandError(f"{output}: {error.strerror or error}") from None


def _wanted(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, as the service takes them. Raises ``NoRecipient``."""
    chosen = {name: options[name] for name in export_options.all_options() if options[name] is not None}
    if options["signed"]:
        chosen["signed"] = True
    if options["encrypt_for"]:
        chosen["encrypt_for"] = [_recipient(path) for path in options["encrypt_for"]]
    return chosen


def _recipient(path: Path) -> Anchor:
    try:
        pem = path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from None
    return recipients.recipient_from_pem(pem)


def _help(found: list[tuple[str, Option]]) -> str:
    option = found[0][1]
    values = f" ({', '.join(value for value, _ in option.choices)})" if option.choices else ""
    return f"{', '.join(format for format, _ in found)}: {option.title}{values}".replace("%", "%%")


def _written(export: Export) -> Export:
    """The export with its file there. A large one is left to a worker, but here nobody else waits."""
    export_jobs.run(export.pk)
    while True:
        export = Export.objects.select_related("session").get(pk=export.pk)
        if export.status in (Export.Status.DONE, Export.Status.FAILED):
            return export
        time.sleep(POLL_SECONDS)


def _copy(export: Export, output: Path | None) -> None:
    with export_jobs.open_file(export) as source:
        if output is None:
            shutil.copyfileobj(source, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        target = output / export.filename if output.is_dir() else output
        with target.open("wb") as file:
            shutil.copyfileobj(source, file)
