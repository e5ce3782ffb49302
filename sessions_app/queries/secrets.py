"""Secrets of a workspace as an admin may see them: never with their values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db.models import TextField
from django.db.models.functions import Cast

from sessions_app.encryption import Unreadable, decrypt
from sessions_app.models import Agent, Secret


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """A secret without its value, and the agents whose tools send it."""

    row: Secret
    agents: list[Agent]
    readable: bool
    """False: it was encrypted under a ``SECRET_KEY`` that is gone, and has to be entered again."""


def secrets(workspace_id: UUID) -> list[StoredSecret]:
    """Secrets of a workspace without their values, in the order of their names."""
    users = _users(workspace_id)
    rows = Secret.objects.filter(workspace_id=workspace_id).defer("value").order_by("name")
    # As text: the field itself would decrypt, and raise at the first secret of a key that is gone.
    rows = rows.annotate(token=Cast("value", TextField()))
    return [StoredSecret(row, users.get(row.name, []), _is_readable(row.token)) for row in rows]


def _is_readable(token: str) -> bool:
    try:
        decrypt(token)
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
