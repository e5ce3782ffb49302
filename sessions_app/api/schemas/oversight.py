"""Figures of oversight, and planted calls: what is sent and what is answered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from sessions_app.queries import oversight as queries

from .approvals import MAX_EXPIRY, AskedTool
from .common import Body, Name, Since, Until


class OversightQuery(BaseModel):
    """The period: without `to` until now, without `from` the 30 days before."""

    from_: Since = Field(None, alias="from", description="a day or a time (UTC); left out: 30 days before `to`")
    to: Until = Field(None, description="before this time (UTC), or to the end of this day; left out: now")


class Caught(BaseModel):
    """How many planted calls were decided, and how many of them were stopped."""

    stopped: int
    of: int


class Figures(BaseModel):
    """What one person decided, or all together; times in seconds."""

    member_id: UUID | None
    name: str
    decisions: int
    seconds_to_decide_median: float | None
    seconds_to_decide_p90: float | None
    seconds_on_card_median: float | None
    approved: int
    edited: int
    denied: int
    denied_with_reason: int
    under_two_seconds: int
    planted_calls: Caught

    @classmethod
    def from_row(cls, row: queries.Figures) -> Figures:
        same = ("member_id", "name", "decisions", "approved", "edited", "denied", "denied_with_reason")
        return cls(
            **{name: getattr(row, name) for name in same},
            seconds_to_decide_median=row.median,
            seconds_to_decide_p90=row.p90,
            seconds_on_card_median=row.on_card,
            under_two_seconds=row.fast,
            planted_calls=Caught(stopped=row.caught, of=row.planted),
        )


class RuleFigures(BaseModel):
    """How often a rule asked people and how they decided; ``in_vain``: they only ever approved as asked."""

    rule: str
    asked: int
    approved: int
    edited: int
    denied: int
    answered: int
    expired: int
    pending: int
    in_vain: bool

    @classmethod
    def from_row(cls, row: queries.RuleFigures) -> RuleFigures:
        return cls(**{name: getattr(row, name) for name in cls.model_fields})


class Oversight(BaseModel):
    """Figures of a period: your own first, those of the workspace, and for admins those of each person and team."""

    since: datetime
    until: datetime
    you: Figures | None = Field(description="null for an API key")
    workspace: Figures
    expired: int
    answered_by_policy: int
    answered_by_grant: int
    answered_by_stop: int
    rules: list[RuleFigures]
    members: list[Figures] | None = Field(description="null for anybody but an admin")
    teams: list[Figures] | None = Field(
        description='for admins: by the role at the time of the vote, or "keys"; `name` says which'
    )


class PlantedCall(Body):
    """A test call that reviewers should stop."""

    agent: Name = Field(description="name or slug of the agent that seems to ask; it is not told")
    tool: AskedTool
    context: Annotated[str, Field(max_length=100_000)] | None = None
    expires_in: (
        Annotated[int, Field(ge=1, le=MAX_EXPIRY, description="seconds; then its status is `expired`")] | None
    ) = None
    risk: Annotated[str, Field(max_length=40)] | None = None
