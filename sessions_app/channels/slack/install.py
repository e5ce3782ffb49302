"""Connecting a Slack workspace, by a token that an admin enters or by Slack's OAuth; and disconnecting it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode, urljoin
from uuid import UUID

from django.conf import settings

from sessions_app.models import SlackInstallation
from sessions_app.services import audit
from sessions_app.services.slack import installations

from . import api
from .manifest import SCOPES


def desk_url(installation: SlackInstallation) -> str:
    """URL of the desk for links in messages, without a slash at the end."""
    return (settings.PUBLIC_URL or installation.desk_url).rstrip("/")


def connect_with_token(
    workspace_id: UUID, token: str, signing_secret: str, *, by: audit.Actor, desk: str
) -> SlackInstallation:
    """Connect the Slack workspace that a bot token belongs to. Raises ``installations.NotConnected``."""
    answer = _asked(token, "auth_test")
    if not answer.get("bot_id"):
        raise installations.NotConnected("this is the token of a person; use the bot token, which begins with xoxb-")
    team = installations.Team(
        team_id=answer["team_id"],
        team_name=answer.get("team", ""),
        bot_user_id=answer["user_id"],
        bot_id=answer["bot_id"],
        bot_token=token,
        signing_secret=signing_secret,
    )
    return installations.connect(workspace_id, team, by=by, desk_url=desk)


def oauth_url(state: str, redirect_to: str) -> str:
    """URL at which Slack asks an admin whether the app may be added to their workspace."""
    asked = {"client_id": settings.SLACK_CLIENT_ID, "scope": ",".join(SCOPES), "state": state}
    return (
        urljoin(settings.SLACK_API_URL, "../oauth/v2/authorize")
        + "?"
        + urlencode(asked | {"redirect_uri": redirect_to})
    )


def connect_with_code(
    workspace_id: UUID, code: str, redirect_to: str, *, by: audit.Actor, desk: str
) -> SlackInstallation:
    """Connect with what Slack sent the admin back with. Raises ``installations.NotConnected``."""
    answer = _asked(
        "", "oauth_v2_access", client_id=settings.SLACK_CLIENT_ID, client_secret=settings.SLACK_CLIENT_SECRET,
        code=code, redirect_uri=redirect_to,
    )  # fmt: skip
    if answer.get("token_type") != "bot" or not (answer.get("team") or {}).get("id"):
        raise installations.NotConnected(
            "Slack gave no bot token for one workspace; an installation for a whole grid is not supported"
        )
    return connect_with_token(workspace_id, answer["access_token"], "", by=by, desk=desk)


def _asked(token: str, method: str, **parameters: Any) -> dict[str, Any]:
    try:
        return api.call(token, method, **parameters)
    except api.Refused as refused:
        raise installations.NotConnected(f"Slack says: {refused.code}") from None
    except api.Away as away:
        raise installations.NotConnected(f"{away}; try again in a minute") from None


def disconnect(installation: SlackInstallation, *, by: audit.Actor) -> str:
    """Have Slack revoke the token and forget it; what Slack said against it, empty when it did.

    The desk forgets it in any case: who disconnects does not want it to stay because Slack is away.
    """
    try:
        api.call_for(installation, "auth_revoke")
        fault = ""
    except (api.Refused, api.Away) as refused:
        fault = str(refused)
    installations.forget(installation, by)
    return fault
