"""``manage.py migrate``: Django's, which makes the tables of an empty database at once."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import migrate

from config.database import first_tables

OF_THE_HISTORY = ("app_label", "plan", "check_unapplied", "fake", "fake_initial")
"""Options that ask for something about single migrations."""


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        if not any(options.get(name) for name in OF_THE_HISTORY) and first_tables.is_empty():
            first_tables.create()
        super().handle(*args, **options)
