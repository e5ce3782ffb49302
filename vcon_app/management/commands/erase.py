from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.management.arguments import session_of
from sessions_app.services import audit
from vcon_app.models import Import
from vcon_app.services.erasure import erasing


class Command(BaseCommand):
    help = "Deletes a session or an import for good, with its files; a signed tombstone stays in the audit log."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kind", choices=["session", "import"])
        parser.add_argument("id", metavar="ID")
        parser.add_argument("--reason", required=True, help="why; it is kept for good")
        parser.add_argument(
            "--children", action="store_true", help="of a session: the sessions of its sub-agents, too; else they stay"
        )

    def handle(self, *args: Any, kind: str, id: str, reason: str, children: bool, **options: Any) -> None:
        try:
            if kind == "session":
                session = session_of(id)
                erasing.erase_session(session, by=audit.COMMAND, reason=reason, with_children=children)
            else:
                erasing.erase_import(_import_of(id), by=audit.COMMAND, reason=reason)
        except erasing.CannotErase as refused:
            raise CommandError(f"{refused}") from None
        self.stdout.write(f"deleted the {kind} {id}")


def _import_of(text: str) -> Import:
    try:
        imported = Import.objects.filter(pk=UUID(text)).first()
    except ValueError:
        raise CommandError(f'"{text}" is no import id; it looks like 0198c0de-1234-7abc-8def-0123456789ab') from None
    if imported is None:
        raise CommandError(f"there is no import {text}")
    return imported
