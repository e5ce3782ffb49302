"""Who may see and decide: workspaces, their members and their API keys."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from sessions_app.ids import uuid7
from sessions_app.rendering.text import first_line

MOST_SHOWN = 200
"""Characters of a name."""


class Role(models.TextChoices):
    VIEWER = "viewer"
    AGENT = "agent"
    """For API keys only: asks, opens sessions and appends to its own, and sees nothing else."""
    REVIEWER = "reviewer"
    ADMIN = "admin"

    def covers(self, needed: Role) -> bool:
        """Admin covers reviewer covers viewer and agent; an agent is no viewer, and a viewer does not ask."""
        return needed in COVERED[self]

    @classmethod
    def of_members(cls) -> list[tuple[str, str]]:
        """Choices of what a person can be."""
        return [choice for choice in cls.choices if choice[0] != cls.AGENT]


COVERED: dict[str, set[Role]] = {
    Role.VIEWER: {Role.VIEWER},
    Role.AGENT: {Role.AGENT},
    Role.REVIEWER: {Role.VIEWER, Role.AGENT, Role.REVIEWER},
    Role.ADMIN: set(Role),
}


class Workspace(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7)
    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    rules_off = ArrayField(models.TextField(), default=list, db_default=[])
    """Rules of run findings (``summary.findings``) that are not shown here; they go on looking all the same."""
    retention = models.JSONField(default=dict, db_default={})
    """The retention of sessions that have none of their own, as ``services.retention.workspaces`` writes it."""

    keep_days = models.PositiveIntegerField(null=True)
    """Days after its last event a session is deleted; NULL: nobody deletes it but people."""
    deletes_from = models.DateTimeField(null=True)
    """Nothing is deleted by those days before that: see ``services.retention.keeping``."""

    def __str__(self) -> str:
        return first_line(self.name, MOST_SHOWN) or self.slug


class Member(models.Model):
    """A person in a workspace, with one role there."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.of_members())
    created_at = models.DateTimeField(auto_now_add=True)
    lens = models.CharField(max_length=10, default="", db_default="")
    """By which they read sessions where an address names none; empty: they have chosen none."""
    numbers_only = models.BooleanField(default=False, db_default=False)
    """Sees totals, counts and costs, and nothing of what is in sessions; only viewers can be so."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "user"], name="one_membership_each"),
            models.CheckConstraint(condition=~models.Q(role=Role.AGENT), name="member_is_no_agent"),
            models.CheckConstraint(
                condition=models.Q(numbers_only=False) | models.Q(role=Role.VIEWER), name="numbers_only_is_a_viewer"
            ),
        ]

    def __str__(self) -> str:
        """Without what is not seen or turns text round: it is what the record and other members' pages call them."""
        return first_line(self.user.get_full_name() or self.user.get_username(), MOST_SHOWN)


class ApiKey(models.Model):
    """A program's way in. Only the SHA-256 of the key is kept: it has 256 random bits, so no salt is needed."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=100)
    role = models.CharField(max_length=10, choices=Role.choices)
    agent = models.ForeignKey("sessions_app.Agent", models.CASCADE, null=True, related_name="api_keys")
    """The only one whose sessions and approvals the key sees; None: it sees what its role sees."""
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    """Decides nothing by way of this key that they asked themselves. None: made at the command line."""
    prefix = models.CharField(max_length=12)
    sha256 = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name
