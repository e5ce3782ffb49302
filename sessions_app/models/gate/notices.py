"""Who is told of an approval and where: by e-mail, in a browser, and by webhooks to other programs."""

from __future__ import annotations

from django.db import models

from sessions_app.ids import uuid7

from ..fields import EncryptedText
from ..workspaces import Member, Workspace
from .approvals import Approval


class PushKey(models.Model):
    """The key by which push services know this installation (VAPID, RFC 8292): one row, made when first needed."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    private = EncryptedText()
    """PEM, PKCS #8."""
    public = models.TextField()
    """An uncompressed point of P-256 in Base64 for URLs; browsers are given it as ``applicationServerKey``."""
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="one_push_key")]


class PushSubscription(models.Model):
    """A browser of a member that shows notices (RFC 8030, RFC 8291)."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    member = models.ForeignKey(Member, models.CASCADE, related_name="push_subscriptions")
    endpoint = models.TextField()
    """Whoever knows this address can have something sent to the browser: it is shown to nobody."""
    p256dh = models.TextField()
    auth = models.TextField()
    browser = models.TextField(default="")
    public_key = models.TextField(default="")
    """``PushKey.public`` when it was made: its push service takes nothing that another key signed."""
    made_at = models.DateTimeField(auto_now_add=True)
    last_sent_at = models.DateTimeField(null=True)
    next_at = models.DateTimeField(null=True)
    """Not before: one push in some seconds, and what its push service asked for when it failed."""
    problem = models.TextField(default="")
    """What the last push failed with, until one succeeds."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["member", "endpoint"], name="push_subscription_once")]
        indexes = [models.Index(fields=["endpoint"], name="push_subscription_endpoint")]


class Notice(models.Model):
    """One message about one approval to one target, for one step: nobody is told twice. A job, claimed by a worker."""

    class Channel(models.TextChoices):
        MAIL = "mail"
        PUSH = "push"

    id = models.UUIDField(primary_key=True, default=uuid7)
    approval = models.ForeignKey(Approval, models.CASCADE, related_name="notices")
    member = models.ForeignKey(Member, models.CASCADE, db_index=False, related_name="+")
    channel = models.CharField(max_length=8, choices=Channel.choices)
    subscription = models.ForeignKey(PushSubscription, models.CASCADE, null=True, related_name="notices")
    """The browser that a push goes to."""
    step = models.PositiveSmallIntegerField(default=0)
    """0: when it was asked; else the position of the escalation step."""
    digest = models.BooleanField(default=False)
    """A mail that waits for others, to be one with them."""
    shown = models.CharField(max_length=20, default="")
    """Of a push: the status of the approval that the browser was told; ``together`` with others in one."""
    created_at = models.DateTimeField(auto_now_add=True)
    next_try_at = models.DateTimeField(null=True)
    """None once it is sent or given up."""
    tries = models.PositiveIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    error = models.TextField(default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["approval", "member", "channel", "subscription", "step"],
                name="notice_once",
                nulls_distinct=False,
            ),
        ]
        indexes = [
            models.Index(fields=["next_try_at"], condition=~models.Q(next_try_at=None), name="notice_to_send"),
            models.Index(fields=["approval"], condition=models.Q(shown="pending"), name="notice_asks"),
        ]


class NoticeChoice(models.Model):
    """How a member wants to be told of approvals and mentions; without a row: by nothing but the pages."""

    member = models.OneToOneField(Member, models.CASCADE, primary_key=True, related_name="notice_choice")
    mail = models.BooleanField(default=False)
    push = models.BooleanField(default=True)
    least_risk = models.CharField(max_length=10, default="")
    """Told of this risk and above; empty: of all."""
    digest_minutes = models.PositiveSmallIntegerField(default=0)
    """Mails of low risk are sent together, this long after the first; 0: each by itself."""
    mentions = models.BooleanField(default=False, db_default=False)
    """A mail when somebody names them in a comment."""
    push_mentions = models.BooleanField(default=True, db_default=True)
    """A push then, to each browser that they subscribed."""


class OutgoingWebhook(models.Model):
    """An address that is told of approvals by signed posts (Standard Webhooks 1.0)."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="outgoing_webhooks")
    name = models.CharField(max_length=50)
    url = models.TextField()
    secret = EncryptedText()
    """``whsec_`` and 32 bytes in Base64."""
    events = models.JSONField(default=list)
    """Types that it is told of, ``approval.requested``...; none: all."""
    active = models.BooleanField(default=True)
    made_by = models.TextField(default="")
    made_at = models.DateTimeField(auto_now_add=True)
    problem = models.TextField(default="")
    """What the last post failed with, until one succeeds."""
    failing_since = models.DateTimeField(null=True)
    failed_times = models.PositiveIntegerField(default=0)
    """Consecutive posts that failed, of whichever messages."""
    next_at = models.DateTimeField(null=True)
    """Not before, while it fails: then one message is tried, and the others wait for what becomes of it."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "name"], name="outgoing_webhook_name_once")]


class OutgoingMessage(models.Model):
    """One post to one webhook; tried again until it is taken or given up."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    """Also the ``webhook-id``: the receiver knows a repeat by it."""
    webhook = models.ForeignKey(OutgoingWebhook, models.CASCADE, related_name="messages")
    event = models.CharField(max_length=40)
    subject_id = models.UUIDField()
    """What it tells of, and how that stood: the same again is the same message."""
    approval = models.ForeignKey(Approval, models.CASCADE, null=True, related_name="+")
    """None where it tells of something else. It is erased with it."""
    body = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    next_try_at = models.DateTimeField(null=True)
    held_until = models.DateTimeField(null=True)
    """While a worker posts it."""
    tries = models.PositiveIntegerField(default=0)
    taken_at = models.DateTimeField(null=True)
    last_status = models.IntegerField(null=True)
    error = models.TextField(default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["webhook", "event", "subject_id"], name="outgoing_message_once"),
        ]
        indexes = [
            models.Index(
                fields=["next_try_at"], condition=~models.Q(next_try_at=None), name="outgoing_message_to_send"
            ),
            models.Index(fields=["webhook", "-id"], name="outgoing_message_recent"),
            models.Index(fields=["webhook"], condition=~models.Q(held_until=None), name="outgoing_message_held"),
        ]
