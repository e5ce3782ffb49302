"""How people come in: sign-in links, invitations, attempts, and what is known of how a password came to be."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from sessions_app.ids import uuid7

from .workspaces import Role, Workspace


class SignInLink(models.Model):
    """A link for one person, one purpose and one workspace, that works once."""

    class Purpose(models.TextChoices):
        OPERATOR = "operator"
        """Made at the command line or by `up`; opens every workspace of its person."""
        FIRST = "first"
        """Signs a member in who has no password yet."""
        RESET = "reset"
        """Lets a member choose another password; signs nobody in before that."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    purpose = models.CharField(max_length=10, choices=Purpose.choices, default=Purpose.OPERATOR)
    workspace = models.ForeignKey(Workspace, models.CASCADE, null=True)
    """The one whose admin made it, and the only one that it opens; None of an operator's."""
    made_by = models.TextField(default="")
    """Name of the admin who made it, as it was then."""
    emailed = models.BooleanField(default=False)
    """It went to the person's address and was shown to nobody."""
    sha256 = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    told_at = models.DateTimeField(null=True)
    """When its person was told, signed in by their password, that it had been made (of a reset)."""


class PasswordOrigin(models.Model):
    """Of a password that was chosen by way of a link that an admin had in hands: it may be the admin's own doing.

    Decisions of its user say so. There is no row for a password that only its user can have chosen.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="password_origin")
    made_by = models.TextField()
    """Name of the admin who made the link."""
    at = models.DateTimeField()


class Invitation(models.Model):
    """Asks somebody who has an account to become a member; they accept it signed in, and with its link."""

    class Answer(models.TextChoices):
        WAITS = "waits"
        ACCEPTED = "accepted"
        DECLINED = "declined"
        WITHDRAWN = "withdrawn"

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="invitations")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    role = models.CharField(max_length=10, choices=Role.of_members())
    numbers_only = models.BooleanField(default=False, db_default=False)
    sha256 = models.CharField(max_length=64, unique=True)
    """Of the secret in the link. Without the link nobody accepts: an account may be in the wrong hands."""
    emailed = models.BooleanField(default=False)
    invited_by = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    answer = models.CharField(max_length=10, choices=Answer.choices, default=Answer.WAITS)
    answered_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "user"], condition=models.Q(answer="waits"), name="one_open_invitation_each"
            )
        ]

    def __str__(self) -> str:
        return self.user.get_full_name() or self.user.get_username()


class SignInAttempts(models.Model):
    """How often a password was tried lately by one subject: an address, a name, the two together, or a browser.

    ``key`` and ``name_key`` are keyed hashes: the table tells nobody who signs in here, and from where.
    """

    key = models.CharField(max_length=64, primary_key=True)
    name_key = models.CharField(max_length=64, blank=True, db_index=True)
    tried = models.IntegerField(default=0)
    last_at = models.DateTimeField(db_index=True)
    not_before = models.DateTimeField(null=True)
