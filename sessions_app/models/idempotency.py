"""Answers kept for ``Idempotency-Key``."""

from __future__ import annotations

from django.db import models

from sessions_app.ids import uuid7

from .workspaces import Workspace


class IdempotentAnswer(models.Model):
    """The first answer to a POST that carried an ``Idempotency-Key``."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE)
    caller = models.TextField(default="")
    """``member:ID`` or ``api_key:ID``: what somebody else sent under the same key is another request."""
    key = models.TextField()
    route = models.TextField()
    body_sha256 = models.CharField(max_length=64)
    status = models.IntegerField(null=True)
    answer = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "caller", "route", "key"], name="one_answer_per_caller_key")
        ]
