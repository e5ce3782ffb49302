"""The audit log: who did what, in a chain that shows when a row was changed."""

from __future__ import annotations

from django.db import models

from .workspaces import Workspace


class AuditEntry(models.Model):
    """Append-only (a trigger refuses UPDATE and DELETE). ``hash`` covers the entry and the hash before it."""

    pk = models.CompositePrimaryKey("workspace_id", "seq")
    workspace = models.ForeignKey(Workspace, models.PROTECT, related_name="audit", db_index=False)
    seq = models.BigIntegerField()
    at = models.DateTimeField()
    actor_kind = models.CharField(max_length=10)
    """member, api_key, system or command."""
    actor_id = models.TextField(default="")
    actor_name = models.TextField(default="")
    action = models.TextField()
    """``noun.verb``: approval.requested, approval.decided, session.exported, member.added ..."""
    subject_kind = models.TextField(default="")
    subject_id = models.TextField(default="")
    details = models.JSONField(default=dict)
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "subject_id"], name="audit_of_subject"),
            models.Index(fields=["workspace", "at"], name="audit_by_time"),
            models.Index(
                fields=["workspace", "action", "-seq"], opclasses=["uuid_ops", "text_pattern_ops", "int8_ops"],
                name="audit_by_action",
            ),
        ]  # fmt: skip
