"""Tokens, money and tool calls: what narrows them down and what is answered."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field, SerializerFunctionWrapHandler, model_serializer

from sessions_app import models
from sessions_app.queries.money import usage as queries

from .common import Cost, Since, Until, Usage, dollars


class Wallets(BaseModel):
    """What was paid from each wallet, and what ran elsewhere and was paid from none, in US dollars; null: not known."""

    ai: str | None
    data: str | None = Field(description="for tool calls; not a part of `cost`, which is that of model responses")
    elsewhere: str | None = Field(description="cost of imported and reported sessions")

    @classmethod
    def from_row(cls, used: queries.Used) -> Wallets:
        amounts = {"ai": used.here.cost_amount, "data": used.data, "elsewhere": used.elsewhere.cost_amount}
        return cls(**{name: dollars(amount) for name, amount in amounts.items()})


class UsageRow(BaseModel):
    """One group, with the fields of the grouping that was asked for. Its name is null for what has no model or no tool,
    and for sessions that were deleted.
    """

    day: str | None = Field(None, description="a day in UTC, as 2026-01-31")
    agent: str | None = Field(None, description="id; its name is in `name`")
    model: str | None = None
    session: str | None = Field(None, description="id; its title is in `title`")
    tool: str | None = None
    name: str | None = None
    title: str | None = None
    calls: int | None = None
    sessions: int
    turns: int
    usage: Usage
    cost: Cost
    wallets: Wallets
    runtime_ms: int | None = Field(description="of turns that ran here; null by model and by tool")

    @model_serializer(mode="wrap")
    def only_fields_of_its_group(self, dump: SerializerFunctionWrapHandler):  # noqa: ANN201 - else the schema is lost
        """Only the fields of the group that was asked for."""
        return {name: value for name, value in dump(self).items() if name in self.model_fields_set}


class UsageTotal(BaseModel):
    sessions: int
    turns: int
    usage: Usage
    cost: Cost
    wallets: Wallets
    runtime_ms: int | None = Field(description="how long turns that ran here took")


class UsagePage(BaseModel):
    """A page of groups, and the total of the whole period (not of this page alone)."""

    items: list[UsageRow]
    total: UsageTotal
    next_cursor: str | None


FROM = "a day or a time (UTC); left out: from the beginning"
TO = "before this time (UTC), or to the end of this day; left out: until now"


class UsageQuery(BaseModel):
    """The period, of turns that began in it, and which sessions count."""

    from_: Since = Field(None, alias="from", description=FROM)
    to: Until = Field(None, description=TO)
    agent: str = Field("", max_length=500, description="id, slug or name")
    origin: Literal["", "chat", "slack", "schedule", "webhook", "import", "api", "otlp"] = ""
    tag: str = Field("", max_length=500, description="only sessions with this tag")


class CallUsage(BaseModel):
    """A tool call of an agent that runs here."""

    id: UUID
    at: datetime
    session_id: UUID
    seq: int = Field(description="of its event `tool_call`")
    agent_id: UUID | None
    provider: str = Field(description="the MCP server, `python` or `builtin`")
    tool: str
    status: str
    latency_ms: int | None
    cost: str | None = Field(description="US dollars; null: not known. Only calls with the status ok are paid for")

    @classmethod
    def from_row(cls, call: models.CallUsage) -> CallUsage:
        fields = {name: getattr(call, name) for name in cls.model_fields if name != "cost"}
        return cls(**fields, cost=dollars(call.cost))


class CallUsageQuery(BaseModel):
    """Filters of the list of calls."""

    from_: Since = Field(None, alias="from", description=FROM)
    to: Until = Field(None, description=TO)
    provider: str = Field("", max_length=500, description="name of an MCP server, `python` or `builtin`")
    tool: str = Field("", max_length=500, description="name of the tool")
    status: str = Field("", max_length=20, description="ok, error, ...")
    agent: str = Field("", max_length=500, description="id, slug or name")
    session: UUID | None = None
