"""Turns: as the log has them, the one that a worker is at, the messages behind it; tasks that wait for a worker."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F
from django.utils import timezone

from sessions_app.ids import uuid7

from .fields import Money, Tokens
from .sessions import Session


class Turn(Tokens, Money):
    """Everything from one message of a person or trigger until before the next; turn 0 is what came before."""

    pk = models.CompositePrimaryKey("session_id", "index")
    session = models.ForeignKey(Session, models.CASCADE, related_name="turns", db_index=False, db_constraint=False)
    index = models.IntegerField()
    first_seq = models.IntegerField()
    last_seq = models.IntegerField()
    event_count = models.IntegerField(default=0)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    prompt = models.TextField(blank=True, default="")
    """The first 2,000 characters of what is asked in the message that began it, see ``titles.asked_in``."""
    model_names = ArrayField(models.TextField(), default=list)
    tool_calls = models.IntegerField(default=0)
    errors = models.IntegerField(default=0)
    began_at = models.DateTimeField(null=True)
    """The moment that its usage belongs to: its own beginning, else its session's. NULL: not in the totals yet."""
    here = models.BooleanField(default=False, db_default=False)
    """Whether it ran here, and is paid from the AI wallet."""
    runtime_ms = models.BigIntegerField(null=True)
    shares = models.JSONField(null=True)
    """What it used by itself, by model and by tool, see ``services.log.turn_usage``."""
    bought = models.JSONField(null=True)
    """What its tool calls took from the data wallet, as ``[kind, name, turns, dollars, calls]``."""

    class Meta:
        indexes = [models.Index(fields=["session", "index"], condition=models.Q(errors__gt=0), name="turn_with_errors")]


class WaitingMessages(models.QuerySet["QueuedMessage"]):
    """Messages that wait, of one session or of several."""

    def in_line(self) -> WaitingMessages:
        """In the order in which they are read: who interrupted for a message is not put off by older ones."""
        return self.order_by(F("data__interrupts").asc(nulls_last=True), "id")


class QueuedMessage(models.Model):
    """A message that is not in the log yet: another turn is in flight, and it begins the next one."""

    objects = WaitingMessages.as_manager()

    id = models.UUIDField(primary_key=True, default=uuid7)
    session = models.ForeignKey(Session, models.CASCADE, related_name="queued_messages")
    text = models.TextField()
    by_kind = models.CharField(max_length=10, default="person")
    """person or trigger."""
    by = models.TextField(default="")
    sender_kind = models.CharField(max_length=10, default="")
    """member, api_key, slack or trigger."""
    sender_id = models.TextField(default="")
    data = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)


class TurnInFlight(models.Model):
    """One turn of a session whose status is ``running``: there while it runs or waits for a person, then deleted.

    A worker holds it as long as ``heartbeat_at`` is fresh; who finds it stale goes on with it from the log.
    """

    session = models.OneToOneField(Session, models.CASCADE, primary_key=True, related_name="in_flight")
    turn = models.IntegerField()
    triggered = models.BooleanField(default=False, db_default=False)
    """A webhook's message began it: it is run apart from the turns that people wait for."""
    requester = models.TextField(default="", db_default="")
    """Kind and id of who sent the message: turns that wait are taken in turns between those who sent them."""
    started_at = models.DateTimeField(auto_now_add=True)
    worker = models.UUIDField(null=True)
    """Who holds it; NULL while it waits for a worker or a person."""
    heartbeat_at = models.DateTimeField(null=True)
    attempt = models.PositiveIntegerField(default=0)
    rung_at = models.DateTimeField(null=True, default=timezone.now)
    """When a worker was last asked to go on; NULL while there is nothing to do until a person decides."""
    interrupted_at = models.DateTimeField(null=True)
    retry_at = models.DateTimeField(null=True)
    """Not before: the runtime said to come back later (429, 529)."""
    failures = models.PositiveIntegerField(default=0)
    """In a row, of the kind that may pass."""
    busy_ms = models.BigIntegerField(default=0)
    """Time a worker was at it; waiting for a person does not count."""
    said = models.TextField(default="")
    """What the model has written of the message that is being streamed; not in the log before it is whole."""
    said_request = models.TextField(default="")
    state = models.JSONField(default=dict)
    """Notes of the runtime."""

    class Meta:
        indexes = [models.Index(fields=["heartbeat_at"], name="turn_in_flight_stale")]


class QueuedTask(models.Model):
    """A task of one row that waits for a worker, until one takes it: then it is deleted.

    Without foreign keys: what is enqueued locks no workspace, and a row that is gone has nothing left to do.
    """

    pk = models.CompositePrimaryKey("row_id", "task")
    task = models.TextField()
    """Name of a Celery task that takes the id of a row."""
    row_id = models.UUIDField()
    queue = models.TextField()
    workspace_id = models.UUIDField()
    person = models.TextField(default="")
    """Who asked for it: kind and id (``member:…``, ``api_key:…``, ``trigger:…``), or "" for the workspace itself."""
    since = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["queue", "workspace_id", "person", "since", "row_id"], name="queued_task_in_line")
        ]


class LastTaken(models.Model):
    """When a worker last took a task of one person from a queue; forgotten after an hour."""

    pk = models.CompositePrimaryKey("queue", "workspace_id", "person")
    queue = models.TextField()
    workspace_id = models.UUIDField()
    person = models.TextField()
    at = models.DateTimeField()


class Requeue(models.Model):
    """The last time that a sweep enqueued the task of a row again: it waits longer before each further time."""

    pk = models.CompositePrimaryKey("task", "row_id")
    task = models.TextField()
    row_id = models.UUIDField()
    since = models.DateTimeField()
    """When the row lost its message or its worker."""
    at = models.DateTimeField(db_index=True)
    times = models.IntegerField(default=0)
    """In a row, without a worker that took it meanwhile."""
