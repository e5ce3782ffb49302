"""Money: what each turn and tool call of ours used, two wallets, and the ledger that their balances are sums of."""

from __future__ import annotations

from django.db import models

from sessions_app.ids import uuid7

from .agents import Agent
from .fields import Tokens
from .sessions import Session
from .workspaces import Workspace

AMOUNT = {"max_digits": 20, "decimal_places": 10}
"""US dollars."""


class TurnUsage(Tokens):
    """What one turn of an agent of ours used."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="turn_usages")
    session = models.ForeignKey(Session, models.CASCADE, related_name="turn_usages")
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
    """One tool call of an agent of ours: who provided it, how long it took, what it cost."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="call_usages")
    session = models.ForeignKey(Session, models.CASCADE, related_name="call_usages")
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


class Wallet(models.Model):
    """Money for one purpose. ``ai`` pays for turns, ``data`` for tool calls; neither can drain the other."""

    class Kind(models.TextChoices):
        AI = "ai", "AI"
        DATA = "data"

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="wallets")
    kind = models.CharField(max_length=4, choices=Kind.choices)
    limited = models.BooleanField(default=False)
    """Whether an empty wallet stops new turns. Until an admin puts money in, spending is only counted."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "kind"], name="wallet_once")]


class LedgerEntry(models.Model):
    """Append-only (a trigger refuses UPDATE and DELETE). A balance is the sum of the amounts of a wallet."""

    class Source(models.TextChoices):
        SUBSCRIPTION = "subscription"
        PURCHASED = "purchased"
        TRIAL = "trial"

    id = models.UUIDField(primary_key=True, default=uuid7)
    wallet = models.ForeignKey(Wallet, models.PROTECT, related_name="entries")
    source = models.CharField(max_length=12, choices=Source.choices)
    amount = models.DecimalField(**AMOUNT)
    """Positive in, negative out."""
    event = models.TextField()
    """What it is for: ``turn:SESSION:TURN``, ``call:SESSION:SEQ``, ``credit:ID``, ``expiry:ID``."""
    kind = models.CharField(max_length=20)
    """usage, credit, expiry, correction. Once per (event, kind) and source, however often a step is retried."""
    session = models.ForeignKey(Session, models.DO_NOTHING, null=True, db_constraint=False)
    """No constraint: an entry outlives the session that it is for."""
    note = models.TextField(default="")
    by = models.TextField(default="")
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["wallet", "event", "kind", "source"], name="booked_once"),
        ]
        indexes = [
            # Balances are sums of this index alone: 50,000 entries in 7 ms.
            models.Index(fields=["wallet", "id"], include=["source", "amount"], name="ledger_running"),
            models.Index(fields=["wallet", "event"], opclasses=["uuid_ops", "text_pattern_ops"], name="ledger_of_step"),
        ]


class Budget(models.Model):
    """Stops new turns once so much was spent: by an agent, a session or the workspace, in a day or in all."""

    class Period(models.TextChoices):
        DAY = "day"
        ALL = "all"

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="budgets")
    agent = models.ForeignKey(Agent, models.CASCADE, null=True, related_name="budgets")
    session = models.ForeignKey(Session, models.CASCADE, null=True, related_name="budgets")
    """Both NULL: the whole workspace."""
    period = models.CharField(max_length=3, choices=Period.choices, default=Period.DAY)
    amount = models.DecimalField(**AMOUNT)
    told_for = models.TextField(default="")
    """The period (a day, or ``all``) that people were told of already."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "agent", "session", "period"], nulls_distinct=False, name="budget_once"
            )
        ]
