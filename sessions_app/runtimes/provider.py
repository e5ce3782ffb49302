"""The key that an agent's requests to Anthropic carry: the workspace's own, else the installation's."""

from __future__ import annotations

from uuid import UUID

from sessions_app.services import secrets

from . import Failed

NO_KEY = (
    "this agent needs a key of the Anthropic API: an admin can enter one under Settings, Secrets (for all workspaces "
    "an operator sets ANTHROPIC_API_KEY), or give the agent another runtime"
)


def key_of(workspace_id: UUID) -> str:
    """The key. Raises ``Failed`` where there is none that can be used."""
    try:
        key = secrets.provider_key(workspace_id)
    except ValueError as refused:  # for another place, or encrypted under a SECRET_KEY that is gone
        raise Failed(f"the workspace's key of the Anthropic API cannot be used: {refused}") from None
    if not key:
        raise Failed(NO_KEY)
    return key
