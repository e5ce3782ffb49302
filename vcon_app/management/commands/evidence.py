from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Q

from sessions_app.management.arguments import add_workspace, workspace_named
from sessions_app.management.terminal import printable
from sessions_app.models import Agent
from sessions_app.services import audit
from vcon_app.management.files import add_period, period_of, write_file
from vcon_app.services.evidence import pack
from vcon_app.signing.keys import BadKey


class Command(BaseCommand):
    help = (
        "Writes the evidence pack of a period: decisions with their receipts, who oversaw and how fast, rules, stops, "
        "incidents, and the audit log with what is needed to verify it elsewhere. `verify` checks it: docs/proof.md."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        add_period(parser, required=True)
        parser.add_argument("--agent", metavar="NAME", default="", help="only decisions of this agent (name or slug)")
        parser.add_argument(
            "--output", metavar="FILE", type=Path, help="a file or a folder; default: a name of its own in this folder"
        )
        add_workspace(parser)

    def handle(self, *args: Any, agent: str, output: Path | None, workspace: str, **options: Any) -> None:
        place, period = workspace_named(workspace), period_of(options)
        if agent and not Agent.objects.filter(Q(slug=agent) | Q(name=agent), workspace=place).exists():
            raise CommandError(printable(f'there is no agent "{agent}" in the workspace "{place.slug}"'))
        target = output or Path(pack.file_name(place, period))
        if target.is_dir():
            target = target / pack.file_name(place, period)
        try:
            write_file(pack.write(place, period, agent=agent, by=audit.COMMAND), target)
        except BadKey as error:
            raise CommandError(f"the key that it is signed with cannot be used: {error}") from None
        self.stdout.write(printable(f"written: {target} ({target.stat().st_size:,} bytes)"))
