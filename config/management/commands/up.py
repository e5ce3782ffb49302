"""``manage.py up`` for ``help``: ``manage.py`` itself goes to the supervisor without loading Django."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from config.processes import supervisor


class Command(BaseCommand):
    help = "Starts the database, the web server, the worker and the scheduler, and prints a line when they serve."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        supervisor.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        raise SystemExit(supervisor.up(**{name: options[name] for name in supervisor.OPTIONS}))
