"""Outgoing webhooks and their messages."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Count, Q, QuerySet

from sessions_app.models import OutgoingMessage, OutgoingWebhook


def outgoing_webhooks(workspace_id: UUID) -> QuerySet[OutgoingWebhook]:
    """Of a workspace, without their secrets, with ``waiting``: how many messages are still to be taken."""
    mine = OutgoingWebhook.objects.filter(workspace_id=workspace_id).defer("secret")
    return mine.annotate(waiting=Count("messages", filter=~Q(messages__next_try_at=None))).order_by("id")


def messages_of(webhook: OutgoingWebhook) -> QuerySet[OutgoingMessage]:
    """The newest first."""
    return OutgoingMessage.objects.filter(webhook=webhook).order_by("-id")
