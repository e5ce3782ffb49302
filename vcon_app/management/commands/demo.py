from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from sessions_app.services import audit, workspaces
from vcon_app.services.imports import demo


class Command(BaseCommand):
    help = "Loads the example sessions that ship with Countersign into the default workspace; again it changes nothing."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        for imported in demo.load(workspaces.default_workspace(), by=audit.Actor("command", name="demo")):
            if imported.error:
                raise CommandError(imported.error)
            self.stdout.write(f"{imported.filename}: {imported.events} events")
