"""What reviewers leave behind: time on a card, and reasons that they use again."""

from __future__ import annotations

from django.db import models

from sessions_app.ids import uuid7

from ..workspaces import Member, Workspace
from .approvals import Approval


class CardView(models.Model):
    """One member had the card of an approval before them."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    approval = models.ForeignKey(Approval, models.CASCADE, related_name="views")
    member = models.ForeignKey(Member, models.CASCADE, db_index=False, related_name="+")
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    seconds = models.FloatField(default=0)
    """With the page in front, as the browser tells it."""
    secrets_shown_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["approval", "member"], name="card_view_once")]


class SavedReason(models.Model):
    """A reason to decide by that a workspace has in store."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="saved_reasons")
    verdict = models.CharField(max_length=10, default="deny")
    text = models.TextField()
    made_by = models.TextField(default="")
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "verdict", "text"], name="saved_reason_once")]
