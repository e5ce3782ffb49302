"""Tool calls and model requests of one session: what narrows them down and what is answered."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from sessions_app import models
from sessions_app.queries.log.model_requests import RequestFacts
from sessions_app.queries.log.timeline import Entry
from sessions_app.rendering import toolline

from .common import Cost, Usage

Amount = Annotated[Decimal, Field(ge=0, lt=10**6)]


class CallQuery(BaseModel):
    """Which calls, and in which order."""

    tool: str = Field("", max_length=200, description="name of the tool")
    status: Literal["", "failed"] = Field("", description="failed: only calls that did not succeed")
    about: str = Field("", max_length=200, description="words in what it is about: a path, a command, a query")
    took: Amount | None = Field(None, description="only calls that took at least so many seconds")
    cost: Amount | None = Field(None, description="only calls whose model response cost at least so many US dollars")
    sort: Literal[
        "", "tool", "-tool", "result", "-result", "object", "-object", "took", "-took", "cost", "-cost"
    ] = ""  # fmt: skip


class SessionToolCall(BaseModel):
    """A tool call with its result. Arguments and result stand in the events ``seq`` and ``result_seq``."""

    seq: int
    result_seq: int | None
    turn: int
    call_id: str | None
    name: str
    server: str | None
    object: str = Field(description="the path, command or query that it is about, in one line; may be empty")
    status: str | None = Field(
        description="ok, error, cancelled or denied; null: it has no result, or none that states it"
    )
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: int | None
    sub_agent: bool
    model: str | None
    cost: Cost | None = Field(
        description="of the model response that asked for it; on the last call of a response alone, else null"
    )

    @classmethod
    def of(cls, row: models.ToolCall, event: Entry | None, asked: models.ModelRequest | None) -> SessionToolCall:
        took = row.ended_at - row.started_at if row.started_at and row.ended_at else None
        line = toolline.describe_call(row.name, event.light_arguments if event else None, row.server)
        same = ("seq", "result_seq", "turn", "call_id", "name", "server", "status", "started_at", "ended_at")
        return cls(
            **{name: getattr(row, name) for name in same}, object=line.subject,
            duration_ms=round(took.total_seconds() * 1000) if took is not None and took.total_seconds() >= 0 else None,
            sub_agent=bool(event and event.depth), model=event.model if event else None,
            cost=Cost.from_model_request(asked) if asked else None,
        )  # fmt: skip


class SessionModelRequest(BaseModel):
    """One request to a model with what its response used."""

    seq: int = Field(description="the last event of the response")
    turn: int
    at: datetime | None
    model: str | None
    context_tokens: int | None = Field(
        description="tokens that the model was sent: fresh, read from a cache and written to it"
    )
    usage: Usage
    cost: Cost
    usage_quality: str = Field(description="final, placeholder, interrupted, estimated or aggregate")
    price_source: str
    counted_in: UUID | None = Field(
        description="the session in which these tokens count, as this is a copy of a request there; null: this one"
    )
    duration_ms: int | None
    compacted: bool = Field(description="whether the context was compacted between the request before and this one")

    @classmethod
    def of(cls, row: models.ModelRequest, facts: RequestFacts | None) -> SessionModelRequest:
        sent = [row.input_tokens, row.cache_read_tokens, row.cache_write_tokens]
        known = [count for count in sent if count is not None]
        return cls(
            seq=row.seq, turn=row.turn, at=row.at, model=row.model, context_tokens=sum(known) if known else None,
            usage=Usage.from_row(row), cost=Cost.from_model_request(row), usage_quality=row.quality,
            price_source=row.price_source, counted_in=row.counted_in_id,
            duration_ms=round(facts.milliseconds) if facts and facts.milliseconds is not None else None,
            compacted=bool(facts and facts.compacted),
        )  # fmt: skip
