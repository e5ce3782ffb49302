from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from sessions_app.management.arguments import session_of
from sessions_app.models import Session
from sessions_app.services import agent_days
from sessions_app.services.log import projections
from sessions_app.services.money import ledger, totals


class Command(BaseCommand):
    help = (
        "Computes turns, tool calls, totals, costs and search rows of sessions from their logs again. Without a"
        " SESSION_ID it does so for all sessions, and then for usage totals and the balances of wallets, too."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("sessions", nargs="*", metavar="SESSION_ID", help="default: all")

    def handle(self, *args: Any, sessions: list[str], **options: Any) -> None:
        named = [session_of(text).pk for text in sessions]
        ids = named or list(Session.objects.order_by("id").values_list("id", flat=True))
        for number, session_id in enumerate(ids, start=1):
            projections.rebuild(session_id)
            if options["verbosity"] > 1:
                self.stdout.write(f"{number}/{len(ids)} {session_id}")
        if not named:
            totals.rebuild()
            agent_days.rebuild()
            ledger.rebuild()
        self.stdout.write(f"rebuilt {len(ids)} sessions")
