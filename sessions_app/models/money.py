"""Money: two wallets, the ledger that their balances are sums of, and budgets."""

from __future__ import annotations

from decimal import Decimal

from django.db import models

from sessions_app.ids import uuid7

from .agents import Agent
from .fields import AMOUNT
from .sessions import Session
from .workspaces import Workspace


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
    subscription = models.DecimalField(**AMOUNT, default=0, db_default=0)
    purchased = models.DecimalField(**AMOUNT, default=0, db_default=0)
    trial = models.DecimalField(**AMOUNT, default=0, db_default=0)
    """Balances by source: the sums of its entries, which a trigger on them keeps. Nobody else writes them."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "kind"], name="wallet_once")]


class LedgerEntry(models.Model):
    """Append-only (a trigger refuses UPDATE and DELETE). A balance is the sum of the amounts of a wallet, and kept
    with it.
    """

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
    """What it is for: ``turn:SESSION:TURN``, ``call:SESSION:SEQ``, ``retention:ID``, ``credit:ID``, ``expiry:ID``."""
    kind = models.CharField(max_length=20)
    """usage, credit, expiry, correction. Once per (event, kind) and source, however often a step is retried."""
    session = models.ForeignKey(Session, models.DO_NOTHING, null=True, db_constraint=False)
    """No constraint: an entry outlives the session that it is for."""
    note = models.TextField(default="")
    by = models.TextField(default="")
    at = models.DateTimeField()
    seq = models.BigIntegerField(null=True)
    """Place in the wallet, from 1 without gaps; NULL never stays: the migration that added it numbered all entries."""
    hash = models.CharField(max_length=64, default="")
    """Covers the entry and the hash before it in the wallet."""

    balance: Decimal
    """Not a column: ``queries.money.ledger`` sets it, to the sum of the wallet up to this entry."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["wallet", "event", "kind", "source"], name="booked_once"),
            models.UniqueConstraint(fields=["wallet", "seq"], name="ledger_in_order"),
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
