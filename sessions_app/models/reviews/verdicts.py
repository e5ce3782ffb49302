"""What reviewers say of a session: verdicts, and the rubrics that a workspace scores by."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from sessions_app.ids import uuid7

from ..sessions import Session
from ..workspaces import Workspace


class Rubric(models.Model):
    """Something that reviewers score: "Tone", from 1 to 5, or "Policy kept", yes or no.

    Its name and kind stay as they are, for scores were given under them; one that is not used any more is retired.
    """

    class Kind(models.TextChoices):
        SCALE = "scale", "1 to 5"
        YES_NO = "yes_no", "yes or no"

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="rubrics")
    name = models.CharField(max_length=60)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    made_by = models.TextField(default="")
    made_at = models.DateTimeField(auto_now_add=True)
    retired_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "name"], condition=Q(retired_at=None), name="rubric_name_once"
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return self.name


class Verdict(models.Model):
    """What one person said of a session at one time. A change is another row: those before it stay."""

    class Says(models.TextChoices):
        PASS = "pass"
        FAIL = "fail"
        UNSURE = "unsure"
        WITHDRAWN = "", "withdrawn"

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="+", db_index=False)
    session = models.ForeignKey(
        Session, models.DO_NOTHING, related_name="verdicts", db_index=False, db_constraint=False
    )
    """The database deletes it with its session."""
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", db_index=False)
    """The user and not the member: who is removed and added again is the same person."""
    by = models.TextField()
    """The name at the time: it stays when the person goes."""
    says = models.CharField(max_length=6, choices=Says.choices, blank=True)
    scores = models.JSONField(default=list)
    """``[{"name", "kind", "value"}]``: as the rubrics were called; a value is 1 to 5, or true or false."""
    note = models.TextField(default="")
    last_seq = models.IntegerField()
    """The last event of the session when it was given: what came later it says nothing of."""
    at = models.DateTimeField(auto_now_add=True)
    is_current = models.BooleanField(default=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["session", "user"], condition=Q(is_current=True), name="one_current_verdict_each"
            ),
        ]  # fmt: skip
        indexes = [
            models.Index(fields=["session", "id"], name="verdict_of_session"),
            models.Index(fields=["workspace", "id"], condition=Q(is_current=True), name="verdict_recent"),
        ]
