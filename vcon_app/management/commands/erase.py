from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.management.arguments import session_of
from sessions_app.services import audit
from vcon_app.models import Import
from vcon_app.services.erasure import erasing, months


class Command(BaseCommand):
    help = (
        "Deletes a session, an import, or all sessions from before a day for good; a signed tombstone of each remains."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kind", choices=["session", "import", "before"], help="what to delete")
        parser.add_argument(
            "id",
            metavar="ID|DAY",
            help="with before: 2026-12-01 means sessions made before that day (UTC) and not changed since",
        )
        parser.add_argument("--reason", required=True, help="why; it is kept for good")
        parser.add_argument(
            "--children",
            action="store_true",
            help="with session: the sessions of its sub-agents, too; otherwise they stay",
        )

    def handle(self, *args: Any, kind: str, id: str, reason: str, children: bool, **options: Any) -> None:
        if kind == "before":
            self._erase_before(_day_of(id), reason)
            return
        try:
            if kind == "session":
                session = session_of(id)
                erasing.erase_session(session, by=audit.COMMAND, reason=reason, with_children=children)
            else:
                erasing.erase_import(_import_of(id), by=audit.COMMAND, reason=reason)
        except erasing.CannotErase as refused:
            raise CommandError(f"{refused}") from None
        self.stdout.write(f"deleted the {kind} {id}")

    def _erase_before(self, day: date, reason: str) -> None:
        erased = months.erase_before(day, by=audit.COMMAND, reason=reason)
        dropped = f"; {', '.join(erased.parts)} dropped" if erased.parts else ""
        self.stdout.write(f"deleted {erased.sessions} sessions from before {day}{dropped}")
        for part in erased.held:
            self.stdout.write(f"{part} is in use; it is dropped within an hour")
        for session, why in erased.stays.items():
            self.stderr.write(f"{session} stays: {why}")
        if erased.stays:
            raise CommandError(f"{len(erased.stays)} sessions stay")


def _day_of(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise CommandError(f'"{text}" is no day; it looks like 2026-12-01') from None
    if day > datetime.now(UTC).date():
        raise CommandError(f"{day} is yet to come")
    return day


def _import_of(text: str) -> Import:
    try:
        imported = Import.objects.filter(pk=UUID(text)).first()
    except ValueError:
        raise CommandError(f'"{text}" is no import id; it looks like 0198c0de-1234-7abc-8def-0123456789ab') from None
    if imported is None:
        raise CommandError(f"there is no import {text}")
    return imported
