from __future__ import annotations

import re
from argparse import ArgumentTypeError
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from sessions_app.management.arguments import add_workspace, workspace_named
from sessions_app.management.terminal import printable
from sessions_app.models import Agent, Role, Stop, Workspace
from sessions_app.queries import stops as queries
from sessions_app.services import audit
from sessions_app.services.stops import stops

UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
DURATION = re.compile(r"([1-9][0-9]{0,8})([smhd])", re.ASCII)


class Command(BaseCommand):
    help = (
        "Stops: `stop --reason WHY` stops every agent of the workspace, with `--agent NAME` only that one; `stop list` "
        "shows the stops in force, `stop lift ID` lifts one."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", choices=("make", "lift", "list"), default="make")
        parser.add_argument(
            "id", nargs="?", metavar="ID", help="id of the stop to lift; may be left out when only one is in force"
        )
        parser.add_argument(
            "--agent", metavar="NAME", help="name or slug of the only agent to stop; default: every agent"
        )
        parser.add_argument("--reason", default="", help="why; everybody who meets the stop reads it")
        parser.add_argument(
            "--for",
            dest="duration",
            metavar="TIME",
            type=duration,
            help="how long, such as 30m, 2h or 3d; default: until it is lifted",
        )
        add_workspace(parser)

    def handle(self, *args: Any, action: str, workspace: str, **options: Any) -> None:
        getattr(self, f"_{action}")(workspace_named(workspace), **options)

    def _make(
        self, workspace: Workspace, id: str | None, agent: str | None, reason: str, duration: timedelta | None,
        **options: Any,
    ) -> None:  # fmt: skip
        if id:
            raise CommandError(f'"{id}" is not expected here; name an agent with --agent')
        only = _agent_named(workspace, agent) if agent is not None else None
        until = timezone.now() + duration if duration else None
        try:
            made = stops.make(workspace, by=audit.COMMAND, role=Role.ADMIN, reason=reason, agent=only, until=until)
        except stops.Refused as refused:
            raise CommandError(f"--{'for' if refused.field == 'until' else refused.field}: {refused}") from None
        self.stdout.write(printable(f"{made.pk}  {queries.sentence(made)}"))
        denied = sum(one.denied for one in made.sessions.all())
        turns = sum(one.turn_interrupted for one in made.sessions.all())
        rest = "" if made.carried_out_at else "; the rest follows within seconds"
        self.stdout.write(f"denied {denied} calls, interrupted {turns} turns{rest}; nothing new begins")

    def _lift(self, workspace: Workspace, id: str | None, reason: str, **options: Any) -> None:
        stop = _stop_named(workspace, id)
        try:
            stops.lift(stop, by=audit.COMMAND, role=Role.ADMIN, reason=reason)
        except (stops.Refused, stops.NotInForce) as refused:
            raise CommandError(str(refused)) from None
        self.stdout.write(f"lifted {stop.pk}; messages that were held back wait until somebody sends them")

    def _list(self, workspace: Workspace, **options: Any) -> None:
        for stop in queries.in_force(workspace.pk):
            self.stdout.write(printable(f"{stop.pk}  {queries.sentence(stop)}"))


def duration(text: str) -> timedelta:
    """``2h`` as a time."""
    found = DURATION.fullmatch(text)
    seconds = int(found[1]) * UNITS[found[2]] if found else 0
    if not 0 < seconds <= stops.LONGEST.total_seconds():
        raise ArgumentTypeError(f'"{text}" is no time up to {stops.LONGEST.days} days; write it as 90s, 30m, 2h or 3d')
    return timedelta(seconds=seconds)


def _agent_named(workspace: Workspace, name: str) -> Agent:
    here = Agent.objects.filter(workspace=workspace)
    found = here.filter(slug=name).first() or here.filter(name=name).order_by("created_at").first()
    if found is None:
        raise CommandError(f'there is no agent "{name}" in the workspace {workspace.slug}; nothing was stopped')
    return found


def _stop_named(workspace: Workspace, id_: str | None) -> Stop:
    """The stop with this id; the only one in force where none is given."""
    holding = list(queries.in_force(workspace.pk))
    if id_ is None:
        if len(holding) != 1:
            raise CommandError(f"{len(holding)} stops are in force; name one by its id, see `stop list`")
        return holding[0]
    try:
        found = queries.recent(workspace.pk).filter(pk=UUID(id_)).first()
    except ValueError:
        found = None
    if found is None:
        raise CommandError(f'there is no stop "{id_}" in the workspace {workspace.slug}; see `stop list`')
    return found
