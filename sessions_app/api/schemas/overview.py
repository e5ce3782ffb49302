"""The run of a session as the API answers it: in buckets, and as spans by time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from sessions_app.models import SessionOverview
from sessions_app.queries.log.waterfall import Span, Waterfall
from sessions_app.rendering.overview.buckets import Buckets
from sessions_app.rendering.overview.drawing import TIME_COLUMNS, column_of, summary, time_scale


class WaterfallQuery(BaseModel):
    """Which spans of a session."""

    after: int = Field(0, ge=0, le=2**31 - 1, description="`next_after` of the page before")
    turn: int | None = Field(None, ge=0, le=2**31 - 1, description="only spans of this turn")


class OverviewError(BaseModel):
    seq: int
    text: str = Field(description="the first line of what it says")


class Lanes(BaseModel):
    """How many events of a kind each bucket holds."""

    person: list[int]
    agent: list[int]
    subagent: list[int]
    read: list[int]
    write: list[int]
    run: list[int]
    ask: list[int]
    other: list[int]
    errors: list[int]
    compactions: list[int]


class Overview(BaseModel):
    """The whole run of a session in at most 1,200 buckets of `step` events each."""

    session_id: UUID
    read_to_seq: int = Field(description="each request reads on in a very long log: ask again until it is `last_seq`")
    last_seq: int
    step: int = Field(description="events in a bucket: the first holds 1 to `step`")
    lanes: Lanes
    turns: list[int | None] = Field(description="the first turn with events in the bucket")
    began: list[datetime | None]
    ended: list[datetime | None]
    costs: list[str | None] = Field(
        description="US dollars from the beginning to the end of the bucket; null: no price is known"
    )
    columns: list[int | None] | None = Field(
        description=f"where each bucket begins by time, of {TIME_COLUMNS}, long pauses cut short; null without times"
    )
    errors: list[OverviewError] = Field(description="the first 200")
    summary: str

    @classmethod
    def from_row(cls, row: SessionOverview, last_seq: int) -> Overview:
        buckets = Buckets.of(row.buckets) if row.buckets else Buckets()
        scale = time_scale(buckets)
        running, facts = buckets.running_costs(), row.pictures.get("facts")
        return cls(
            session_id=row.pk, read_to_seq=row.seq, last_seq=last_seq, step=buckets.step,
            lanes=Lanes(**buckets.counts), turns=buckets.turns, began=_times(buckets.began),
            ended=_times(buckets.ended), costs=[None if cost is None else str(cost) for cost in running],
            columns=[None if at is None else column_of(scale, at) for at in buckets.began] if scale else None,
            errors=[OverviewError(seq=mark.seq, text=mark.text) for mark in buckets.errors],
            summary=summary(facts) if facts else "",
        )  # fmt: skip


def _times(milliseconds: list[int | None]) -> list[datetime | None]:
    return [None if at is None else datetime.fromtimestamp(at / 1000, UTC) for at in milliseconds]


class WaterfallSpan(BaseModel):
    """Something that took time, below what it belongs to."""

    kind: Literal["turn", "request", "call", "session"] = Field(description="`session`: a sub-agent's own")
    depth: int = Field(description="0 for a turn; each span belongs to the one before it that is one less deep")
    seq: int
    turn: int
    name: str
    subject: str
    status: str | None
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: float | None = Field(description="null: the record does not tell; never 0 for that")
    estimated: bool = Field(description="whether its beginning is not known, and taken from the event before it")
    child_session_id: UUID | None

    @classmethod
    def from_span(cls, span: Span) -> WaterfallSpan:
        same = ("kind", "depth", "seq", "turn", "name", "subject", "status")
        return cls(
            **{name: getattr(span, name) for name in same}, started_at=span.began, ended_at=span.ended,
            duration_ms=span.milliseconds, estimated=span.is_estimated,
            child_session_id=span.child.pk if span.child else None,
        )  # fmt: skip


class WaterfallPage(BaseModel):
    """At most some 400 spans, in the order of the log."""

    items: list[WaterfallSpan]
    next_after: int | None

    @classmethod
    def from_waterfall(cls, found: Waterfall) -> WaterfallPage:
        return cls(items=[WaterfallSpan.from_span(span) for span in found.spans], next_after=found.next_after)
