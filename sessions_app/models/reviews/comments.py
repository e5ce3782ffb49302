"""Comments of people on a session or on events of it, and who was named in them."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from sessions_app.ids import uuid7

from ..sessions import Session
from ..workspaces import Member, Workspace


class Comment(models.Model):
    """A comment, or a reply to one. Of a deleted one the row stays, without its text."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="+")
    session = models.ForeignKey(
        Session, models.DO_NOTHING, related_name="comments", db_index=False, db_constraint=False
    )
    """The database deletes it with its session."""
    first_seq = models.IntegerField(null=True)
    """First and last event that it is about; None: the whole session. A reply is about what its comment is about."""
    last_seq = models.IntegerField(null=True)
    parent = models.ForeignKey("self", models.CASCADE, null=True, related_name="replies")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", db_index=False)
    by = models.TextField()
    text = models.TextField()
    """Markdown."""
    made_at = models.DateTimeField(auto_now_add=True)
    edited_at = models.DateTimeField(null=True)
    deleted_at = models.DateTimeField(null=True)
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.TextField(default="")

    class Meta:
        indexes = [models.Index(fields=["session", "id"], name="comment_of_session")]


class Mention(models.Model):
    """A member who was named in a comment, and whether they have seen it."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    comment = models.ForeignKey(
        Comment, models.DO_NOTHING, related_name="mentions", db_index=False, db_constraint=False
    )
    """The database deletes it with its comment."""
    member = models.ForeignKey(Member, models.CASCADE, related_name="+", db_index=False)
    read_at = models.DateTimeField(null=True)
    mail_at = models.DateTimeField(null=True)
    """When a mail about it is tried next; NULL: none is wanted, or it was sent or given up."""
    mail_tries = models.PositiveSmallIntegerField(default=0, db_default=0)
    push_to = ArrayField(models.UUIDField(), default=list, db_default=[])
    """Push subscriptions that are still to be told of it."""
    push_at = models.DateTimeField(null=True)
    """When they are tried next; NULL: none is left."""
    push_tries = models.PositiveSmallIntegerField(default=0, db_default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["comment", "member"], name="mention_once")]
        indexes = [
            models.Index(fields=["member", "-id"], name="mention_of_member"),
            models.Index(fields=["mail_at"], condition=~models.Q(mail_at=None), name="mention_to_mail"),
            models.Index(fields=["push_at"], condition=~models.Q(push_at=None), name="mention_to_push"),
        ]
