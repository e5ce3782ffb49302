"""Outgoing webhooks and their messages, and receivers of notices that fail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from sessions_app.models import (
    AuditEntry,
    Member,
    OutgoingMessage,
    OutgoingWebhook,
    PushSubscription,
    SlackInstallation,
)

PATIENCE = timedelta(minutes=5)
"""So long a receiver may fail before the operator is told: many are away for a moment."""
MOST_TOLD = 20
GONE_FOR = timedelta(days=30)
"""So long a member is told that a browser of theirs is notified no more."""


def outgoing_webhooks(workspace_id: UUID) -> QuerySet[OutgoingWebhook]:
    """Of a workspace, without their secrets, with ``waiting``: how many messages are still to be taken."""
    mine = OutgoingWebhook.objects.filter(workspace_id=workspace_id).defer("secret")
    return mine.annotate(waiting=Count("messages", filter=~Q(messages__next_try_at=None))).order_by("id")


def receivers_that_fail() -> list[str]:
    """A sentence for each receiver that has taken nothing for some minutes, in all workspaces; for the operator."""
    before = timezone.now() - PATIENCE
    slack = SlackInstallation.objects.filter(revoked_at=None, away_since__lt=before).defer(
        "bot_token", "signing_secret"
    )
    waiting = Count("notices", filter=Q(notices__done_at=None))
    found = [
        f"Slack workspace {team} does not answer since {_time(team.away_since)}, {team.waiting} messages wait"
        for team in slack.annotate(waiting=waiting).order_by("away_since")[:MOST_TOLD]
    ]
    failing = OutgoingWebhook.objects.filter(active=True, failing_since__lt=before).defer("secret")
    waiting = Count("messages", filter=~Q(messages__next_try_at=None))
    found += [
        f"outgoing webhook {webhook.name} of {webhook.workspace} fails since {_time(webhook.failing_since)}, "
        f"{webhook.waiting} messages wait"
        for webhook in failing.select_related("workspace").annotate(waiting=waiting).order_by("id")[:MOST_TOLD]
    ]
    if browsers := PushSubscription.objects.exclude(problem="").count():
        found.append(f"{browsers} browsers could not be told of what they were last sent")
    return found


@dataclass(frozen=True, slots=True)
class GoneBrowser:
    """A browser that was removed because its push service said that it is gone; its member may still count on it."""

    browser: str
    service: str
    at: datetime


def gone_browsers(member: Member, browsers: Iterable[PushSubscription]) -> list[GoneBrowser]:
    """The newest first; without those of a name that one of ``browsers`` has, which was added since."""
    entries = AuditEntry.objects.filter(
        workspace_id=member.workspace_id, action="push_subscription.gone", details__member_id=str(member.pk),
        at__gt=timezone.now() - GONE_FOR,
    ).order_by("-seq")[:MOST_TOLD]  # fmt: skip
    added = {browser.browser: browser.made_at for browser in browsers}
    gone = [GoneBrowser(one.details["browser"], one.details["push_service"], one.at) for one in entries]
    return [one for one in gone if one.browser not in added or added[one.browser] < one.at]


def _time(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else "?"


def messages_of(webhook: OutgoingWebhook) -> QuerySet[OutgoingMessage]:
    """The newest first."""
    return OutgoingMessage.objects.filter(webhook=webhook).order_by("-id")
