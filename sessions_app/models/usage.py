"""What each turn and tool call of an agent of ours used, and what it cost."""

from __future__ import annotations

from django.db import models

from sessions_app.ids import uuid7

from .agents import Agent
from .fields import AMOUNT, Tokens
from .sessions import Session
from .workspaces import Workspace


class TurnUsage(Tokens):
    """What one turn of an agent of ours used. It outlives its session: money that was spent was spent."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="turn_usages")
    session = models.ForeignKey(Session, models.DO_NOTHING, related_name="turn_usages", db_constraint=False)
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True)
    turn = models.IntegerField()
    runtime_ms = models.BigIntegerField(default=0)
    cost = models.DecimalField(null=True, **AMOUNT)
    """NULL: no price is known."""
    unpriced_tokens = models.BigIntegerField(default=0)
    price_source = models.TextField(default="")
    """Where prices came from: the price list with its version, or the runtime."""
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "turn"], name="turn_used_once")]
        indexes = [models.Index(fields=["workspace", "at"], name="turn_usage_recent")]


class CallUsage(models.Model):
    """One tool call of an agent of ours: who provided it, how long it took, what it cost. It outlives its session."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="call_usages")
    session = models.ForeignKey(Session, models.DO_NOTHING, related_name="call_usages", db_constraint=False)
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True)
    seq = models.IntegerField()
    """The ``tool_call`` event."""
    provider = models.TextField(default="")
    """The MCP server, ``python`` or ``builtin``."""
    tool = models.TextField()
    latency_ms = models.BigIntegerField(null=True)
    status = models.CharField(max_length=10)
    cost = models.DecimalField(null=True, **AMOUNT)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "seq"], name="call_used_once")]
        indexes = [
            models.Index(fields=["workspace", "at"], name="call_usage_recent"),
            models.Index(fields=["workspace", "-id"], name="call_usage_newest"),
        ]
