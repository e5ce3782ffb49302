"""``manage.py prepare``: migrations, queues, static files, the first admin; `up` runs it before it serves."""

import argparse
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from config import prepare
from sessions_app.services.people import members


class Command(BaseCommand):
    help = "Gets database, queues and static files ready, and prints a one-time sign-in path for the first admin."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--demo", action="store_true", help="load the example sessions, once")
        parser.add_argument("--static", action="store_true", help="only the static files, which need no database")
        parser.add_argument("--part", help=argparse.SUPPRESS)  # what a part that is started alone needs

    def handle(self, *args: Any, demo: bool, static: bool, part: str | None, **options: Any) -> None:
        if static or part:
            self._prepare_some(part)
            return
        prepare.uploads()
        prepare.database()
        prepare.static_files()
        if demo:
            call_command("demo", stdout=self.stderr)
        self.stdout.write(members.one_time_link_for_first_admin())

    def _prepare_some(self, part: str | None) -> None:
        if part:
            prepare.part()
        if part in (None, "web"):
            prepare.static_files()
        self.stdout.write("ready")
