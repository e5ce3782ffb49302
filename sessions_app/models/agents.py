from __future__ import annotations

from django.db import models

from sessions_app.ids import uuid7

from .workspaces import Workspace


class Agent(models.Model):
    """A definition of an agent. Those that a transcript or a first event names are ``external``."""

    class Runtime(models.TextChoices):
        MANAGED = "managed"
        LOCAL = "local"
        SCRIPTED = "scripted"
        EXTERNAL = "external"

    class Status(models.TextChoices):
        ACTIVE = "active"
        PAUSED = "paused"
        ARCHIVED = "archived"

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="agents")
    name = models.CharField(max_length=200)
    slug = models.SlugField(max_length=120)
    runtime = models.CharField(max_length=10, choices=Runtime.choices, default=Runtime.EXTERNAL)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    model = models.CharField(max_length=200, blank=True, default="")
    instructions = models.TextField(blank=True, default="")
    tools = models.JSONField(default=list)
    policy = models.JSONField(default=dict)
    metadata = models.JSONField(default=dict)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "slug"], name="agent_slug_in_workspace")]

    def __str__(self) -> str:
        return self.name
