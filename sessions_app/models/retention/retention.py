"""What is to become of the messages of a session in time, and what became of them."""

from __future__ import annotations

from typing import Any

from django.db import models

from sessions_app.ids import uuid7

from ..sessions import Session
from ..workspaces import Workspace


class SessionRetention(models.Model):
    """The policy of a session, and how far it was applied. There is no row before somebody sets one or prunes."""

    session = models.OneToOneField(
        Session, models.DO_NOTHING, primary_key=True, related_name="retention", db_constraint=False
    )
    """The database deletes it with its session."""
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, related_name="+", db_constraint=False)
    ttl_days = models.IntegerField(null=True)
    """Days from the last event that came in; then all messages are to be out of sight."""
    auto_prune = models.BooleanField(default=False)
    """Whether the sweep applies the policy; else it only lists what is due."""
    prune_strategy = models.TextField(default="")
    max_messages = models.IntegerField(null=True)
    immutable = models.BooleanField(default=False)
    """Legal hold: nothing is pruned, and nobody deletes."""
    hold_reason = models.TextField(default="", db_default="")
    is_own = models.BooleanField(default=False, db_default=False)
    """Whether days, messages and strategy are of its own; else those of its workspace hold."""
    shown_through = models.IntegerField(default=0, db_default=0)
    """A person showed what was pruned up to this event again: the sweep leaves it in sight."""
    is_set = models.BooleanField(default=False)
    """Whether somebody has said anything of the above."""
    set_by = models.TextField(default="")
    set_at = models.DateTimeField(null=True)
    looked_seq = models.IntegerField(default=-1)
    """The end of the log when the sweep looked last; -1: it is to look, whether something came or not."""
    expires_at = models.DateTimeField(null=True)
    """When its days will be over, as that look found; NULL: it is not to expire, or has."""

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "session"], condition=models.Q(is_set=True), name="retention_set"),
        ]

    def policy(self) -> dict[str, Any]:
        """As it is said and answered."""
        return {
            "ttl_days": self.ttl_days, "auto_prune": self.auto_prune, "prune_strategy": self.prune_strategy or None,
            "max_messages": self.max_messages, "immutable": self.immutable, "hold_reason": self.hold_reason or None,
        }  # fmt: skip


class Pruning(models.Model):
    """The marker of one act of pruning: what it took out of sight, by which rule, and who or what applied it."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    session = models.ForeignKey(Session, models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False)
    """The database deletes it with its session."""
    at = models.DateTimeField()
    by_kind = models.CharField(max_length=10)
    """As in the audit log; ``system`` is the sweep."""
    by = models.TextField(default="")
    rule = models.TextField()
    """``keep_last_50``, ``sliding_window of 100``, ``keep_important after 10``, ``ttl_days of 30``."""
    method = models.TextField(default="rules")
    """``rules``, or the model that was asked."""
    messages = models.IntegerField()
    events = models.IntegerField()
    first_seq = models.IntegerField()
    last_seq = models.IntegerField()
    """Of what it took; between them events may be in sight."""
    summary = models.TextField(default="")
    """What agents read in place of all that is out of sight up to ``last_seq``."""
    shown_at = models.DateTimeField(null=True)
    """When a person showed it all again; then it stands in place of nothing any more."""
    shown_by = models.TextField(default="", db_default="")

    class Meta:
        indexes = [models.Index(fields=["session", "-id"], name="pruning_of_session")]


class HiddenSpan(models.Model):
    """Events of a session that stand together and are out of sight. No two of a session meet or overlap."""

    pk = models.CompositePrimaryKey("session_id", "first_seq")
    session = models.ForeignKey(Session, models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False)
    """The database deletes it with its session."""
    first_seq = models.IntegerField()
    last_seq = models.IntegerField()
    messages = models.IntegerField()
