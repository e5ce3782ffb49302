"""``manage.py restore DIR``: puts a backup into an installation that has nothing in it, and checks it."""

from pathlib import Path
from typing import Any

import psycopg
from django.core.management.base import BaseCommand, CommandParser

from config.backup import restoring
from config.backup.tables import Failed
from config.prepare import connection_parameters


class Command(BaseCommand):
    help = "Restores a backup into an installation that is empty and does not run, and checks it. Exit status 0 or 1."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("directory", type=Path, metavar="DIR", help="the folder that `backup` wrote")

    def handle(self, *args: Any, directory: Path, **options: Any) -> None:
        try:
            restored = restoring.restore(directory.resolve(), connection_parameters())
        except (Failed, OSError, psycopg.Error) as fault:
            self.stderr.write(f"countersign: not restored: {fault}")
            raise SystemExit(1) from None
        rows = sum(table["rows"] for table in restored["tables"].values())
        self.stdout.write(f"{rows:,} rows in {len(restored['tables'])} tables, as of {restored['made_at']}; checked")
