from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from sessions_app.management.arguments import workspace_named
from sessions_app.models import AuditEntry, Workspace
from sessions_app.services import audit


class Command(BaseCommand):
    help = "The audit log: `audit verify` checks its chain; exit status 1 when an entry was changed or is missing."

    def add_arguments(self, parser: CommandParser) -> None:
        verify = parser.add_subparsers(dest="action", required=True).add_parser("verify", help="check the chain")
        verify.add_argument("--workspace", metavar="SLUG", help="default: all")

    def handle(self, *args: Any, workspace: str | None, **options: Any) -> None:
        workspaces = [workspace_named(workspace)] if workspace else list(Workspace.objects.order_by("slug"))
        intact = [self._verify(each) for each in workspaces]
        if not all(intact):
            raise SystemExit(1)

    def _verify(self, workspace: Workspace) -> bool:
        """Names the first entry that is broken: every one after it can only be judged once that is understood."""
        broken = next(audit.broken_rows(workspace.id), None)
        if broken:
            seq, reason = broken
            self.stdout.write(f"broken  {workspace.slug}: entry {seq}: {reason}")
            return False
        count = AuditEntry.objects.filter(workspace=workspace).count()
        self.stdout.write(f"intact  {workspace.slug}: {count} entries")
        return True
