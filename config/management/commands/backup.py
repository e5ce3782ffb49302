"""``manage.py backup DIR``: database, documents, checkpoints and keys in a directory; checked by reading it again."""

from pathlib import Path
from typing import Any

import psycopg
from django.core.management.base import BaseCommand, CommandParser

from config.backup import making
from config.backup.tables import Failed
from config.prepare import connection_parameters


class Command(BaseCommand):
    help = "Writes database, documents, checkpoints and keys into a directory, while the desk may run; status 0 or 1."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("directory", type=Path, metavar="DIR", help="a new or empty folder")
        parser.add_argument(
            "--replace", action="store_true", help="replace the backup in DIR once the new one is complete"
        )

    def handle(self, *args: Any, directory: Path, replace: bool, **options: Any) -> None:
        try:
            made = making.make(directory.resolve(), connection_parameters(), replace=replace)
        except (Failed, OSError, psycopg.Error) as fault:
            self.stderr.write(f"countersign: no backup was made: {fault}")
            raise SystemExit(1) from None
        rows = sum(table["rows"] for table in made["tables"].values())
        files = sum(name.startswith("documents/") for name in made["files"])
        self.stdout.write(f"{directory}: {rows:,} rows in {len(made['tables'])} tables, {files:,} documents; checked")
