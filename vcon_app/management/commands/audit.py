from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.management.arguments import add_workspace, workspace_named
from sessions_app.management.terminal import printable
from sessions_app.models import Session
from vcon_app.management.files import add_period, period_of, write_file
from vcon_app.management.pem import text_of
from vcon_app.services.checkpoints import verification
from vcon_app.services.checkpoints.verification import Outside, Statement
from vcon_app.services.evidence import audit_export
from vcon_app.signing.keys import Anchor, BadKey, anchor_of


class Command(BaseCommand):
    help = (
        "`audit verify` computes again what was written: audit logs, ledgers, decisions, the links of every event, and "
        "the checkpoints. It names the first thing that was changed, removed or put in, a cut-off end included; exit "
        "status 1 when there is one. docs/record.md says what it proves. `audit export` writes the entries of a period."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        verify = actions.add_parser("verify", help="verify the whole installation, a workspace or a session")
        verify.add_argument("--all", action="store_true", help="the whole installation (the default)")
        verify.add_argument("--workspace", metavar="SLUG", help="only this workspace, without the checkpoints")
        verify.add_argument("--session", metavar="ID", type=UUID, help="only this session")
        verify.add_argument(
            "--key", metavar="PEM", type=Path, help="an earlier key of this installation, which signed what is there"
        )
        verify.add_argument("--witness", metavar="FILE", type=Path, help="checkpoints that a witness has kept")
        export = actions.add_parser("export", help="the entries of a period, as a file")
        export.add_argument("--format", choices=sorted(audit_export.MEDIA_TYPES), default="jsonl")
        add_period(export)
        export.add_argument("--output", metavar="FILE", type=Path, help="default: standard output")
        add_workspace(export)

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        if action == "export":
            workspace = workspace_named(options["workspace"])
            chunks = audit_export.chunks(options["format"], workspace.pk, period_of(options))
            write_file(chunks, options["output"])
        else:
            self._verify(options)

    def _verify(self, options: dict[str, Any]) -> None:
        if sum(bool(options[name]) for name in ("all", "workspace", "session")) > 1:
            raise CommandError("choose one of --all, --workspace and --session")
        if options["witness"] and not options["witness"].is_file():
            raise CommandError(f"{options['witness']}: there is no such file")
        outside = Outside.seen_now(options["witness"])
        whole = True
        with verification.snapshot():
            for statement in _statements(outside, options):
                whole &= statement.ok
                word = "intact" if statement.ok else "broken"
                self.stdout.write(printable(f"{word}  {statement.what}: {statement.detail}"))
        if not whole:
            raise SystemExit(1)


def _statements(outside: Outside, options: dict[str, Any]) -> Iterator[Statement]:
    if options["session"]:
        session = Session.objects.filter(pk=options["session"]).first()
        if session is None:
            raise CommandError(f"there is no session {options['session']}")
        return iter([verification.verify_session(session)])
    anchors = [_anchor(options["key"])] if options["key"] else []
    if options["workspace"]:
        return verification.verify_workspace(workspace_named(options["workspace"]), anchors)
    return verification.verify_all(outside, anchors)


def _anchor(path: Path) -> Anchor:
    try:
        anchor = anchor_of(text_of(path))
    except BadKey as bad:
        raise CommandError(printable(f"{path}: {bad}")) from None
    return Anchor(anchor.key, anchor.certificate, path.name)
