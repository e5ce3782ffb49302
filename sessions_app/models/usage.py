"""What each turn and tool call of an agent of ours used and cost; and what all sessions used, added up by day.

Turns are added up in three tables, see ``sessions_app.migrations._usage_0029``: ``SessionUsage`` is what one session
used on one day, ``UsageChange`` is what changed there and totals have not taken in yet, and ``UsageTotal`` is
what all sessions used in a day or a month. Totals and changes together are always exact.
"""

from __future__ import annotations

from datetime import date

from django.contrib.postgres.fields import ArrayField, DateRangeField
from django.contrib.postgres.indexes import GistIndex
from django.db import models

from sessions_app.ids import uuid7

from .agents import Agent
from .fields import AMOUNT, Exact, Tokens
from .sessions import Session
from .workspaces import Workspace


class TurnUsage(Tokens):
    """What one turn of an agent of ours used. It outlives its session: money that was spent was spent."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="turn_usages", db_index=False)
    session = models.ForeignKey(
        Session, models.DO_NOTHING, related_name="turn_usages", db_constraint=False, db_index=False
    )
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
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="call_usages", db_index=False)
    session = models.ForeignKey(
        Session, models.DO_NOTHING, related_name="call_usages", db_constraint=False, db_index=False
    )
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, db_index=False)
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
            # What the list is narrowed to comes first: it is in order of workspace and id, see ``ledger.WITHIN``.
            *(
                models.Index(fields=[name, "workspace", "-id"], name=f"call_usage_by_{name}")
                for name in ("agent", "provider", "tool")
            ),
            models.Index(
                fields=["status", "workspace", "-id"], condition=~models.Q(status="ok"), name="call_usage_by_status"
            ),
        ]


class Measures(models.Model):
    """Sums of what turns used. Beside each that may be unknown: how many of the parts were known."""

    turns = models.BigIntegerField()
    calls = models.BigIntegerField()
    input_tokens = Exact()
    input_tokens_known = models.BigIntegerField()
    cache_read_tokens = Exact()
    cache_read_tokens_known = models.BigIntegerField()
    cache_write_tokens = Exact()
    cache_write_tokens_known = models.BigIntegerField()
    output_tokens = Exact()
    output_tokens_known = models.BigIntegerField()
    reasoning_tokens = Exact()
    reasoning_tokens_known = models.BigIntegerField()
    runtime_ms = Exact()
    runtime_ms_known = models.BigIntegerField()
    data = Exact()
    data_known = models.BigIntegerField()
    here_rows = models.BigIntegerField()
    here_recorded = Exact()
    here_recorded_known = models.BigIntegerField()
    here_priced = Exact()
    here_priced_known = models.BigIntegerField()
    here_unpriced = Exact()
    here_under_reported = Exact()
    elsewhere_rows = models.BigIntegerField()
    elsewhere_recorded = Exact()
    elsewhere_recorded_known = models.BigIntegerField()
    elsewhere_priced = Exact()
    elsewhere_priced_known = models.BigIntegerField()
    elsewhere_unpriced = Exact()
    elsewhere_under_reported = Exact()

    class Meta:
        abstract = True


class UsageKind(models.TextChoices):
    """What usage is added up by."""

    TURN = "turn"
    MODEL = "model"
    TOOL = "tool"


class GoesOn(models.Func):
    """The days on which a period may begin so that a session used it before that and on its last day, too."""

    template = "daterange(%(expressions)s, '(]')"
    output_field = DateRangeField()


class MonthOf(models.Func):
    """The first day of the month of a day."""

    template = "(date_trunc('month', (%(expressions)s)::timestamp))::date"
    output_field = models.DateField()


class SessionUsage(Measures):
    """What one session used on one day (UTC), by itself, by each model and by each tool.

    Of an erased session that is what it took from the wallets; its ``origin`` is empty then.
    """

    pk = models.CompositePrimaryKey("session_id", "kind", "key", "day")
    session = models.ForeignKey(Session, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    kind = models.CharField(max_length=5, choices=UsageKind.choices)
    key = models.UUIDField()
    """Hash of the name, which can have any length; zeros where there is none."""
    day = models.DateField()
    name = models.TextField(null=True)
    """The model or tool; NULL for responses without one."""
    first_day = models.DateField()
    """The first on which the session used it."""
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    agent = models.CharField(max_length=36)
    """Its id; ``none`` when it is gone."""
    origin = models.CharField(max_length=10)
    tags = ArrayField(models.TextField())

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "day"], condition=models.Q(kind="turn"), name="session_usage_days"),
            # Sessions that a period, or a month, has from before it, for whom totals count them.
            GistIndex(
                GoesOn("first_day", "day"),
                condition=models.Q(first_day__lt=models.F("day")),
                name="session_usage_goes_on",
            ),
            models.Index(
                fields=["workspace", "kind", "day"],
                condition=models.Q(first_day__lt=MonthOf("day")),
                name="session_usage_months",
            ),
        ]


class UsageChange(Measures):
    """A difference between session usages that totals have not taken in yet."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, related_name="+", db_constraint=False)
    kind = models.CharField(max_length=5, choices=UsageKind.choices)
    key = models.UUIDField()
    name = models.TextField(null=True)
    day = models.DateField()
    agent = models.CharField(max_length=36)
    origin = models.CharField(max_length=10)
    tags = ArrayField(models.TextField())
    sessions = models.BigIntegerField()
    first_sessions = models.BigIntegerField()
    made_at = models.DateTimeField()


