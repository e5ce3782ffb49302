"""A tool call that waits for a person, and the votes on it."""

from __future__ import annotations

import hashlib

import orjson
from django.conf import settings
from django.db import models

from sessions_app.ids import uuid7

from .fields import AsWrittenJSON
from .sessions import Session
from .turns import Turn
from .workspaces import ApiKey, Member, Workspace


class Approval(models.Model):
    class Status(models.TextChoices):
        PENDING = "pending"
        APPROVED = "approved"
        APPROVED_EDITED = "approved_edited"
        DENIED = "denied"
        ANSWERED = "answered"
        EXPIRED = "expired"
        CANCELLED = "cancelled"
        AUTO_ALLOWED = "auto_allowed"
        AUTO_DENIED = "auto_denied"
        SETTLED_ELSEWHERE = "settled_elsewhere"

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="approvals")
    session = models.ForeignKey(Session, models.CASCADE, related_name="approvals")
    event_seq = models.IntegerField(null=True)
    recorded = models.BooleanField(default=False)
    """Told by a file of elsewhere: it was never asked here, and cannot be decided here."""
    client_id = models.TextField(default="")
    tool_name = models.TextField()
    tool_server = models.TextField(null=True)
    arguments = AsWrittenJSON(null=True)
    """None where a file tells of a decision but not of what was asked."""
    context = models.TextField(default="")
    """What the agent says of why it asks."""
    digest = models.CharField(max_length=64)
    """Of what was shown, see ``digest_of_question``: a decision names it, so that it cannot be about something else."""
    status = models.CharField(max_length=20, choices=Status.choices, default=Status.PENDING)
    version = models.PositiveIntegerField(default=1)
    risk = models.CharField(max_length=40, default="")
    rule = models.TextField(null=True)
    requested_by = models.TextField(default="")
    asked_by_key = models.ForeignKey(ApiKey, models.SET_NULL, null=True, db_index=False, related_name="+")
    asked_by_user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, db_index=False, related_name="+"
    )
    """Who asked, and so cannot decide. Both None: an agent that runs here, or a file."""
    requested_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)
    decision = models.JSONField(null=True)
    delivery = models.CharField(max_length=12, default="none")
    """none, queued, delivered: whether the asker has been given the answer. elsewhere: it had another one before."""
    execution = models.CharField(max_length=12, default="none")
    """none, succeeded, errored: what the log shows of the call afterwards."""

    turn: Turn | None
    """Not a column: ``queries.approvals.with_turns`` sets it."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["session", "client_id"], condition=~models.Q(client_id=""), name="approval_asked_once"
            )
        ]
        indexes = [
            models.Index(
                fields=["workspace", "requested_at"], condition=models.Q(status="pending"), name="approval_waits"
            ),
            models.Index(fields=["expires_at"], condition=models.Q(status="pending"), name="approval_expires"),
            models.Index(fields=["session", "event_seq"], name="approval_of_event"),
        ]

    def digest_of_question(self) -> str:
        """SHA-256, in hex, of the canonical JSON (sorted keys, compact, UTF-8) of what a reviewer is shown."""
        shown = {
            "session": str(self.session_id), "approval": str(self.pk), "tool": self.tool_name,
            "server": self.tool_server, "input": self.arguments,
        }  # fmt: skip
        return hashlib.sha256(orjson.dumps(shown, option=orjson.OPT_SORT_KEYS)).hexdigest()


class Vote(models.Model):
    """What one person or API key said; append-only. With one vote needed (the rule today) the first vote decides."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    approval = models.ForeignKey(Approval, models.CASCADE, related_name="votes")
    member = models.ForeignKey(Member, models.DO_NOTHING, null=True)
    """Set to NULL by the database when the member goes (migration 0005), and so for the key."""
    api_key = models.ForeignKey(ApiKey, models.DO_NOTHING, null=True)
    by = models.TextField()
    """The name at the time of voting: it stays when the member goes."""
    verdict = models.CharField(max_length=10)
    arguments = models.JSONField(null=True)
    answer = models.TextField(default="")
    reason = models.TextField(default="")
    channel = models.CharField(max_length=10)
    at = models.DateTimeField()
