from __future__ import annotations

import sys
from getpass import getpass
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.management.arguments import add_workspace, workspace_named
from sessions_app.models import Secret
from sessions_app.services import audit, secrets


class Command(BaseCommand):
    help = "Secrets that agents' tools send: `secret set NAME --origin URL` reads the value from standard input."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        keep = actions.add_parser("set", help="store a value under a name, or replace the one there")
        keep.add_argument("name")
        keep.add_argument(
            "--origin", required=True, help="the only address it is sent to, such as https://mcp.example.com"
        )
        forget = actions.add_parser("delete", help="delete it")
        forget.add_argument("name")
        for action in (keep, forget, actions.add_parser("list", help="names and origins; values are never shown")):
            add_workspace(action)

    def handle(self, *args: Any, action: str, workspace: str, **options: Any) -> None:
        getattr(self, f"_{action}")(workspace_named(workspace), **options)

    def _set(self, workspace: Any, name: str, origin: str, **options: Any) -> None:
        value = getpass("Value: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
        try:
            secrets.store_secret(workspace.id, name, value, origin, by=audit.COMMAND)
        except secrets.Refused as refused:
            raise CommandError(str(refused)) from None

    def _delete(self, workspace: Any, name: str, **options: Any) -> None:
        if not secrets.forget(workspace.id, name, by=audit.COMMAND):
            raise CommandError(f'there is no secret "{name}" in the workspace {workspace.slug}')

    def _list(self, workspace: Any, **options: Any) -> None:
        for name, origin in Secret.objects.filter(workspace=workspace).order_by("name").values_list("name", "origin"):
            self.stdout.write(f"{name}  {origin}")
