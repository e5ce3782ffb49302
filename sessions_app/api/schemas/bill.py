"""The bill of a session, as the API answers it."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, Field

from sessions_app import models
from sessions_app.bill import bill, places, words

from .common import Cost

ClassName = Literal[
    "input", "cache_read", "cache_write", "cache_write_5m", "cache_write_1h", "output", "reasoning", "request",
    "stated", "other_table",
]  # fmt: skip


def _exact(amount: Decimal) -> str:
    return f"{amount:f}"


class ClassLine(BaseModel):
    """A class of tokens. Tokens of requests whose amount is stated are in their class, their money in `stated`."""

    name: ClassName
    amount: str = Field(description="US dollars with all digits")
    tokens: int | None

    @classmethod
    def from_line(cls, line: bill.Line) -> ClassLine:
        return cls(name=line.name, amount=_exact(line.amount), tokens=line.tokens)


class RequestsLine(BaseModel):
    """All requests of a model, or of an agent."""

    name: str | None = Field(
        description="null: the model is not stated; or the session's own agent, or one without a name"
    )
    event_seq: int | None = Field(description="the event that began a sub-agent; null with models and the agent itself")
    amount: str | None = Field(description="US dollars with all digits; null: no price is known")
    tokens: int | None
    requests: int
    unpriced_tokens: int

    @classmethod
    def from_line(cls, line: bill.Line) -> RequestsLine:
        same = {name: getattr(line, name) for name in ("name", "tokens", "requests", "unpriced_tokens")}
        return cls(**same, event_seq=line.seq, amount=_exact(line.amount) if line.is_known else None)


class ToolLine(BaseModel):
    """A tool: what asking for it cost, and an estimate of what reading its results cost."""

    name: str | None = Field(description="null: the responses without a call")
    calls: int
    amount: str = Field(
        description="its share of the cost of the responses that ask for it; all of them add up to the session's cost"
    )
    result_tokens: int = Field(description="an estimate: a quarter of the bytes, at most what the context grew by")
    carried: str = Field(
        description="what reading its results cost: an estimate at list prices, not to be added to `amount`"
    )

    @classmethod
    def from_line(cls, line: bill.Line) -> ToolLine:
        return cls(
            name=line.name, calls=line.calls, amount=_exact(line.amount), result_tokens=line.carried_tokens,
            carried=_exact(line.carried),
        )  # fmt: skip


class Place(BaseModel):
    """An event at which money went, and the rule that found it. Places overlap."""

    kind: Literal["lost", "context", "result", "begin", "output", "stated", "sub_agent"]
    event_seq: int
    amount: str
    is_estimate: bool
    tokens: int
    requests: int
    name: str | None
    seconds: int | None = Field(description="time since the request before, where a cache was lost")
    reason: str | None
    text: str = Field(description="the same in a sentence")

    @classmethod
    def from_place(cls, place: places.Place) -> Place:
        same = {name: getattr(place, name) for name in ("kind", "is_estimate", "tokens", "requests", "seconds")}
        return cls(
            **same, event_seq=place.seq, amount=_exact(place.amount), name=place.name or None,
            reason=place.reason or None, text=str(words.sentence(place)),
        )  # fmt: skip


class SessionCost(BaseModel):
    """What a session cost and why. Each of the first four lists adds up to the session's amount exactly."""

    cost: Cost
    requests: int
    covered_requests: int = Field(
        description="requests whose cost is part of an amount that the recorder states for several"
    )
    copied_requests: int = Field(description="requests that count in another session")
    under_reported: int = Field(description="responses whose output tokens the recorder did not count to the end")
    last_seq: int = Field(description="the last event that is taken into account")
    classes: list[ClassLine]
    models: list[RequestsLine]
    agents: list[RequestsLine]
    tools: list[ToolLine]
    places: list[Place]

    @classmethod
    def from_bill(cls, session: models.Session, found: bill.Bill) -> SessionCost:
        return cls(
            cost=Cost.from_row(session), requests=found.requests, covered_requests=found.covered,
            copied_requests=found.copied, under_reported=found.under_reported, last_seq=session.last_seq,
            classes=[ClassLine.from_line(line) for line in found.classes],
            models=[RequestsLine.from_line(line) for line in found.models],
            agents=[RequestsLine.from_line(line) for line in found.agents],
            tools=[ToolLine.from_line(line) for line in found.tools],
            places=[Place.from_place(place) for place in found.places],
        )  # fmt: skip
