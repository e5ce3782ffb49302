"""Approvals: the question, the decision, and what is answered."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, Field, StringConstraints, model_validator

from sessions_app import models
from sessions_app.queries import escalations, votes
from sessions_app.services.approvals.execution import MAX_DETAIL

from .common import Body, Id, Name
from .grants import GrantTerms

MAX_EXPIRY = 30 * 24 * 3600


class AskedTool(Body):
    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
    server: Annotated[str, Field(max_length=500)] | None = None
    arguments: dict[str, Any]
    fingerprint: Annotated[str, Field(max_length=64)] = Field(
        "",
        description="SHA-256 of the tool's schema and its server's address: when it changes, grants for the tool end",
    )


class Question(Body):
    """An agent asks whether it may make a tool call."""

    session_id: UUID | None = Field(None, description="the session that it is asked in; or name `agent` instead")
    agent: Name | None = Field(None, description="name of the agent: a session is made for the question")
    external_id: Id | None = Field(
        None, description="with `agent`: your own id of that session. The same agent and id again is the same session"
    )
    title: Annotated[str, Field(max_length=500)] | None = Field(None, description="with `agent`: of a new session")
    tool: AskedTool
    context: Annotated[str, Field(max_length=100_000)] | None = Field(None, description="why you ask, for the reviewer")
    expires_in: Annotated[int, Field(ge=1, le=MAX_EXPIRY)] | None = Field(
        None,
        description="seconds; then its status is `expired` and the call may not be made. null: as the rules say",
    )
    risk: Annotated[str, Field(max_length=40)] | None = Field(
        None, description="low, medium, high, critical or a word of yours"
    )
    client_id: Id | None = Field(None, description="your own id of the question: the same again is the same approval")

    @model_validator(mode="after")
    def in_one_place(self) -> Question:
        if (self.session_id is None) == (self.agent is None):
            raise ValueError("say either session_id or agent (a name, for which a session is made)")
        if self.session_id and (self.external_id or self.title):
            raise ValueError(
                "external_id and title are of a session that is made for an agent, and session_id names one"
            )
        return self


class Decision(Body):
    verdict: Literal["approve", "deny", "answer"]
    version: Annotated[int, Field(ge=1, le=2**31 - 1)] = Field(description="`version` of the approval as you saw it")
    digest: Annotated[str, Field(max_length=64)] = Field(description="`call.digest` of the approval as you saw it")
    arguments: dict[str, Any] | None = Field(
        None, description="with `approve`: make the call with these arguments instead"
    )
    answer: Annotated[str, Field(max_length=100_000)] | None = Field(None, description="with `answer`")
    reason: Annotated[str, Field(max_length=10_000)] | None = None
    confirmation: Annotated[
        str, Field(max_length=500, description="the name of the tool, where `terms.typed_confirmation` requires it")
    ] | None = None  # fmt: skip
    grant: Annotated[
        GrantTerms | None,
        Field(description="with `approve`, without `arguments`: from then on calls like this need no decision"),
    ] = None  # fmt: skip


class EscalationResult(BaseModel):
    """What the agent is to take as the result of its question to a person."""

    text: str = Field(description='the answer; for an error JSON: {"error": "denied" | "expired" | "cancelled"}')
    is_error: bool

    @classmethod
    def from_row(cls, approval: models.Approval) -> EscalationResult | None:
        result = escalations.result_of(approval) if approval.is_escalation else None
        return cls(text=result.text, is_error=result.is_error) if result else None


class Withdrawal(Body):
    reason: Annotated[str, Field(max_length=10_000)] | None = None


class Snooze(Body):
    until: Annotated[
        AwareDatetime | None, Field(description="at most seven days ahead, with its time zone; null: bring it back now")
    ]
    reason: Annotated[str, Field(max_length=10_000)] | None = None


class Assignment(Body):
    member: Annotated[UUID | None, Field(description="id of a member who may decide it; null: nobody")]
    note: Annotated[str, Field(max_length=10_000)] | None = None


class Cancellation(Body):
    reason: Annotated[str, Field(max_length=10_000)] | None = None


class Escalation(Body):
    """Who else is told now, and why."""

    to: Annotated[
        list[Annotated[str, Field(max_length=210)]],
        Field(min_length=1, max_length=20, description='"role:admin", "role:reviewer", "member:ID", "channel:slack"'),
    ] = ["role:admin"]  # fmt: skip
    reason: Annotated[str, Field(min_length=1, max_length=2_000)]


class Execution(Body):
    """What came of a call, as reported by whoever makes it."""

    digest: Annotated[str, Field(max_length=64, description="digest of the call that is made: `decision.digest`")]
    status: Literal["running", "succeeded", "errored"]
    detail: Annotated[str, Field(max_length=100_000)] | None = Field(
        None, description=f"for the audit log, which keeps the first {MAX_DETAIL:,} characters"
    )


class ApprovalTool(BaseModel):
    name: str
    server: str | None
    arguments: Any


class Vote(BaseModel):
    by: str
    by_kind: Literal["member", "api_key"]
    verdict: Literal["approve", "deny", "answer", "withdraw"]
    arguments: Any
    answer: str
    reason: str
    channel: str
    at: datetime
    digest: str | None = Field(description="of the call that was voted on")
    grant: dict[str, Any] | None = Field(description="the grant that was asked for with it; null: none")
    counts: bool = Field(
        description="false: void because of an edit, taken back, or followed by another vote of the same person"
    )

    @classmethod
    def of(cls, vote: models.Vote, *, counts: bool = True) -> Vote:
        same = ("by", "verdict", "arguments", "answer", "reason", "channel", "at")
        return cls(
            **{name: getattr(vote, name) for name in same},
            by_kind="api_key" if vote.channel == "api" else "member",
            digest=vote.digest or None,
            grant=(vote.grant_wish or {}).get("wish"),
            counts=counts,
        )


class Call(BaseModel):
    """The call that a decision is about now."""

    digest: str
    arguments: Any


class Approval(BaseModel):
    """A tool call that waits, or waited, for a person."""

    id: UUID
    session_id: UUID
    event_seq: int | None
    recorded: bool = Field(description="an imported file tells of it: it was not asked here and cannot be decided here")
    client_id: str | None
    tool: ApprovalTool
    context: str
    digest: str = Field(description="SHA-256 of the call as it was asked; a decision repeats `call.digest`")
    status: Literal["pending", "approved", "approved_edited", "denied", "answered", "expired", "cancelled",
                    "auto_allowed", "auto_denied", "settled_elsewhere"]  # fmt: skip
    risk: str | None
    rule: str | None
    requested_by: str
    requested_at: datetime
    expires_at: datetime | None
    decided_at: datetime | None
    votes: list[Vote]
    votes_needed: int
    call: Call = Field(
        description="what a decision is about now: the call as it was asked, or as a vote changed it; repeat its digest"
    )
    terms: dict[str, Any] = Field(description="what the rules require of a decision, as they were when it was asked")
    decision: dict[str, Any] | None
    result: EscalationResult | None = Field(
        description="what a question to people (`escalate_to_human`) came to; null until then and for calls"
    )
    takes_effect_at: datetime | None = Field(
        description="when the decision (see `votes`) takes effect; until then it is pending, and can be taken back"
    )
    claimed_by: str | None = Field(description="who has claimed it until `claimed_until`: a hint, not a lock")
    claimed_until: datetime | None
    assigned_to: str | None
    snoozed_until: datetime | None
    planted: bool = Field(description="a test call of an admin, never executed; false until it is decided")
    delivery: str = Field(
        description="whether the asker has the decision: none, queued, sending, uncertain, delivered, stale, failed, "
        "elsewhere (it had another answer before) or nobody (it asks no more)"
    )
    delivery_tries: int
    delivery_error: str | None
    delivered_at: datetime | None
    execution: str = Field(description="what became of the call: none, running, succeeded, errored or refused")
    executed_at: datetime | None
    version: int = Field(description="rises with each vote; a decision repeats it")

    @classmethod
    def from_row(cls, approval: models.Approval) -> Approval:
        """Reads ``approval.votes``: fetch them with ``votes.PREFETCH`` for a list."""
        same = ("id", "session_id", "event_seq", "recorded", "context", "digest", "status", "rule", "requested_by",
                "requested_at", "expires_at", "decided_at", "delivery", "execution", "version",
                "votes_needed", "terms", "takes_effect_at", "claimed_until", "snoozed_until", "delivery_tries",
                "delivered_at", "executed_at")  # fmt: skip
        voted = votes.votes_of(approval)
        counted = votes.tally(approval, voted)
        standing_votes = (*counted.approvals, counted.ending)
        standing = approval.arguments if counted.arguments is None else counted.arguments
        return cls(
            **{name: getattr(approval, name) for name in same},
            client_id=approval.client_id or None,
            tool=ApprovalTool(name=approval.tool_name, server=approval.tool_server, arguments=approval.arguments),
            risk=approval.risk or None,
            votes=[Vote.of(vote, counts=vote in standing_votes) for vote in voted],
            claimed_by=_name(approval.claimed_by),
            assigned_to=_name(approval.assigned_to),
            delivery_error=approval.delivery_error or None,
            call=Call(digest=counted.digest, arguments=standing),
            decision=decision_of(approval),
            result=EscalationResult.from_row(approval),
            planted=approval.planted and approval.status != models.Approval.Status.PENDING,
        )


class DecidedApproval(Approval):
    """The approval as a decision left it."""

    not_kept: str | None = Field(
        description="why the reason that was sent was not kept: the same was decided before, and its reason stands"
    )

    @classmethod
    def from_row(cls, approval: models.Approval) -> DecidedApproval:
        """``approval`` is out of ``decisions.decide``."""
        return cls(**dict(Approval.from_row(approval)), not_kept=approval.not_kept or None)


def _name(member: models.Member | None) -> str | None:
    return str(member) if member else None


def decision_of(approval: models.Approval) -> dict[str, Any] | None:
    """Who decided what, when and why; ``at`` in the same form as every other time."""
    if approval.decision is None:
        return None
    at = approval.decided_at.astimezone(UTC).isoformat().replace("+00:00", "Z") if approval.decided_at else None
    return approval.decision | {"status": approval.status, "at": at}
