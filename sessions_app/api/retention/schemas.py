"""Retention: what is sent and what is answered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, Field

from sessions_app import models
from sessions_app.queries.retention import over, plans, strategies
from sessions_app.services.retention import keeping, policies, sweeping
from sessions_app.services.retention.pruning import Pruned
from sessions_app.services.retention.sweeping import Due

from ..schemas.common import Body

Number = Annotated[int, Field(ge=1, le=strategies.MOST)]


def _known(name: str) -> str:
    strategies.of_policy(name, None)
    return name


StrategyName = Annotated[
    str, Field(min_length=1, max_length=80, description=strategies.NAMES), AfterValidator(_known)
]  # fmt: skip


class Rules(Body):
    """How long messages are in sight. A field that is left out stays as it is; null takes it back."""

    ttl_days: Annotated[int, Field(ge=1, le=36_500)] | None = Field(
        None, description="so many days after the last event came in, all messages are due to go out of sight"
    )
    auto_prune: bool | None = Field(
        None, description="whether what is due is pruned automatically; else it is only listed as due"
    )
    prune_strategy: StrategyName | None = Field(
        None, description=f"{strategies.NAMES}; null: sliding_window, where `max_messages` is set"
    )
    max_messages: Number | None = Field(
        None,
        description="how many messages at the end the strategy leaves; null: 1,000, where there is a `prune_strategy`. "
        "keep_last_N has its own number",
    )

    def said(self) -> dict[str, Any]:
        """What was sent, and nothing else."""
        return self.model_dump(exclude_unset=True)


class WorkspaceRules(Rules):
    """The retention of sessions that have none of their own, and how long all sessions are kept.

    A field that is left out stays as it is; null takes it back.
    """

    keep_days: Annotated[int, Field(ge=1, le=keeping.MOST_DAYS)] | None = Field(
        None, description="so many days after its last event came in, a session is deleted; null: never by itself. "
        "For the first 24 hours after a lower number is set, nothing is deleted",
    )  # fmt: skip


class RetentionPolicy(Rules):
    """How long messages of a session are in sight. A field that is left out stays as it is; null takes it back."""

    immutable: bool | None = Field(None, description="legal hold: nothing is pruned, and nobody can delete the session")
    hold_reason: Annotated[str, Field(min_length=1, max_length=policies.MOST_REASON)] | None = Field(
        None, description="why it is on hold; only with `immutable`. It ends with the hold, and stays in the audit log"
    )


class NewPruning(Body):
    strategy: Annotated[str, Field(min_length=1, max_length=80, description=strategies.NAMES)]
    window_size: Number | None = Field(None, description="messages at the end that stay: required for sliding_window; "
                                       "for keep_important 10 if left out")  # fmt: skip
    threshold: Number | None = Field(
        None, description="messages at the end that stay, for summarize_old; 50 if left out"
    )
    dry_run: bool = Field(False, description="only say what would be pruned")

    def read(self) -> strategies.Strategy:
        """Raises ``BadStrategy``."""
        return strategies.read(self.strategy, window_size=self.window_size, threshold=self.threshold)


class Span(BaseModel):
    first_seq: int
    last_seq: int
    messages: int

    @classmethod
    def of(cls, span: plans.Span | models.HiddenSpan) -> Span:
        return cls(first_seq=span.first_seq, last_seq=span.last_seq, messages=span.messages)


class PruningResult(BaseModel):
    """What was pruned, or would be."""

    id: UUID | None = Field(description="of the pruning; null: nothing was pruned")
    rule: str
    method: str = Field(description='"rules", or the model that was asked')
    pruned: int = Field(description="messages that went out of sight")
    kept: int = Field(description="messages in sight afterwards")
    events: int = Field(description="all events that went out of sight: messages, calls, results and the rest")
    spans: list[Span] = Field(description="where these events are; the first 200 spans")
    summary: str | None
    dry_run: bool

    @classmethod
    def of(cls, done: Pruned, *, dry_run: bool) -> PruningResult:
        plan = done.plan
        spans = [
            Span(first_seq=one.first_seq, last_seq=one.last_seq, messages=one.messages) for one in plan.spans[:200]
        ]
        return cls(
            id=done.marker and done.marker.id, rule=plan.strategy.rule, method=done.method, pruned=plan.messages,
            kept=plan.kept, events=plan.events, spans=spans, summary=done.summary or None, dry_run=dry_run,
        )  # fmt: skip


class Marker(BaseModel):
    """One pruning of a session."""

    id: UUID
    at: datetime
    by: str
    rule: str
    method: str
    messages: int
    events: int
    first_seq: int
    last_seq: int
    shown_at: datetime | None = Field(description="when it was brought back into sight; null: it was not")
    shown_by: str | None

    @classmethod
    def from_row(cls, row: models.Pruning) -> Marker:
        return cls(**{name: getattr(row, name) for name in cls.model_fields} | {"shown_by": row.shown_by or None})


class ShownAgain(BaseModel):
    """What came back into sight."""

    messages: int
    events: int


class DueNow(BaseModel):
    """What is due now. ``prune``: the next sweep prunes it; ``expired``: it is due, but is not pruned automatically;
    ``held``: it is on hold; ``waits``: a person is asked for something in it, or its agent is at work.
    """

    what: Literal["prune", "expired", "held", "waits"]
    rule: str
    messages: int

    @classmethod
    def of(cls, due: Due | None) -> DueNow | None:
        return cls(what=due.what, rule=due.strategy.rule, messages=due.messages) if due else None


class InForce(BaseModel):
    """The retention in force for a session. ``of``: its own, the workspace's, or null: there is none."""

    of: Literal["session", "workspace"] | None
    ttl_days: int | None
    auto_prune: bool
    prune_strategy: str | None
    max_messages: int | None

    @classmethod
    def from_policy(cls, policy: strategies.Policy) -> InForce:
        said = {name: getattr(policy, name) for name in cls.model_fields}
        return cls(**said | {"prune_strategy": policy.prune_strategy or None})


