"""Decisions and evidence that sessions led to."""

from __future__ import annotations

from django.db import models

from sessions_app.ids import uuid7

from ..agents import Agent
from ..sessions import Session
from ..workspaces import Workspace

DECISION, EVIDENCE = "decision", "evidence"


class GraphNode(models.Model):
    """A decision or a piece of evidence: recorded here, or told by an event of the log, which stays its word.

    Not an event where it is recorded here: sessions that are archived, or were read from a signed file, take none,
    and are reviewed all the same.
    """

    class Kind(models.TextChoices):
        DECISION = DECISION
        EVIDENCE = EVIDENCE

    id = models.UUIDField(primary_key=True, default=uuid7)
    """Of what an event tells, the event's."""
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False)
    agent = models.ForeignKey(Agent, models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False)
    session = models.ForeignKey(Session, models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False)
    """The database deletes it with its session."""
    kind = models.CharField(max_length=8, choices=Kind.choices)
    seq = models.IntegerField(null=True)
    """The event that tells it; NULL: it was recorded here."""
    about = models.ForeignKey(
        "self", models.DO_NOTHING, null=True, related_name="+", db_index=False, db_constraint=False
    )
    """Of evidence: the decision, of the same session, that it speaks for or against."""
    title = models.TextField()
    status = models.TextField(default="")
    """Of a decision: proposed, reviewing, approved, rejected, deprecated, or what its file says."""
    told = models.JSONField(default=dict)
    """The other fields, named as a product graph names them; empty where an event tells more than 4,000 bytes."""
    first_seq = models.IntegerField(null=True)
    last_seq = models.IntegerField(null=True)
    """The events that it was drawn from."""
    by = models.TextField(default="")
    """Who recorded it, named as at the time; empty where an event tells it."""
    by_kind = models.TextField(default="")
    client_id = models.TextField(default="")
    made_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(null=True)
    is_first = models.BooleanField(default=False)
    """The first of its session: pages of the sessions that led to something walk these."""

    class Meta:
        indexes = [
            models.Index(fields=["session", "id"], name="graph_node_of_session"),
            models.Index(fields=["agent", "-session"], condition=models.Q(is_first=True), name="graph_node_first"),
            models.Index(fields=["workspace", "kind", "-id"], name="graph_node_recent"),
            models.Index(fields=["agent", "kind", "-id"], name="graph_node_of_agent"),
            models.Index(
                fields=["workspace", "status", "-id"], condition=models.Q(kind=DECISION), name="graph_node_of_status"
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["session", "client_id"], condition=~models.Q(client_id=""), name="graph_node_sent_once"
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return self.title
