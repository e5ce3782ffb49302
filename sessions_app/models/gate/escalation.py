"""When more people are told of an approval that waits, and who stands in for whom."""

from __future__ import annotations

from django.db import models

from sessions_app.ids import uuid7

from ..workspaces import Member, Workspace
from .approvals import Approval


class EscalationStep(models.Model):
    """One step for one approval, frozen when it was asked; each fires once, its delay counts from the asking.

    Or one that a person took by hand: it has ``taken_by``, and fired as they took it.
    """

    id = models.UUIDField(primary_key=True, default=uuid7)
    approval = models.ForeignKey(Approval, models.CASCADE, related_name="escalation_steps")
    position = models.PositiveSmallIntegerField()
    due_at = models.DateTimeField()
    """A snooze moves the steps that have not fired by as much."""
    targets = models.JSONField()
    """Who is told: ``["role:admin", "member:ID", "channel:slack"]``; absences are looked up when it fires."""
    fired_at = models.DateTimeField(null=True)
    told = models.JSONField(default=list)
    """Names of those who were told."""
    taken_by = models.TextField(default="", db_default="")
    """Who took it by hand; empty for a step of a rule."""
    reason = models.TextField(default="", db_default="")
    """Why, in their words."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["approval", "position"], name="escalation_step_once")]
        indexes = [models.Index(fields=["due_at"], condition=models.Q(fired_at=None), name="escalation_step_due")]


class Absence(models.Model):
    """A member is away; what would be told to them is told to the stand-in as well."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="absences")
    member = models.ForeignKey(Member, models.CASCADE, related_name="absences")
    stand_in = models.ForeignKey(Member, models.SET_NULL, null=True, related_name="+")
    begins_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    note = models.TextField(default="")
    made_by = models.TextField(default="")
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(ends_at__gt=models.F("begins_at")), name="absence_ends_after")
        ]
