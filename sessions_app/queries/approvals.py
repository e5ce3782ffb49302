"""What waits for a person in a workspace, and what was decided lately."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet

from sessions_app.models import Approval

RECENT = 20


def waiting(workspace_id: UUID) -> QuerySet[Approval]:
    """Everything that waits, the longest first, each with its session and agent."""
    found = Approval.objects.filter(workspace_id=workspace_id, status=Approval.Status.PENDING)
    return found.select_related("session__agent").order_by("requested_at", "id")


def waiting_count(workspace_id: UUID) -> int:
    return Approval.objects.filter(workspace_id=workspace_id, status=Approval.Status.PENDING).count()


def decided(workspace_id: UUID) -> QuerySet[Approval]:
    """The last decisions (expiry and withdrawal are some, too), the newest first."""
    found = Approval.objects.filter(workspace_id=workspace_id).exclude(status=Approval.Status.PENDING)
    return found.select_related("session__agent").order_by("-decided_at", "-id")[:RECENT]
