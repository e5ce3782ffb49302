"""Secrets of a workspace as an admin may see them: never with their values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db.models import TextField
from django.db.models.functions import Cast

from sessions_app.encryption import Unreadable, opened
from sessions_app.models import Agent, Secret


@dataclass(frozen=True, slots=True)
class Kept:
    """A secret without its value, and the agents whose tools send it."""

    row: Secret
    agents: list[Agent]
    readable: bool
    """False: it was sealed with a ``SECRET_KEY`` that is gone, and has to be entered again."""


def secrets(workspace_id: UUID) -> list[Kept]:
    """In the order of their names."""
    users = _users(workspace_id)
    rows = Secret.objects.filter(workspace_id=workspace_id).defer("value").order_by("name")
    sealed = rows.annotate(sealed=Cast("value", TextField()))
    return [Kept(row, users.get(row.name, []), _is_readable(row.sealed)) for row in sealed]


def _is_readable(sealed: str) -> bool:
    try:
        opened(sealed)
    except Unreadable:
        return False
    return True


def _users(workspace_id: UUID) -> dict[str, list[Agent]]:
    """Agents by the names of the secrets that their present definitions name."""
    with_servers = Agent.objects.filter(workspace_id=workspace_id, tools__contains=[{"type": "mcp"}])
    found: dict[str, list[Agent]] = {}
    for agent in with_servers.exclude(status=Agent.Status.ARCHIVED).only("name", "slug", "tools").order_by("name"):
        for name in dict.fromkeys(_named(agent.tools)):
            found.setdefault(name, []).append(agent)
    return found


def _named(tools: list[dict[str, object]]) -> Iterator[str]:
    for tool in tools:
        headers = tool.get("headers_secret")
        yield from headers.values() if isinstance(headers, dict) else ()
