"""Who is told of an approval and where: by e-mail, in a browser, and by webhooks to other programs."""

from __future__ import annotations

from django.db import models

from sessions_app.ids import uuid7

from ..fields import EncryptedText
from ..workspaces import Member, Workspace
from .approvals import Approval


class Notice(models.Model):
    """One message about one approval to one target, for one step: nobody is told twice. A job, claimed by a worker."""

    class Channel(models.TextChoices):
        MAIL = "mail"
        PUSH = "push"

    id = models.UUIDField(primary_key=True, default=uuid7)
    approval = models.ForeignKey(Approval, models.CASCADE, related_name="notices")
    member = models.ForeignKey(Member, models.CASCADE, db_index=False, related_name="+")
    channel = models.CharField(max_length=8, choices=Channel.choices)
    step = models.PositiveSmallIntegerField(default=0)
    """0: when it was asked; else the position of the escalation step."""
    created_at = models.DateTimeField(auto_now_add=True)
    next_try_at = models.DateTimeField(null=True)
    """None once it is sent or given up."""
    tries = models.PositiveIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    error = models.TextField(default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["approval", "member", "channel", "step"], name="notice_once"),
        ]
        indexes = [models.Index(fields=["next_try_at"], condition=~models.Q(next_try_at=None), name="notice_to_send")]


class PushSubscription(models.Model):
    """A browser of a member that shows notices (RFC 8030, RFC 8291)."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    member = models.ForeignKey(Member, models.CASCADE, related_name="push_subscriptions")
    endpoint = models.TextField(unique=True)
    p256dh = models.TextField()
    auth = models.TextField()
    browser = models.TextField(default="")
    made_at = models.DateTimeField(auto_now_add=True)
    last_sent_at = models.DateTimeField(null=True)


class NoticeChoice(models.Model):
    """How a member wants to be told; without a row: by nothing but the pages."""

    member = models.OneToOneField(Member, models.CASCADE, primary_key=True, related_name="notice_choice")
    mail = models.BooleanField(default=False)
    push = models.BooleanField(default=True)
    least_risk = models.CharField(max_length=10, default="")
    """Told of this risk and above; empty: of all."""


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
        ]
