"""Slack workspaces that are connected to a workspace: kept, configured, forgotten."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from sessions_app.models import Agent, SlackInstallation

from .. import audit

SECRETS = ("bot_token", "signing_secret")
"""Deferred wherever they are not needed: one that was encrypted under another ``SECRET_KEY`` cannot be read."""
SECRETS_OF_JOB = tuple(f"installation__{name}" for name in SECRETS)


class NotConnected(ValueError):
    """Slack or the desk refuses the connection; the message says why and what now."""


@dataclass(frozen=True, slots=True)
class Team:
    """A Slack workspace as it describes itself, with the secrets of the app in it."""

    team_id: str
    team_name: str
    bot_user_id: str
    bot_id: str
    bot_token: str
    signing_secret: str


def connected() -> QuerySet[SlackInstallation]:
    """Connected installations, without their secrets."""
    return SlackInstallation.objects.filter(revoked_at=None).defer(*SECRETS)


def of_workspace(workspace_id: UUID) -> QuerySet[SlackInstallation]:
    """Connected installations of a workspace, with their agents, the oldest first."""
    return connected().filter(workspace_id=workspace_id).select_related("agent").order_by("installed_at")


@transaction.atomic
def connect(workspace_id: UUID, team: Team, *, by: audit.Actor, desk_url: str) -> SlackInstallation:
    """Keep a Slack workspace as connected. Raises ``NotConnected`` when it is connected to another workspace."""
    rows = SlackInstallation.objects.select_for_update().defer(*SECRETS)
    before = rows.filter(team_id=team.team_id).first()
    if before and before.revoked_at is None and before.workspace_id != workspace_id:
        raise NotConnected(f"{before} talks to another workspace of this desk; disconnect it there first")
    if before and before.workspace_id != workspace_id:
        before.delete()  # who disconnected it there left nothing of theirs to the next one
    about = {
        "team_name": team.team_name, "bot_user_id": team.bot_user_id, "bot_id": team.bot_id,
        "bot_token": team.bot_token, "signing_secret": team.signing_secret, "desk_url": desk_url,
        "installed_by": by.name,
    }  # fmt: skip
    installation, _ = SlackInstallation.objects.defer(*SECRETS).update_or_create(
        team_id=team.team_id,
        workspace_id=workspace_id,
        defaults=about | {"revoked_at": None, "problem": ""},
        create_defaults=about,
    )
    audit.record(workspace_id, by, "slack.connected", subject=("slack", installation.pk), team=team.team_id)
    return installation


@transaction.atomic
def configure(
    installation: SlackInstallation, *, agent: Agent | None, escalation_channel: str, outsiders: str,
    allow_list: Collection[str], by: audit.Actor,
) -> None:  # fmt: skip
    """Configure which agent answers, where people are asked, and who may talk to the agent."""
    changes: dict[str, Any] = {
        "agent_id": agent.pk if agent else None, "escalation_channel": escalation_channel, "outsiders": outsiders,
        "allow_list": list(allow_list),
    }  # fmt: skip
    SlackInstallation.objects.filter(pk=installation.pk).update(**changes, problem="")
    audited = changes | {"agent_id": str(agent.pk) if agent else None}
    audit.record(installation.workspace_id, by, "slack.changed", subject=("slack", installation.pk), **audited)


@transaction.atomic
def forget(installation: SlackInstallation, by: audit.Actor) -> None:
    """Mark it as disconnected and drop its secrets; requests of this Slack workspace are refused from then on."""
    gone = SlackInstallation.objects.filter(pk=installation.pk, revoked_at=None)
    if gone.update(revoked_at=timezone.now(), bot_token="", signing_secret="", problem=""):
        about = ("slack", installation.pk)
        audit.record(installation.workspace_id, by, "slack.disconnected", subject=about, team=installation.team_id)
