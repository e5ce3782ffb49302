"""What a person allowed for more than one call."""

from __future__ import annotations

from django.db import models

from sessions_app.ids import uuid7

from ..agents import Agent
from ..sessions import Session
from ..workspaces import Member, Workspace


class Grant(models.Model):
    """Calls of one tool that need no decision any more, until it ends: used up, expired, revoked or void."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="grants")
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="grants")
    session = models.ForeignKey(Session, models.CASCADE, null=True, related_name="grants")
    """The only session it is for; None: every session of the agent."""
    tool_name = models.TextField()
    tool_server = models.TextField(null=True)
    arguments = models.JSONField(default=list)
    """Predicates on the arguments, as in a rule (``sessions_app.policy``); none: any arguments."""
    agent_version = models.PositiveIntegerField()
    tool_fingerprint = models.CharField(max_length=64, default="")
    """Of the tool as it was (``Approval.tool_fingerprint``): with another one the grant is void."""
    expires_at = models.DateTimeField()
    uses_left = models.PositiveIntegerField(null=True)
    uses = models.PositiveIntegerField(default=0)
    last_used_at = models.DateTimeField(null=True)
    made_by = models.TextField()
    member = models.ForeignKey(Member, models.SET_NULL, null=True, db_index=False, related_name="+")
    reason = models.TextField(default="")
    made_of = models.UUIDField(null=True)
    """The approval of which it was made; None where an admin named the tool. No foreign key: that may be erased."""
    made_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.TextField(default="")
    end_reason = models.TextField(default="")

    class Meta:
        indexes = [
            models.Index(fields=["agent", "tool_name"], condition=models.Q(ended_at=None), name="grant_in_force"),
            models.Index(fields=["workspace", "-id"], name="grant_recent"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(uses_left=None) | models.Q(uses_left__gte=0), name="grant_uses_left_not_negative"
            )
        ]
