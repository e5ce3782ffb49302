from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.management.arguments import add_workspace, workspace_named
from sessions_app.models import ApiKey, Role
from sessions_app.services import api_keys, audit


class Command(BaseCommand):
    help = "API keys: `apikey create` prints a new one on standard output, once; only its hash is kept."

    def add_arguments(self, parser: CommandParser) -> None:
        create = parser.add_subparsers(dest="action", required=True).add_parser(
            "create", help="make a key and print it"
        )
        create.add_argument("--name", required=True, help="what it is for; shown where it acts")
        create.add_argument("--role", required=True, choices=Role.values)
        add_workspace(create)

    def handle(self, *args: Any, name: str, role: str, workspace: str, **options: Any) -> None:
        longest = ApiKey._meta.get_field("name").max_length
        if not name.strip() or len(name) > longest:
            raise CommandError(f"a name has 1 to {longest} characters, this one has {len(name.strip())}")
        _, secret = api_keys.create_api_key(workspace_named(workspace), name.strip(), Role(role), by=audit.COMMAND)
        self.stdout.write(secret)
