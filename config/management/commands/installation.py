"""``manage.py installation``: makes a key or a storage of this host the installation's, where that is meant."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from config import installation


class Command(BaseCommand):
    help = "Makes SECRET_KEY and storage of this host the installation's, after they were changed on purpose."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["accept"])

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        installation.accept()
        self.stdout.write("SECRET_KEY and storage of this host are the installation's now")
