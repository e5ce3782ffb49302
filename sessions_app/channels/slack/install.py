"""Slack workspaces that are connected: by a token that an admin enters, or by Slack's OAuth; and how that ends."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from urllib.parse import urlencode, urljoin
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from sessions_app.models import Agent, SlackInstallation
from sessions_app.services import audit

from . import api
from .manifest import SCOPES

SECRETS = ("bot_token", "signing_secret")


class NotConnected(ValueError):
    """Slack or the desk refuses the connection; the message says why and what now."""


def connected() -> QuerySet[SlackInstallation]:
    """Those that are connected, without their secrets."""
    return SlackInstallation.objects.filter(revoked_at=None).defer(*SECRETS)


def of_workspace(workspace_id: UUID) -> QuerySet[SlackInstallation]:
    """The connected ones of a workspace, with their agents, the oldest first."""
    return connected().filter(workspace_id=workspace_id).select_related("agent").order_by("installed_at")


def desk_url(installation: SlackInstallation) -> str:
    """Where links of messages in Slack lead, without a slash at the end."""
    return (settings.PUBLIC_URL or installation.desk_url).rstrip("/")


def connect_with_token(
    workspace_id: UUID, token: str, signing_secret: str, *, by: audit.Actor, desk: str
) -> SlackInstallation:
    """Connect the Slack workspace that a bot token belongs to. Raises ``NotConnected``."""
    told = _asked(token, "auth_test")
    if not told.get("bot_id"):
        raise NotConnected("this is the token of a person; use the bot token, which begins with xoxb-")
    about = {"team_name": told.get("team", ""), "bot_user_id": told["user_id"], "bot_id": told["bot_id"]}
    return _keep(workspace_id, told["team_id"], about, token, signing_secret, by, desk)


def oauth_url(state: str, redirect_to: str) -> str:
    """Where an admin is asked whether the app may be added to their Slack workspace."""
    asked = {"client_id": settings.SLACK_CLIENT_ID, "scope": ",".join(SCOPES), "state": state}
    return (
        urljoin(settings.SLACK_API_URL, "../oauth/v2/authorize")
        + "?"
        + urlencode(asked | {"redirect_uri": redirect_to})
    )


def connect_with_code(
    workspace_id: UUID, code: str, redirect_to: str, *, by: audit.Actor, desk: str
) -> SlackInstallation:
    """Connect with what Slack sent the admin back with. Raises ``NotConnected``."""
    told = _asked(
        "", "oauth_v2_access", client_id=settings.SLACK_CLIENT_ID, client_secret=settings.SLACK_CLIENT_SECRET,
        code=code, redirect_uri=redirect_to,
    )  # fmt: skip
    if told.get("token_type") != "bot" or not (told.get("team") or {}).get("id"):
        raise NotConnected(
            "Slack gave no bot token for one workspace; an installation for a whole grid is not supported"
        )
    return connect_with_token(workspace_id, told["access_token"], "", by=by, desk=desk)


def _asked(token: str, method: str, **parameters: Any) -> dict[str, Any]:
    try:
        return api.call(token, method, **parameters)
    except api.Refused as refused:
        raise NotConnected(f"Slack says: {refused.code}") from None
    except api.Away as away:
        raise NotConnected(f"{away}; try again in a minute") from None


@transaction.atomic
def _keep(
    workspace_id: UUID, team_id: str, about: dict[str, Any], token: str, signing_secret: str, by: audit.Actor, desk: str
) -> SlackInstallation:
    before = SlackInstallation.objects.select_for_update().defer(*SECRETS).filter(team_id=team_id).first()
    if before and before.revoked_at is None and before.workspace_id != workspace_id:
        raise NotConnected(f"{before} talks to another workspace of this desk; disconnect it there first")
    if before and before.workspace_id != workspace_id:
        before.delete()  # who disconnected it there left nothing of theirs to the next one
    about |= {"bot_token": token, "signing_secret": signing_secret, "desk_url": desk, "installed_by": by.name}
    installation, _ = SlackInstallation.objects.defer(*SECRETS).update_or_create(
        team_id=team_id,
        workspace_id=workspace_id,
        defaults=about | {"revoked_at": None, "problem": ""},
        create_defaults=about,
    )
    audit.record(workspace_id, by, "slack.connected", subject=("slack", installation.pk), team=team_id)
    return installation


@transaction.atomic
def configure(
    installation: SlackInstallation, *, agent: Agent | None, escalation_channel: str, outsiders: str,
    allow_list: Collection[str], by: audit.Actor,
) -> None:  # fmt: skip
    """Who answers, where people are asked, and who may talk to the agent."""
    changes = {
        "agent_id": agent.pk if agent else None, "escalation_channel": escalation_channel, "outsiders": outsiders,
        "allow_list": list(allow_list),
    }  # fmt: skip
    SlackInstallation.objects.filter(pk=installation.pk).update(**changes, problem="")
    told = changes | {"agent_id": str(agent.pk) if agent else None}
    audit.record(installation.workspace_id, by, "slack.changed", subject=("slack", installation.pk), **told)


def disconnect(installation: SlackInstallation, *, by: audit.Actor) -> str:
    """Have Slack revoke the token and forget it; what Slack said against it, empty when it did.

    The desk forgets it in any case: who disconnects does not want it to stay because Slack is away.
    """
    try:
        api.of(installation, "auth_revoke")
        fault = ""
    except (api.Refused, api.Away) as refused:
        fault = str(refused)
    forget(installation, by)
    return fault


@transaction.atomic
def forget(installation: SlackInstallation, by: audit.Actor) -> None:
    """The desk keeps no secret of this Slack workspace any more, and hears nothing of it."""
    gone = SlackInstallation.objects.filter(pk=installation.pk, revoked_at=None)
    if gone.update(revoked_at=timezone.now(), bot_token="", signing_secret="", problem=""):
        about = {"subject": ("slack", installation.pk), "team": installation.team_id}
        audit.record(installation.workspace_id, by, "slack.disconnected", **about)
