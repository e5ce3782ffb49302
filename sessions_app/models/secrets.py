"""Secrets that agents' tools need, kept for a workspace under a name."""

from __future__ import annotations

from django.db import models

from sessions_app.ids import uuid7

from .fields import EncryptedText
from .workspaces import Workspace


class Secret(models.Model):
    """A value that leaves this installation in one place only: a header of a request to ``origin``."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="secrets")
    name = models.CharField(max_length=100)
    origin = models.CharField(max_length=300)
    """``https://mcp.example.com``: who may edit an agent must not be able to send it anywhere else."""
    value = EncryptedText()
    changed_by = models.TextField(default="")
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "name"], name="secret_name_once")]

    def __str__(self) -> str:
        return self.name
