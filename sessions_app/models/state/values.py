"""Values that agents keep under a key."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from sessions_app.ids import uuid7

from ..agents import Agent
from ..sessions import Session
from ..workspaces import Workspace


class StateValue(models.Model):
    """What an agent kept under a key, for a session, for one of its users, or for all its sessions.

    Of a deleted one the row stays, without its value: its version goes on counting, so that who read the value before
    cannot overwrite the one that came after without noticing.
    """

    class Scope(models.TextChoices):
        SESSION = "session"
        USER = "user"
        APP = "app"

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="+", db_index=False)
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="+", db_index=False)
    scope = models.CharField(max_length=7, choices=Scope.choices)
    user_id = models.TextField(default="")
    """Empty but in the scope of a user."""
    session = models.ForeignKey(Session, models.DO_NOTHING, related_name="+", null=True, db_constraint=False)
    """In the scope of a session; the database deletes it with its session."""
    key = models.TextField()
    value = models.JSONField(null=True)
    vector_model = models.TextField(default="", db_default="")
    """What made the vector; empty where there is none. Vectors of two models are not compared."""
    vector = ArrayField(models.FloatField(), null=True)
    """Of length 1. No column of pgvector's, which not every server has: it is cast where it is compared."""
    version = models.IntegerField(default=0)
    is_deleted = models.BooleanField(default=False)
    by = models.TextField(default="")
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "scope", "user_id", "session", "key"], nulls_distinct=False, name="state_value_once"
            ),
        ]  # fmt: skip
