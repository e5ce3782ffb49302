"""A session: one run of an agent. Its totals are projections of the log, see ``services.log.projections``."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex, HashIndex
from django.db import models
from django.db.models import F
from django.db.models.fields.json import KeyTransform
from django.utils import timezone

from sessions_app.ids import uuid7

from . import session_order
from .agents import Agent
from .fields import Money, Tokens
from .workspaces import ApiKey, Member, Workspace

MOST_NAMED = 50
"""Models that a file names beside its responses."""
JUST_NOW = timedelta(minutes=15)
"""A session that is read while it goes on (``watch``) may be in the middle of a call: within this time of its last
event nobody says that it broke off."""


class Session(Tokens, Money):
    class Status(models.TextChoices):
        IDLE = "idle"
        RUNNING = "running"
        ARCHIVED = "archived"

    class Origin(models.TextChoices):
        CHAT = "chat"
        SLACK = "slack"
        SCHEDULE = "schedule"
        WEBHOOK = "webhook"
        IMPORT = "import"
        API = "api"
        OTLP = "otlp"

    class Phase(models.TextChoices):
        ACTIVE = "active"
        COMPLETED = "completed"
        CANCELLED = "cancelled"
        CRASHED = "crashed"
        TIMED_OUT = "timed_out"

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="sessions", db_index=False)
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="sessions", db_index=False)
    agent_version = models.PositiveIntegerField(default=1)
    """Of the definition that it runs under."""
    opened_by_key = models.ForeignKey(ApiKey, models.SET_NULL, null=True, db_index=False, related_name="+")
    """The API key that opened it, whose own it is; None: a person, a trigger, a file or the command line did."""
    parent = models.ForeignKey("self", models.SET_NULL, null=True, related_name="children")
    continues = models.ForeignKey("self", models.SET_NULL, null=True, related_name="continuations", db_index=False)
    """The session whose transcript is the context of this one, up to ``continues_seq``."""
    continues_seq = models.IntegerField(null=True)
    runtime_id = models.TextField(blank=True, default="")
    """What the runtime calls this session."""
    slack_conversation_key = models.TextField(blank=True, default="")
    """``TEAM:CHANNEL:THREAD`` of the Slack thread that it answers in."""
    title = models.TextField(blank=True, default="")
    title_is_prompt = models.BooleanField(default=False)
    """Nobody named it: it is called after its first message, also when an earlier one comes in later."""
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.IDLE)
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.API)
    phase = models.CharField(max_length=10, choices=Phase.choices, default=Phase.ACTIVE)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    ending = models.CharField(max_length=20, blank=True, default="", db_default="")
    """How its file ends where nobody would call it completed: broke_off (in the middle of a call), ended_in_error or
    no_reply, as ``summary.card.how_ended`` has them. Empty for all others, and for what was not read from a file."""
    summary = models.TextField(blank=True, default="")
    tags = ArrayField(models.TextField(), default=list)
    metadata = models.JSONField(default=dict)
    user_id = models.TextField(blank=True, default="")
    external_id = models.TextField(blank=True, default="")
    source_format = models.CharField(max_length=40, blank=True, default="")
    response_scope = models.CharField(max_length=40, blank=True, default="")
    """Sessions of a workspace with the same scope know a model response by the same id; empty: each has its own ids."""
    verdict = models.CharField(max_length=6, blank=True, default="", db_default="")
    """What reviewers say of it, as ``Verdict.Says``; ``mixed`` where they differ, empty where nobody said anything."""
    assignee = models.ForeignKey(Member, models.SET_NULL, null=True, related_name="+", db_index=False)
    """Who is to review it."""
    source_record = models.JSONField(default=dict)
    """What the writer of ``source_format`` needs to write the file again; opaque here."""

    last_seq = models.IntegerField(default=0)
    last_turn = models.IntegerField(default=0)
    indexed_seq = models.IntegerField(default=0)
    turn_count = models.IntegerField(default=0)
    event_count = models.IntegerField(default=0)
    tool_call_count = models.IntegerField(default=0)
    error_count = models.IntegerField(default=0)
    pending_approvals = models.IntegerField(default=0)
    tools_invoked = ArrayField(models.TextField(), default=list)
    model_names = ArrayField(models.TextField(), default=list)

    class Meta:
        # Those of ``tools_invoked`` and ``model_names`` stand in migration 0030, with the function that they are over.
        indexes = [
            *(
                models.Index(F("workspace"), key, F("id"), name=f"session_by_{name}")
                for name, key in session_order.LASTING.items()
            ),
            *(
                models.Index(F("workspace"), F(name), session_order.STARTED, F("id"), name=f"session_by_{name}")
                for name in ("status", "origin", "verdict")
            ),
            models.Index(F("workspace"), session_order.ENDED, session_order.STARTED, F("id"), name="session_by_ended"),
            models.Index(F("agent"), session_order.STARTED, F("id"), name="session_by_agent"),
            models.Index(fields=["agent", "-created_at"], name="session_of_agent"),
            models.Index(fields=["agent", "id"], name="session_of_agent_by_id"),
            models.Index(
                F("opened_by_key"), session_order.STARTED, F("id"),
                condition=models.Q(opened_by_key__isnull=False), name="session_by_key",
            ),
            models.Index(
                F("assignee"), session_order.STARTED, F("id"),
                condition=models.Q(assignee__isnull=False), name="session_by_assignee",
            ),
            models.Index(
                F("workspace"), session_order.STARTED, F("id"),
                condition=models.Q(error_count__gt=0), name="session_with_errors",
            ),
            models.Index(
                F("workspace"), session_order.STARTED, F("id"),
                condition=models.Q(pending_approvals__gt=0), name="session_waiting",
            ),
            models.Index(
                fields=["agent"], condition=models.Q(pending_approvals__gt=0), name="session_waiting_of_agent"
            ),
            models.Index(fields=["workspace", "external_id"], name="session_external"),
            GinIndex(fields=["tags"], name="session_tags"),
            # Sub-agents whose parent has not come yet, by what their file calls it: hashes, since files say anything.
            HashIndex(
                KeyTransform("parent_external_id", "metadata"),
                condition=models.Q(parent=None, metadata__has_key="parent_external_id"), name="session_orphans",
            ),
            models.Index(fields=["continues"], condition=models.Q(continues__isnull=False), name="session_continues"),
        ]  # fmt: skip
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "slack_conversation_key"],
                condition=~models.Q(slack_conversation_key=""),
                name="session_of_slack_thread",
            )
        ]

    @property
    def asks_models_here(self) -> bool:
        """Whether this desk itself asks the models in it, and so knows of every token: no program reports of it."""
        reported = (self.Origin.IMPORT, self.Origin.OTLP, self.Origin.API)
        return self.agent.asks_models_here and self.origin not in reported

    @property
    def was_written_just_now(self) -> bool:
        """Whether its file may go on: it was read, and the last event in it is not older than ``JUST_NOW``."""
        is_read = self.origin == self.Origin.IMPORT
        return is_read and self.ended_at is not None and timezone.now() - self.ended_at < JUST_NOW

    @property
    def ended(self) -> str:
        """One of ``session_order.ENDINGS``: what ``ENDED`` is to the database."""
        if self.pending_approvals:
            return "waiting"
        if self.phase in (self.Phase.CRASHED, self.Phase.TIMED_OUT):
            return "error"
        if self.phase == self.Phase.CANCELLED:
            return "cancelled"
        if self.status == self.Status.IDLE and self.phase == self.Phase.COMPLETED:
            return "error" if self.ending == "ended_in_error" else self.ending or "completed"
        return self.status

    @property
    def all_models(self) -> list[str]:
        """Models of its responses, then those that its file names without any: of a sub-agent that states no tokens."""
        named = self.metadata.get("models") if self.origin == self.Origin.IMPORT else None
        told = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
        return list(dict.fromkeys([*self.model_names, *told[:MOST_NAMED]]))

    def __str__(self) -> str:
        return self.title or f"Session {str(self.id)[-6:]}"
