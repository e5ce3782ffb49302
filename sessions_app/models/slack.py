"""What goes to and fro between Slack and the desk: each row is carried out once, by whoever holds it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from sessions_app.ids import uuid7

from .approvals import Approval
from .sessions import Session
from .triggers import SlackInstallation


class Errand(models.Model):
    """Something to be done at Slack. A worker holds it until ``held_until``; then it is anybody's again."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    created_at = models.DateTimeField(auto_now_add=True)
    held_until = models.DateTimeField(null=True)
    retry_at = models.DateTimeField(null=True)
    """Not before: Slack said so (429), or could not be reached."""
    tries = models.PositiveIntegerField(default=0)
    """In vain, in a row."""
    error = models.TextField(default="")
    """Why it was given up."""
    done_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


class SlackEvent(Errand):
    """A message or a click that came from Slack; kept until its session or approval has it, and known from then on."""

    installation = models.ForeignKey(SlackInstallation, models.CASCADE, related_name="events")
    message = models.TextField()
    """``CHANNEL:TS``: a mention comes as two events, and a retry as the same one."""
    conversation_key = models.TextField()
    """``TEAM:CHANNEL:THREAD``; events of one are read in the order in which they came."""
    event_id = models.TextField()
    payload = models.JSONField()
    """The event, or the action of a click; emptied when it is done."""
    rejected = models.BooleanField(default=False)
    """Its sender was an outsider who may not talk to the agent."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["installation", "message"], name="slack_event_once")]
        indexes = [
            models.Index(fields=["conversation_key", "id"], name="slack_event_in_order"),
            models.Index(fields=["done_at"], name="slack_event_done"),  # to be done, or to be thrown away
        ]


class SlackReply(Errand):
    """What a turn is answered with in its Slack thread: one message that is edited while the turn goes on."""

    installation = models.ForeignKey(SlackInstallation, models.CASCADE, related_name="replies")
    session = models.ForeignKey(Session, models.CASCADE, related_name="slack_replies")
    turn = models.IntegerField()
    parts = models.JSONField(default=list)
    """``[{"ts", "sha256"}]`` of the messages that it takes: a long answer takes several."""
    posting = models.IntegerField(null=True)
    """The part that is being posted: who finds this looks in the thread before posting it again."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "turn"], name="slack_reply_once")]
        indexes = [models.Index(fields=["created_at"], condition=Q(done_at=None), name="slack_reply_to_do")]


class SlackNotice(Errand):
    """A message in an escalation channel, about an approval (kept up to date) or a budget."""

    installation = models.ForeignKey(SlackInstallation, models.CASCADE, related_name="notices")
    approval = models.ForeignKey(Approval, models.CASCADE, null=True, related_name="slack_notices")
    subject = models.TextField()
    """``approval:ID``, or ``budget:ID:PERIOD``: people are told once."""
    channel = models.TextField(default="")
    ts = models.TextField(default="")
    shown = models.TextField(default="")
    """The status of the approval that the message tells; ``posting`` while it may be there and nobody noted it."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["installation", "subject"], name="slack_notice_once")]
        indexes = [
            models.Index(fields=["created_at"], condition=Q(done_at=None), name="slack_notice_to_do"),
            models.Index(fields=["approval"], condition=Q(shown="pending"), name="slack_notice_asks"),
        ]
