"""Slack workspaces that are connected, and the jobs between them and the desk: one worker at a time runs each."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from sessions_app.ids import uuid7

from .agents import Agent
from .fields import EncryptedText
from .gate.approvals import Approval
from .sessions import Session
from .workspaces import Workspace


class SlackInstallation(models.Model):
    """A Slack workspace that talks to a workspace here."""

    class Outsiders(models.TextChoices):
        REJECT = "reject"
        ALLOW_LIST = "allow_list", "allow-list"
        ALL = "all"

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="slack_installations")
    team_id = models.CharField(max_length=32, unique=True)
    team_name = models.TextField(default="")
    bot_user_id = models.CharField(max_length=32, default="")
    bot_id = models.CharField(max_length=32, default="")
    bot_token = EncryptedText(default="")
    """Empty once it is disconnected."""
    signing_secret = EncryptedText(default="")
    """Empty: the one of ``SLACK_SIGNING_SECRET``, for the app of this desk."""
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True)
    """Who answers direct messages and mentions."""
    escalation_channel = models.CharField(max_length=32, blank=True, default="")
    outsiders = models.CharField(max_length=10, choices=Outsiders.choices, default=Outsiders.REJECT)
    """Whether guests and people of other Slack workspaces (shared channels) may talk to the agent."""
    allow_list = models.JSONField(default=list)
    """Slack user or team ids."""
    desk_url = models.TextField(default="")
    """Where its admin met this desk; links lead there unless ``COUNTERSIGN_PUBLIC_URL`` says otherwise."""
    problem = models.TextField(default="")
    """What Slack refused last, until it is put right; for the settings page."""
    away_since = models.DateTimeField(null=True)
    """Since when Slack could not be reached, or wanted us to come back later, without a break."""
    away_times = models.PositiveIntegerField(default=0)
    """Consecutive calls that found it so."""
    next_at = models.DateTimeField(null=True)
    """Not before, while it is away: then one job calls, and the others wait for what becomes of it."""
    installed_by = models.TextField(default="")
    installed_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.team_name or self.team_id


class SlackJob(models.Model):
    """Something to be done at Slack. A worker has claimed it until ``held_until``; then another may claim it."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    created_at = models.DateTimeField(auto_now_add=True)
    held_until = models.DateTimeField(null=True)
    retry_at = models.DateTimeField(null=True)
    """Not before: Slack said so (429), or could not be reached."""
    tries = models.PositiveIntegerField(default=0)
    """Consecutive failures."""
    error = models.TextField(default="")
    """Why it was given up."""
    done_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


class SlackEvent(SlackJob):
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


class SlackReply(SlackJob):
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


class SlackNotice(SlackJob):
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
