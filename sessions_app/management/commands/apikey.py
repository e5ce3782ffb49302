from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.management.arguments import add_workspace, workspace_named
from sessions_app.models import Agent, ApiKey, Role, Workspace
from sessions_app.services import agents, audit
from sessions_app.services.people import api_keys


class Command(BaseCommand):
    help = "API keys: `apikey create` prints a new one on standard output, once; only its hash is kept."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        create = parser.add_subparsers(dest="action", required=True).add_parser(
            "create", help="make a key and print it"
        )
        create.add_argument("--name", required=True, help="what it is for; shown where it acts")
        create.add_argument(
            "--role",
            required=True,
            choices=Role.values,
            help="what it may do; agent: ask, and report sessions of its own",
        )
        create.add_argument(
            "--agent", metavar="NAME", help="the only agent whose sessions and approvals it sees; made if there is none"
        )
        create.add_argument(
            "--expires-in", metavar="DAYS", type=_days, help="how long it works; default: until it is revoked"
        )
        add_workspace(create)

    def handle(
        self,
        *args: Any,
        name: str,
        role: str,
        workspace: str,
        agent: str | None,
        expires_in: timedelta | None,
        **options: Any,
    ) -> None:
        longest = ApiKey._meta.get_field("name").max_length
        if not name.strip() or len(name) > longest:
            raise CommandError(f"a name has 1 to {longest} characters, this one has {len(name.strip())}")
        within = workspace_named(workspace)
        only = _agent_named(within, agent) if agent is not None else None
        _, secret = api_keys.create_api_key(
            within, name.strip(), Role(role), by=audit.COMMAND, agent=only, expires_in=expires_in
        )
        self.stdout.write(secret)


def _days(text: str) -> timedelta:
    days = int(text) if text.isascii() and text.isdigit() and len(text) <= 5 else 0
    if not 1 <= days <= api_keys.MOST_DAYS:
        raise ArgumentTypeError(f'"{text}" is no number of days from 1 to {api_keys.MOST_DAYS}')
    return timedelta(days=days)


def _agent_named(workspace: Workspace, name: str) -> Agent:
    """The agent of this name or slug. One that is not there yet is made, as by its first event."""
    if not name.strip():
        raise CommandError("--agent is empty; give the name of an agent, or leave it out")
    return agents.get_or_create_agent(workspace.id, name.strip())
