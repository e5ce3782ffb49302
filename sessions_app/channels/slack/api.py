"""Calls of Slack's Web API through its own SDK."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection, connections

from sessions_app import retry_after
from sessions_app.encryption import Unreadable
from sessions_app.models import SlackInstallation
from sessions_app.services.slack.jobs import Away, Refused

log = logging.getLogger(__name__)
TIMEOUT = 10
"""Seconds of one call."""
MOMENTARY = ("expired_trigger_id", "exchanged_trigger_id")
"""Refusals that say nothing of how Slack is set up: a click was answered too late, or twice."""
PASSING = ("internal_error", "fatal_error", "service_unavailable", "request_timeout")


def call(token: str, method: str, *, timeout: float = TIMEOUT, **parameters: Any) -> dict[str, Any]:
    """The answer to a method of ``WebClient``. Holds no database connection meanwhile. Raises ``Away``, ``Refused``."""
    from slack_sdk.errors import SlackApiError, SlackClientError  # 17 MB that most processes never need
    from slack_sdk.web import WebClient

    if not connection.in_atomic_block:
        connections.close_all()
    client = WebClient(token=token, base_url=settings.SLACK_API_URL, timeout=timeout, retry_handlers=[])
    try:
        return getattr(client, method)(**parameters).data
    except SlackApiError as error:
        raise _exception_of(method, error) from None  # its request holds the token
    except (SlackClientError, OSError, ValueError) as error:
        raise Away(f"Slack could not be reached: {type(error).__name__}") from None


def _exception_of(method: str, error: Any) -> Away | Refused:
    """Exception of ``jobs`` for a ``SlackApiError``."""
    status = getattr(error.response, "status_code", 0)
    headers = {name.lower(): value for name, value in dict(getattr(error.response, "headers", {})).items()}
    code = error.response.get("error") if isinstance(getattr(error.response, "data", None), dict) else None
    if status == 429 or code == "ratelimited":
        return Away("Slack asks to come back later (429)", _seconds(headers.get("retry-after")))
    if status >= 500 or code is None or code in PASSING:
        return Away(f"Slack fails: {code or status}")
    return Refused(method, str(code))


def _seconds(value: Any) -> float:
    value = value[0] if isinstance(value, list) and value else value
    found = retry_after.seconds(str(value))
    return 1.0 if found is None else found


def call_for(
    installation: SlackInstallation, method: str, *, timeout: float = TIMEOUT, **parameters: Any
) -> dict[str, Any]:  # fmt: skip
    """``call`` with the installation's token; what Slack refuses is kept for the settings page."""
    try:
        token = installation.bot_token
    except Unreadable as unreadable:
        record_problem(installation, str(unreadable))
        raise Refused(method, "the token cannot be read") from None
    if installation.revoked_at or not token:
        raise Refused(method, "the desk was disconnected from this Slack workspace")
    try:
        return call(token, method, timeout=timeout, **parameters)
    except Refused as refused:
        if refused.code not in MOMENTARY:
            record_problem(installation, f"{refused}{_where(parameters)}")
        raise


def posted_before(
    installation: SlackInstallation, method: str, mark: dict[str, Any], since: datetime, **where: Any
) -> str | None:  # fmt: skip
    """The message that somebody posted who could not note it any more: its metadata says what it is.

    ``method`` lists messages. Where that is refused, nobody can tell, and None lets it be posted again.
    """
    oldest = f"{since.timestamp() - 60:.6f}"
    try:
        page = call_for(installation, method, oldest=oldest, limit=200, include_all_metadata=True, **where)
    except Refused as refused:
        log.warning("whether a message was posted cannot be seen, so it is posted: %s", refused)
        return None
    ours = (m for m in page["messages"] if (m.get("metadata") or {}).get("event_payload") == mark)
    return next((message["ts"] for message in ours), None)


def record_problem(installation: SlackInstallation, problem: str) -> None:
    """Write down for the settings page, and the log, what Slack refused."""
    log.warning("slack workspace %s: %s", installation.team_id, problem)
    SlackInstallation.objects.filter(pk=installation.pk).update(problem=problem[:500])


def _where(parameters: dict[str, Any]) -> str:
    return f" in {parameters['channel']}" if "channel" in parameters else ""
