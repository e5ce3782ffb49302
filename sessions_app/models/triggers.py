"""Triggers, which start sessions without a person: schedules and webhooks; and a run for each time one fired."""

from __future__ import annotations

from django.db import models

from sessions_app.ids import uuid7

from .agents import Agent
from .fields import AsWrittenJSON, EncryptedText
from .sessions import Session
from .workspaces import Workspace


class WhenAsking(models.TextChoices):
    """What becomes of a call in a session that no person began, where a person would have to be asked."""

    WAIT = "wait"
    DENY = "deny"
    REFUSE = "refuse", "refuse to start"


class Schedule(models.Model):
    """Starts a session of an agent at the times of a cron expression (five fields) in a time zone."""

    class Missed(models.TextChoices):
        SKIP = "skip"
        ONCE = "once"
        ALL = "all"

    class Overlap(models.TextChoices):
        ALLOW = "allow"
        SKIP = "skip"

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="schedules")
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="schedules")
    name = models.CharField(max_length=100)
    cron = models.CharField(max_length=200)
    timezone = models.CharField(max_length=64, default="UTC")
    input_text = models.TextField()
    """The first message of each session."""
    enabled = models.BooleanField(default=True)
    missed = models.CharField(max_length=4, choices=Missed.choices, default=Missed.ONCE)
    """What becomes of times that passed while nothing ran here."""
    overlap = models.CharField(max_length=5, choices=Overlap.choices, default=Overlap.ALLOW)
    """Whether it fires while the session of the last fire still runs."""
    when_asking = models.CharField(
        max_length=6, choices=WhenAsking.choices, default=WhenAsking.WAIT, db_default=WhenAsking.WAIT
    )
    next_run_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    last_run: TriggerRun | None
    """Not a column: ``queries.triggers.with_last_runs`` sets it."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "name"], name="schedule_name_once")]
        indexes = [models.Index(fields=["next_run_at"], condition=models.Q(enabled=True), name="schedule_due")]

    def __str__(self) -> str:
        return self.name


class WebhookEndpoint(models.Model):
    """A secret URL that starts a session of an agent with what is posted to it."""

    class Scheme(models.TextChoices):
        NONE = "none"
        GITHUB = "github"
        STRIPE = "stripe"
        SLACK = "slack"
        SHOPIFY = "shopify"
        TWILIO = "twilio"
        GENERIC = "generic"
        STANDARD = "standard", "Standard Webhooks"

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="webhook_endpoints")
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, related_name="webhook_endpoints")
    """None: deliveries are kept and acknowledged by hand."""
    name = models.CharField(max_length=50)
    hook_id = models.CharField(max_length=64, unique=True)
    """The secret part of its URL."""
    scheme = models.CharField(max_length=10, choices=Scheme.choices, default=Scheme.GENERIC)
    secret = EncryptedText(default="")
    when_asking = models.CharField(
        max_length=6, choices=WhenAsking.choices, default=WhenAsking.WAIT, db_default=WhenAsking.WAIT
    )
    active = models.BooleanField(default=True)
    """Deleting one deactivates it: its deliveries stay, and its name stays taken."""
    created_at = models.DateTimeField(auto_now_add=True)
    refused = models.BigIntegerField(default=0)
    """Requests whose signature was wrong: counted, and kept nowhere."""
    refused_at = models.DateTimeField(null=True)
    refused_why = models.TextField(default="")

    last_delivery: WebhookDelivery | None
    """Not a column: ``queries.triggers.with_last_deliveries`` sets it."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "name"], name="webhook_name_once")]

    def __str__(self) -> str:
        return self.name


class WebhookDelivery(models.Model):
    """What was posted, as it came."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="webhook_deliveries")
    endpoint = models.ForeignKey(WebhookEndpoint, models.CASCADE, related_name="deliveries", db_index=False)
    delivery_id = models.TextField()
    """The sender's own id, or a hash of what was sent: the same one again is the same delivery."""
    topic = models.TextField(default="")
    """What it is about, in a word of the sender: ``push``, ``invoice.paid``."""
    size = models.IntegerField()
    """Bytes that were posted."""
    payload = AsWrittenJSON()
    """The JSON that came, or ``{"raw": TEXT}`` of anything else."""
    headers = models.JSONField(default=dict)
    source_ip = models.GenericIPAddressField(null=True)
    verified = models.BooleanField(default=False)
    received_at = models.DateTimeField(auto_now_add=True)
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.TextField(default="")

    latest_run: TriggerRun | None
    """Not a column: ``queries.triggers.with_latest_runs`` sets it."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["endpoint", "delivery_id"], name="delivery_once")]
        indexes = [
            models.Index(fields=["workspace", "-id"], name="delivery_recent"),
            models.Index(fields=["endpoint", "-id"], name="delivery_of_endpoint"),
            models.Index(
                fields=["endpoint", "-id"], condition=models.Q(acknowledged_at=None), name="delivery_not_acknowledged"
            ),
        ]


class SignedRequest(models.Model):
    """A signed post whose id is not signed: the same bytes with the same signed time are the same, whatever the id."""

    endpoint = models.ForeignKey(WebhookEndpoint, models.CASCADE, related_name="+", db_index=False)
    sha256 = models.CharField(max_length=64)
    """Of the signed time and the body."""
    delivery = models.ForeignKey(WebhookDelivery, models.CASCADE, related_name="+")
    received_at = models.DateTimeField(auto_now_add=True, db_index=True)
    """The row goes when the signed time is too old for anybody to send it again."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["endpoint", "sha256"], name="signed_request_once")]


class TriggerRun(models.Model):
    """One fire, whatever came of it."""

    class Kind(models.TextChoices):
        SCHEDULE = "schedule"
        WEBHOOK = "webhook"
        SLACK = "slack"

    class Status(models.TextChoices):
        STARTED = "started"
        SKIPPED = "skipped"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="trigger_runs")
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, related_name="trigger_runs")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    name = models.TextField(default="")
    """Of the trigger, as it was called then."""
    schedule = models.ForeignKey(Schedule, models.SET_NULL, null=True, related_name="runs", db_index=False)
    delivery = models.ForeignKey(WebhookDelivery, models.SET_NULL, null=True, related_name="runs")
    session = models.ForeignKey(Session, models.SET_NULL, null=True, related_name="trigger_runs")
    cause = models.TextField(default="")
    """Of a fire that is none of the rule's own: "run now by Ines", "replayed by Ines"."""
    fire_key = models.TextField()
    """The same fire again is the same run: ``SCHEDULE_ID@TIME``, ``delivery:ID``, a Slack event id."""
    due_at = models.DateTimeField(null=True)
    fired_at = models.DateTimeField(auto_now_add=True)
    status = models.CharField(max_length=8, choices=Status.choices)
    input_text = models.TextField(default="")
    """The beginning of the first message; the whole of it is in the session or the delivery."""
    error = models.TextField(default="")
    """Why there is no session."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "fire_key"], name="fired_once")]
        indexes = [
            models.Index(fields=["workspace", "-id"], name="trigger_run_recent"),
            models.Index(fields=["schedule", "-id"], name="trigger_run_of_schedule"),
        ]
