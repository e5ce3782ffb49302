"""Which sessions are to be reviewed, who is at one, and how far people have read."""

from __future__ import annotations

from django.db import models

from sessions_app.ids import uuid7

from ..sessions import Session
from ..workspaces import Member, Workspace


class ReviewQueue(models.Model):
    """Sessions that are to be reviewed: those that pass a filter, or a share of them that is always the same."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="review_queues")
    name = models.CharField(max_length=60)
    filter = models.TextField(blank=True, default="")
    """Query string of the session list."""
    percent = models.DecimalField(max_digits=5, decimal_places=2, default=100)
    """Of the sessions that pass: those whose id, hashed with ``seed``, falls into this share."""
    seed = models.CharField(max_length=32)
    wanted = models.PositiveSmallIntegerField(default=1)
    """So many people's verdicts make a session reviewed."""
    made_by = models.TextField(default="")
    made_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "name"], condition=models.Q(closed_at=None), name="review_queue_name_once"
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return self.name


class TakenSession(models.Model):
    """A session that somebody took out of a queue: others are given the next one until then."""

    session = models.OneToOneField(Session, models.DO_NOTHING, primary_key=True, related_name="+", db_constraint=False)
    """The database deletes it with its session."""
    member = models.ForeignKey(Member, models.CASCADE, related_name="+")
    until = models.DateTimeField()


class SeenMark(models.Model):
    """How far a member has read a session."""

    pk = models.CompositePrimaryKey("member_id", "session_id")
    member = models.ForeignKey(Member, models.CASCADE, related_name="+", db_index=False)
    session = models.ForeignKey(Session, models.DO_NOTHING, related_name="+", db_constraint=False)
    """The database deletes it with its session."""
    seq = models.IntegerField()
    at = models.DateTimeField()