class WorkspacePolicy(BaseModel):
    """The retention of sessions that have none of their own, and how long all of them are kept."""

    ttl_days: int | None = None
    auto_prune: bool = False
    prune_strategy: str | None = None
    max_messages: int | None = None
    set_by: str | None = None
    set_at: datetime | None = None
    keep_days: int | None = None
    deletes_from: datetime | None = Field(
        None, description="`keep_days` deletes nothing before this time; null: not set"
    )

    @classmethod
    def of(cls, workspace: models.Workspace) -> WorkspacePolicy:
        return cls(**workspace.retention, keep_days=workspace.keep_days, deletes_from=workspace.deletes_from)


class OverSession(BaseModel):
    """A session that is older than the days for which it is kept. ``goes``: it is deleted; ``held``: it is on hold;
    ``waits``: a person is asked for something in it, or its agent is at work.
    """

    session_id: UUID
    title: str
    since: datetime = Field(description="since when it is older")
    what: Literal["goes", "held", "waits"]

    @classmethod
    def of(cls, one: over.Over) -> OverSession:
        return cls(session_id=one.session.pk, title=str(one.session), since=one.since, what=one.what)


class DueSession(BaseModel):
    """What is due in a session; ``what`` as in DueNow."""

    session_id: UUID
    what: Literal["prune", "expired", "held", "waits"]
    rule: str
    messages: int

    @classmethod
    def of(cls, due: Due) -> DueSession:
        return cls(session_id=due.session.pk, what=due.what, rule=due.strategy.rule, messages=due.messages)


class SessionRetention(BaseModel):
    """The retention that a session was given, and the one in force for it."""

    session_id: UUID
    ttl_days: int | None
    auto_prune: bool
    prune_strategy: str | None
    max_messages: int | None
    immutable: bool
    hold_reason: str | None
    set_by: str | None
    set_at: datetime | None
    in_force: InForce
    expires_at: datetime | None = Field(description="when `ttl_days` are over, if nothing comes in until then")
    due: DueNow | None

    @classmethod
    def from_row(cls, row: models.SessionRetention, due: Due | None, **more: Any) -> SessionRetention:
        return cls(
            session_id=row.session_id, **row.policy(), set_by=row.set_by or None, set_at=row.set_at,
            in_force=InForce.from_policy(policies.in_force(row)), expires_at=sweeping.expires_at(row),
            due=DueNow.of(due), **more,
        )  # fmt: skip


class Retention(SessionRetention):
    """The retention of a session, with what was pruned."""

    messages_in_sight: int
    prunings: list[Marker] = Field(description="the newest first, at most 50")


class OutOfSight(BaseModel):
    """Which events of a session are out of sight, from `before` back."""

    last_seq: int = Field(description="the last event of the session")
    spans: list[Span] = Field(description="last span first")
    more: bool = Field(
        description="whether there are earlier ones: ask again with `before` the `first_seq` of the last of these"
    )
    summary: str | None = Field(
        description="text that an agent reads in place of everything out of sight up to `summary_seq`; null: none"
    )
    summary_seq: int | None
