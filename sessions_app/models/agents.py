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
        BUILT_IN = "built_in", "built in"
        """The assistant of the desk itself: one a workspace, see ``services.agents.built_in``."""

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
    description = models.TextField(blank=True, default="")
    model = models.CharField(max_length=200, blank=True, default="")
    instructions = models.TextField(blank=True, default="")
    tools = models.JSONField(default=list)
    policy = models.JSONField(default=dict)
    """``{"default": "allow|ask|deny", "tools": {NAME: "allow|ask|deny"}}``; NAME is ``tool`` or ``server/tool``."""
    environment = models.JSONField(default=dict)
    """Where a managed agent works: packages, networking; the shape is the runtime's."""
    metadata = models.JSONField(default=dict)
    runtime_ref = models.JSONField(default=dict)
    """Ids that the runtime gave this definition; not a part of it."""
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "slug"], name="agent_slug_in_workspace"),
            models.UniqueConstraint(
                fields=["workspace"], condition=models.Q(runtime="built_in"), name="agent_built_in_once"
            ),
        ]

    @property
    def is_built_in(self) -> bool:
        return self.runtime == self.Runtime.BUILT_IN

    @property
    def asks_models_here(self) -> bool:
        """Whether the desk itself asks the models of its turns, and so counts their tokens."""
        return self.runtime in (self.Runtime.LOCAL, self.Runtime.SCRIPTED, self.Runtime.BUILT_IN)

    def __str__(self) -> str:
        return self.name


class AgentVersion(models.Model):
    """A definition as it was; the newest is what the agent says now. A session keeps the version it began with."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="versions")
    version = models.PositiveIntegerField()
    definition = models.JSONField()
    """name, description, model, instructions, tools, policy, environment, metadata."""
    changed_by = models.TextField(default="")
    changed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "version"], name="agent_version_once")]
