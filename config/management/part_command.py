"""A command that runs one kind of part alone (``config.processes.single_part``)."""

from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandParser

from config.processes import single_part

DJANGOS = ("args", "verbosity", "settings", "pythonpath", "traceback", "no_color", "force_color", "skip_checks")


class PartCommand(BaseCommand):
    """``manage.py KIND``, where Django calls it."""

    kind: ClassVar[str]
    requires_system_checks: list[str] = []

    @property
    def help(self) -> str:  # type: ignore[override]
        """What ``help`` says of it."""
        return single_part.HELP[self.kind]

    def add_arguments(self, parser: CommandParser) -> None:
        single_part.add_arguments(self.kind, parser)

    def handle(self, *args: Any, **options: Any) -> None:
        raise SystemExit(single_part.run(self.kind, **{name: options[name] for name in options if name not in DJANGOS}))
