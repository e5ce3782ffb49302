"""A tool call that waits for a person, and the votes on it."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

import orjson
from django.conf import settings
from django.db import models

from sessions_app import canonical
from sessions_app.ids import uuid7

from ..fields import AsWrittenJSON
from ..sessions import Session
from ..turns import Turn
from ..workspaces import ApiKey, Member, Workspace
from . import urgency
from .grants import Grant
from .policies import PolicyVersion

ESCALATE = "escalate_to_human"
"""The tool by which every agent can ask a person a question; a person always answers it."""


class Approval(models.Model):
    class Status(models.TextChoices):
        PENDING = "pending"
        APPROVED = "approved"
        APPROVED_EDITED = "approved_edited"
        DENIED = "denied"
        ANSWERED = "answered"
        EXPIRED = "expired"
        CANCELLED = "cancelled"
        AUTO_ALLOWED = "auto_allowed"
        AUTO_DENIED = "auto_denied"
        SETTLED_ELSEWHERE = "settled_elsewhere"

    class DecidesBy(models.TextChoices):
        PERSON = "person"
        POLICY = "policy"
        GRANT = "grant"
        STOP = "stop"
        SYSTEM = "system"

    id = models.UUIDField(primary_key=True, default=uuid7)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="approvals", db_index=False)
    session = models.ForeignKey(Session, models.CASCADE, related_name="approvals")
    event_seq = models.IntegerField(null=True)
    recorded = models.BooleanField(default=False)
    """Told by a file of elsewhere: it was never asked here, and cannot be decided here."""
    client_id = models.TextField(default="")
    tool_name = models.TextField()
    tool_server = models.TextField(null=True)
    arguments = AsWrittenJSON(null=True)
    """None where a file tells of a decision but not of what was asked."""
    context = models.TextField(default="")
    """What the agent says of why it asks."""
    digest = models.CharField(max_length=64)
    """Of what was shown, see ``digest_of_question``: a decision names it, so that it cannot be about something else."""
    status = models.CharField(max_length=20, choices=Status.choices, default=Status.PENDING)
    version = models.PositiveIntegerField(default=1)
    risk = models.CharField(max_length=40, default="")
    rule = models.TextField(null=True)
    requested_by = models.TextField(default="")
    asked_by_key = models.ForeignKey(ApiKey, models.SET_NULL, null=True, db_index=False, related_name="+")
    asked_by_user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, db_index=False, related_name="+"
    )
    """Who asked, and so cannot decide. Both None: an agent that runs here, or a file."""
    requested_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)
    decision = models.JSONField(null=True)
    decides_by = models.CharField(max_length=8, choices=DecidesBy.choices, default=DecidesBy.PERSON)
    """What kind of answer it is; the name is in ``decision.by``."""
    policy_version = models.ForeignKey(PolicyVersion, models.PROTECT, null=True, db_index=False, related_name="+")
    """The rules of the workspace that were in force when it was asked; None where there were none."""
    terms = models.JSONField(default=dict)
    """What the rules ask of a decision, frozen when it was asked: who is eligible, comments (``policy.Terms``)."""
    votes_needed = models.PositiveSmallIntegerField(default=1, db_default=1)
    shadow = models.JSONField(null=True)
    """What the draft in shadow would have said: ``{"policy_version", "effect", "rule"}``."""
    grant = models.ForeignKey(Grant, models.SET_NULL, null=True, related_name="let_through")
    """The grant that let it through."""
    initiated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, db_index=False, related_name="+"
    )
    """The person whose message or schedule began the turn, where there is one."""
    tool_fingerprint = models.CharField(max_length=64, default="", db_default="")
    """SHA-256 of the tool's schema and the address of its server as they were; empty where the asker sent none."""
    planted_by = models.ForeignKey(Member, models.SET_NULL, null=True, db_index=False, related_name="+")
    """The admin who placed it as a test of attention: it is never executed. Shown to others once it is decided."""
    planted = models.BooleanField(default=False, db_default=False)

    claimed_by = models.ForeignKey(Member, models.SET_NULL, null=True, db_index=False, related_name="+")
    """Who says that they are at it, until ``claimed_until``: a hint to others, not a lock."""
    claimed_until = models.DateTimeField(null=True)
    assigned_to = models.ForeignKey(Member, models.SET_NULL, null=True, db_index=False, related_name="assigned")
    snoozed_until = models.DateTimeField(null=True)
    """Out of the way until then, for everybody; what expires, expires all the same."""

    executable_digest = models.CharField(max_length=64, default="", db_default="")
    """Of the call that may be made, after an edit, if any: the executor presents it. Empty where none may be made."""
    deliver_at = models.DateTimeField(null=True)
    """Not before. While it is pending: when what the votes decided takes effect, see ``takes_effect_at``."""
    delivery = models.CharField(max_length=12, default="none")
    """none, queued, sending, uncertain, delivered, stale, failed; elsewhere: the asker had another answer before.

    nobody: nobody will fetch it, since the asker asks no more.
    """
    delivery_tries = models.PositiveIntegerField(default=0, db_default=0)
    delivery_error = models.TextField(default="", db_default="")
    delivered_at = models.DateTimeField(null=True)
    execution = models.CharField(max_length=12, default="none")
    """none, running, succeeded, errored, refused: what the log shows of the call afterwards."""
    executed_at = models.DateTimeField(null=True)

    turn: Turn | None
    """Not a column: ``queries.approvals.with_turns`` sets it, and so the next two."""
    undecidable: str
    """Why nobody here can approve it; empty where somebody can."""
    steps_taken: list[Any]
    """Its escalation steps that fired."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["session", "client_id"], condition=~models.Q(client_id=""), name="approval_asked_once"
            )
        ]
        indexes = [
            models.Index(
                fields=["workspace", "requested_at"], condition=models.Q(status="pending"), name="approval_waits"
            ),
            models.Index(fields=["workspace", "-id"], name="approval_newest"),
            models.Index(fields=["workspace", "requested_at"], name="approval_asked"),
            models.Index(fields=["workspace", "status", "-id"], name="approval_by_status"),
            models.Index(fields=["expires_at"], condition=models.Q(status="pending"), name="approval_expires"),
            models.Index(
                fields=["deliver_at"],
                condition=models.Q(delivery__in=["queued", "sending", "uncertain", "failed"]),
                name="approval_to_deliver",
            ),
            models.Index(fields=["session", "event_seq"], name="approval_of_event"),
            models.Index(fields=["session"], condition=models.Q(planted=True), name="approval_planted"),
            models.Index(
                fields=["workspace", "-decided_at", "-id"],
                condition=~models.Q(status="pending") & models.Q(recorded=False),
                name="approval_decided",
            ),
            models.Index(
                fields=["deliver_at"],
                condition=models.Q(status="pending", deliver_at__isnull=False),
                name="approval_takes_effect",
            ),
            models.Index(
                models.F("workspace"), urgency.rank(), urgency.expires(), models.F("requested_at"), models.F("id"),
                condition=models.Q(status="pending", deliver_at=None), name="approval_urgency",
            ),
        ]  # fmt: skip

    not_kept = ""
    """Of one that was just decided again: what of it was not kept, as a sentence. No column."""

    @property
    def is_escalation(self) -> bool:
        """Whether it is a question to a person and not a call of a tool: its result is the answer."""
        return self.tool_name == ESCALATE and not self.tool_server

    @property
    def takes_effect_at(self) -> datetime | None:
        """When the decision that was voted takes effect; until then it can be taken back, and is pending for agents.

        None where nothing is decided, or it has taken effect. Who voted what, ``queries.votes.tally`` says.
        """
        return self.deliver_at if self.status == self.Status.PENDING else None

    def digest_of_question(self) -> str:
        """SHA-256, in hex, of ``text_of_question``."""
        return hashlib.sha256(self.text_of_question()).hexdigest()

    def text_of_question(self) -> bytes:
        """Canonical JSON (sorted keys, compact, UTF-8) of what a reviewer is shown."""
        shown = {
            "session": str(self.session_id), "approval": str(self.pk), "tool": self.tool_name,
            "server": self.tool_server, "input": self.arguments,
        }  # fmt: skip
        return orjson.dumps(shown, option=orjson.OPT_SORT_KEYS)

    def digest_of_call(self, arguments: Any) -> str:
        """SHA-256, in hex, of the canonical JSON (``sessions_app.canonical``) of the call with these arguments.

        It is ``executable_digest`` where the call may be made so: who makes it computes the same and presents it.
        """
        return canonical.digest({
            "session": str(self.session_id), "approval": str(self.pk), "tool": self.tool_name,
            "server": self.tool_server, "input": arguments,
        })  # fmt: skip


class Vote(models.Model):
    """What one person or API key said; append-only.

    The last one of each counts, where it is about the arguments that stand (``digest``): an edit voids earlier votes.
    """

    id = models.UUIDField(primary_key=True, default=uuid7)
    approval = models.ForeignKey(Approval, models.CASCADE, related_name="votes")
    member = models.ForeignKey(Member, models.DO_NOTHING, null=True)
    """Set to NULL by the database when the member goes (migration 0005), and so for the key."""
    api_key = models.ForeignKey(ApiKey, models.DO_NOTHING, null=True)
    by = models.TextField()
    """The name at the time of voting: it stays when the member goes."""
    role = models.CharField(max_length=10, default="", db_default="")
    """The role at the time of voting; empty before receipts."""
    verdict = models.CharField(max_length=10)
    """approve, deny, answer, or withdraw: the one before is taken back."""
    version = models.PositiveIntegerField(default=0, db_default=0)
    """Of the approval since this vote: votes are counted in this order. 0 before there were several."""
    digest = models.CharField(max_length=64, default="", db_default="")
    """Of the call that was voted on: what was asked, or what an edit made of it. Empty before policies."""
    arguments = models.JSONField(null=True)
    answer = models.TextField(default="")
    reason = models.TextField(default="")
    grant_wish = models.JSONField(null=True)
    """The grant to make when the decision takes effect: ``{"wish": Wish.as_json(), "agent_version"}``."""
    channel = models.CharField(max_length=10)
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["at"], name="vote_recent")]
