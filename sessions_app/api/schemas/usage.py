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
    """What of the cost was paid from the wallets, and what ran elsewhere and was paid from none; null is unknown."""

    ai: str | None
    data: str | None = Field(description="of tool calls: not a part of `cost`, which is of model responses")
    elsewhere: str | None = Field(description="of imported and reported sessions")

    @classmethod
    def from_row(cls, used: queries.Used) -> Wallets:
        amounts = {"ai": used.here.cost_amount, "data": used.data, "elsewhere": used.elsewhere.cost_amount}
        return cls(**{name: dollars(amount) for name, amount in amounts.items()})


class UsageRow(BaseModel):
    """One group. Null in the place of its name: what has no model or no tool, and sessions that were deleted."""

    day: str | None = None
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
    runtime_ms: int | None = Field(description="of turns that ran here; null by model and by tool")


class UsagePage(BaseModel):
    """Groups, and the sum over the whole period (not only over this page)."""

    items: list[UsageRow]
    total: UsageTotal
    next_cursor: str | None


class UsageQuery(BaseModel):
    """The period (turns that began in it), and the sessions that count."""

    from_: Since = Field(None, alias="from")
    to: Until = None
    agent: str = Field("", max_length=500, description="id, slug or name")
    origin: Literal["", "chat", "slack", "schedule", "webhook", "import", "api", "otlp"] = ""
    tag: str = Field("", max_length=500)


class CallUsage(BaseModel):
    """One tool call of an agent that runs here."""

    id: UUID
    at: datetime
    session_id: UUID
    seq: int = Field(description="of the event `tool_call`")
    agent_id: UUID | None
    provider: str = Field(description="the MCP server, `python` or `builtin`")
    tool: str
    status: str
    latency_ms: int | None
    cost: str | None = Field(description="US dollars; null is unknown. Only what succeeded is paid for")

    @classmethod
    def from_row(cls, call: models.CallUsage) -> CallUsage:
        fields = {name: getattr(call, name) for name in cls.model_fields if name != "cost"}
        return cls(**fields, cost=dollars(call.cost))


class CallUsageQuery(BaseModel):
    """What narrows the list of calls down."""

    from_: Since = Field(None, alias="from")
    to: Until = None
    provider: str = Field("", max_length=500)
    tool: str = Field("", max_length=500)
    status: str = Field("", max_length=20)
    agent: str = Field("", max_length=500, description="id, slug or name")
    session: UUID | None = None