class UsageTotal(Measures):
    """What sessions of a workspace used in a day or a month: by agent or all agents, of one origin, by tag or all."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    kind = models.CharField(max_length=5, choices=UsageKind.choices)
    tag = models.UUIDField()
    """Hash of the tag; zeros: sessions with any tags."""
    agent = models.CharField(max_length=36)
    """Empty: all agents."""
    span = models.CharField(max_length=5)
    """day, month, or, kept for sessions with any tags: ever, all months together (``migrations/_agent_days_0033``), and
    whole, a day of all origins together (``migrations/_whole_days_0065``)."""
    start = models.DateField()
    origin = models.CharField(max_length=10)
    key = models.UUIDField()
    name = models.TextField(null=True)
    sessions = models.BigIntegerField()
    """How many used it on that day; meaningless of longer spans."""
    first_sessions = models.BigIntegerField()
    """How many used it for the first time: these add up over days."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "kind", "tag", "agent", "span", "start", "origin", "key"], name="usage_total_once"
            )
        ]
        indexes = [
            models.Index(
                fields=["id"],
                condition=models.Q(here_rows=0, elsewhere_rows=0, data_known=0),
                name="usage_total_empty",
            )
        ]


class UsageFillIn(models.Model):
    """A row as long as sessions from before there were totals are not in them; see ``services.money.totals``."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    after = models.UUIDField(null=True)
    """The last session that is in."""


EVER = date.min
"""Stands for all days together."""
NOT_STARTED = date(1, 1, 2)
"""The day of sessions without a beginning."""


class AgentCounts(models.Model):
    """How many sessions of an agent began on a day, how many of them failed, and what it spent: kept, not counted.

    Triggers leave what changes in ``AgentDayChange`` (``migrations/_agent_days_0033.py``), in the transaction that
    changes it; ``services.agent_days`` takes it into ``AgentDay``. Both together are always exact.
    """

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    agent = models.ForeignKey(
        Agent, models.DO_NOTHING, null=True, related_name="+", db_constraint=False, db_index=False
    )
    """NULL: it is gone, and what it spent is not."""
    day = models.DateField()
    """In UTC."""
    sessions = models.BigIntegerField()
    """Sessions that began on it."""
    failing = models.BigIntegerField()
    """Those of them with at least one error."""
    spent = Exact()
    """US dollars of turns that were booked, and tool calls that succeeded, on it: what its budget counts."""

    class Meta:
        abstract = True


class AgentDay(AgentCounts):
    """Kept numbers of an agent on a day, and on ``EVER`` of all days."""

    id = models.BigAutoField(primary_key=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "day", "agent"], nulls_distinct=False, name="agent_day_once")
        ]


class AgentDayChange(AgentCounts):
    """A difference that ``AgentDay`` has not taken in yet."""

    id = models.BigAutoField(primary_key=True)
