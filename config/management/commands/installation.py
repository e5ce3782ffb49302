"""``manage.py installation``: makes a key or a storage of this host the installation's, where that is meant."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from config import installation


class Command(BaseCommand):
    help = "Makes SECRET_KEY and storage of this host those of the installation, after you changed them on purpose."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["accept"], help="all other hosts have to have the same from then on")

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        installation.accept()
        self.stdout.write("the SECRET_KEY and the storage of this host are those of the installation now")
