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
    made_at = models.DateTimeField()
    until = models.DateTimeField(null=True)
    lifted_at = models.DateTimeField(null=True)
    lifted_by = models.TextField(default="")
    lift_reason = models.TextField(default="")
    carried_out_at = models.DateTimeField(null=True)
    """When the last call that waited was denied and the last turn told to stop; a sweep finishes what is None."""

    class Meta:
        indexes = [
            models.Index(fields=["workspace"], condition=models.Q(lifted_at=None), name="stop_in_force"),
            models.Index(fields=["workspace", "-id"], name="stop_recent"),
        ]
