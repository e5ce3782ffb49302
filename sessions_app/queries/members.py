"""Members and API keys of a workspace, and the workspaces that a user is a member of."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import BooleanField, Case, ExpressionWrapper, F, Q, QuerySet, Value, When
from django.db.models.functions import Now

from sessions_app.models import ApiKey, Invitation, Member, Role, Workspace


def members(workspace_id: UUID) -> QuerySet[Member]:
    """Members of a workspace; ``link_maker`` is the admin by whose link one is signed in, else None, and
    ``chosen_role`` what they were made on the page: their role, or ``numbers``.
    """
    found = Member.objects.filter(workspace_id=workspace_id).annotate(link_maker=F("user__password_origin__made_by"))
    found = found.annotate(chosen_role=Case(When(numbers_only=True, then=Value("numbers")), default=F("role")))
    return found.select_related("user").order_by("created_at")


def deciders(workspace_id: UUID) -> QuerySet[Member]:
    """Members whose role lets them decide, by when they came; at most 100."""
    found = Member.objects.filter(workspace_id=workspace_id, role__in=[Role.REVIEWER, Role.ADMIN])
    return found.select_related("user").order_by("created_at")[:100]


def open_invitations(workspace_id: UUID) -> QuerySet[Invitation]:
    """Invitations that nobody has answered and that are not over, the newest first."""
    found = Invitation.objects.filter(workspace_id=workspace_id, answer=Invitation.Answer.WAITS)
    return found.filter(expires_at__gt=Now()).select_related("user").order_by("-created_at")


def api_keys(workspace_id: UUID) -> QuerySet[ApiKey]:
    """API keys of a workspace, each with its agent: live ones first, the newest first; ``is_expired`` is told."""
    found = ApiKey.objects.filter(workspace_id=workspace_id).select_related("agent")
    expired = Q(expires_at__isnull=False, expires_at__lte=Now())
    return found.annotate(is_expired=ExpressionWrapper(expired, BooleanField())).order_by(
        "-revoked_at", "is_expired", "-created_at"
    )


def workspaces(user: User) -> QuerySet[Workspace]:
    return Workspace.objects.filter(members__user=user).order_by("name")
