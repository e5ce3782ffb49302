"""``manage.py doctor``: what is in order, what is not, and what to do about it."""

from typing import Any

from django.core.management.base import BaseCommand

from config import doctor


class Command(BaseCommand):
    help = "Checks database, broker, worker, storage, clock, secrets and more; exit status 1 when one has a fault."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        checks = doctor.diagnose()
        for check in checks:
            if check.fault:
                self.stdout.write(f"fault  {check.name}: {check.fault}; {check.remedy}")
            else:
                self.stdout.write(f"notice {check.name}: {check.notice}" if check.notice else f"ok     {check.name}")
        if any(check.fault for check in checks):
            raise SystemExit(1)
