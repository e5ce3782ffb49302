from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from sessions_app.services.people import sign_in_throttle
from sessions_app.services.people.password_checks import canonical_name


class Command(BaseCommand):
    help = "Forgets wrong passwords: whoever has this e-mail or user name may try to sign in again at once."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the e-mail or user name that was tried")

    def handle(self, *args: Any, name: str, **options: Any) -> None:
        name = canonical_name(name)
        forgotten = sign_in_throttle.forget_name(name)
        self.stdout.write(f"{name} may sign in at once" if forgotten else f"nobody tried to sign in as {name} lately")
