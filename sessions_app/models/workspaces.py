"""Who may see and decide: workspaces, their members, their API keys, one-time sign-in links."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from sessions_app.ids import uuid7


class Role(models.TextChoices):
    VIEWER = "viewer"
    REVIEWER = "reviewer"
    ADMIN = "admin"

    def covers(self, needed: Role) -> bool:
        """Admin covers reviewer covers viewer."""
        order = list(Role)
        return order.index(self) >= order.index(needed)


class Workspace(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7)
    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name or self.slug


class Member(models.Model):
    """A person in a workspace, with one role there."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "user"], name="one_membership_each")]

    def __str__(self) -> str:
        return self.user.get_full_name() or self.user.get_username()


class ApiKey(models.Model):
    """A program's way in. Only the SHA-256 of the key is kept: it has 256 random bits, so no salt is needed."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=100)
    role = models.CharField(max_length=10, choices=Role.choices)
    prefix = models.CharField(max_length=12)
    sha256 = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class SignInLink(models.Model):
    """A link that signs one person in once (the first admin, an invited member)."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    sha256 = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
