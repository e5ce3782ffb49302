"""Rules of a workspace for calls of agents. An agent's own rules are in its definition, and have its versions."""

from __future__ import annotations

from django.db import models

from sessions_app.ids import uuid7

from ..workspaces import Workspace


class PolicyVersion(models.Model):
    """Rules as they were written; append-only. Which of them are in force, ``PolicyInForce`` says."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="policy_versions")
    number = models.PositiveIntegerField()
    rules = models.JSONField()
    """List of rules, as ``sessions_app.policy`` reads them."""
    digest = models.CharField(max_length=64)
    """SHA-256 of the canonical JSON of ``rules``."""
    note = models.TextField(default="")
    """What changed and why, in the words of who wrote it."""
    made_by = models.TextField(default="")
    made_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "number"], name="policy_version_once")]


class PolicyInForce(models.Model):
    """The rules that a workspace lives by, and those that run beside them without effect."""

    workspace = models.OneToOneField(Workspace, models.CASCADE, primary_key=True, related_name="policy")
    live = models.ForeignKey(PolicyVersion, models.PROTECT, null=True, related_name="+")
    shadow = models.ForeignKey(PolicyVersion, models.PROTECT, null=True, related_name="+")
    changed_by = models.TextField(default="")
    changed_at = models.DateTimeField(auto_now=True)
