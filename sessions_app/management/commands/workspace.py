from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_slug

from sessions_app.models import Workspace
from sessions_app.services import audit, workspaces


class Command(BaseCommand):
    help = "Workspaces: `workspace create` makes another one; the admins of the default one are its admins."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        create = parser.add_subparsers(dest="action", required=True).add_parser("create", help="make a workspace")
        create.add_argument("slug", metavar="SLUG", help="letters, digits, - and _")
        create.add_argument("--name", default="", help="what people read; default: the slug")

    def handle(self, *args: Any, slug: str, name: str, **options: Any) -> None:
        for value, field in ((slug, "slug"), (name, "name")):
            longest = Workspace._meta.get_field(field).max_length
            if len(value) > longest:
                raise CommandError(f"a {field} has at most {longest} characters, this one has {len(value)}")
        try:
            validate_slug(slug)
            workspaces.default_workspace()
            workspace = workspaces.create_workspace(slug, name, by=audit.COMMAND)
        except ValidationError:
            raise CommandError(f'"{slug}" is no slug; use letters, digits, - and _') from None
        except workspaces.Refused as refused:
            raise CommandError(str(refused)) from None
        self.stdout.write(f"workspace {workspace.slug} {workspace.id}")
