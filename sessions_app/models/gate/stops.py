"""Stops: nothing that an agent, or any agent of the workspace, would do next is done."""

from __future__ import annotations

from django.db import models

from sessions_app.ids import uuid7

from ..agents import Agent
from ..workspaces import Workspace


class Stop(models.Model):
    """In force from ``made_at`` until ``until`` or until somebody lifts it."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="stops")
    agent = models.ForeignKey(Agent, models.CASCADE, null=True, related_name="stops")
    """None: every agent of the workspace."""
    reason = models.TextField()
    made_by = models.TextField()
    made_by_kind = models.CharField(max_length=10)
    made_by_id = models.TextField(default="", db_default="")
    """Of the member or key that made it, who may lift it without being an admin."""
    made_at = models.DateTimeField()
    until = models.DateTimeField(null=True)
    lifted_at = models.DateTimeField(null=True)
    lifted_by = models.TextField(default="")
    lift_reason = models.TextField(default="")
    audited_at = models.DateTimeField(null=True)
    """When the audit log was told: after the row, which must wait for nobody."""
    carried_out_at = models.DateTimeField(null=True)
    """When the last call that waited was denied and the last turn told to stop; a sweep finishes what is None."""

    class Meta:
        indexes = [
            models.Index(fields=["workspace"], condition=models.Q(lifted_at=None), name="stop_in_force"),
            models.Index(fields=["workspace", "-id"], name="stop_recent"),
        ]

    @property
    def actor(self) -> tuple[str, str, str]:
        """Kind, id and name by which its denials are signed, for ``audit.Actor``."""
        return "stop", str(self.pk), f"stop by {self.made_by}"


class StoppedSession(models.Model):
    """What a stop ended in one session."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    stop = models.ForeignKey(Stop, models.CASCADE, related_name="sessions")
    session_id = models.UUIDField()
    """No foreign key: that it was stopped stays known when the session is erased."""
    denied = models.PositiveIntegerField(default=0)
    """Calls that waited for a person, or had been approved and were not told to the agent yet."""
    turn_interrupted = models.BooleanField(default=False)
    executing = models.TextField(default="")
    """The tool whose call was being made at that moment: it ran before the stop, and was not undone."""
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["stop", "session_id"], name="stopped_session_once")]
