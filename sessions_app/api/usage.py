"""Tokens and money, and the tool calls that were made."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field, SerializerFunctionWrapHandler, model_serializer

from sessions_app import models
from sessions_app.queries.money import ledger
from sessions_app.queries.money import usage as queries

from . import paging, schemas
from .auth import reader
from .paging import MOST, Cursor, decode, encode
from .parsing import reply
from .sessions import Since, Until

router = Router(tags=["usage"])
Group = Literal["day", "agent", "model", "session", "tool"]
ABOUT = {"agent": "name", "session": "title", "tool": "calls"}
Limit = Annotated[int, Query(MOST, ge=1, le=MOST, description=f"rows of one page, at most {MOST}")]


class Wallets(BaseModel):
    """What of the cost was paid from the wallets, and what ran elsewhere and was paid from none; null is unknown."""

    ai: str | None
    data: str | None = Field(description="of tool calls: not a part of `cost`, which is of model responses")
    elsewhere: str | None = Field(description="of imported and reported sessions")

    @classmethod
    def of(cls, used: queries.Used) -> Wallets:
        amounts = {"ai": used.here.cost_amount, "data": used.data, "elsewhere": used.elsewhere.cost_amount}
        return cls(**{name: schemas.dollars(amount) for name, amount in amounts.items()})


class UsageRow(BaseModel):
    """One group. Null in the place of its name: what has no model or no tool."""

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
    usage: schemas.Usage
    cost: schemas.Cost
    wallets: Wallets
    runtime_ms: int | None = Field(description="of turns that ran here; null by model and by tool")

    @model_serializer(mode="wrap")
    def of_its_group(self, dump: SerializerFunctionWrapHandler):  # noqa: ANN201 - else the schema is lost
        """Only the fields of the group that was asked for."""
        return {name: value for name, value in dump(self).items() if name in self.model_fields_set}


class UsageTotal(BaseModel):
    sessions: int
    turns: int
    usage: schemas.Usage
    cost: schemas.Cost
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
    agent: str = Field("", max_length=500, description="id or slug")
    origin: Literal["", "chat", "slack", "schedule", "webhook", "import", "api", "otlp"] = ""
    tag: str = Field("", max_length=500)


@router.get("/usage", auth=reader, response=UsagePage)
def read_usage(
    request: HttpRequest, period: Query[UsageQuery], limit: Limit, cursor: Cursor, group_by: Group = "day"
) -> HttpResponse:
    """Tokens and money by day (UTC), agent, model, session or tool."""
    spent = queries.Period(request.auth.workspace.id, period.from_, period.to, period.agent, period.origin, period.tag)
    rows = spent.groups(group_by, limit=limit + 1, after=_position(cursor))
    items = [_row(group_by, row) for row in rows[:limit]]
    last = rows[limit - 1] if len(rows) > limit else None
    total = spent.total()
    page = UsagePage(
        items=items,
        total=UsageTotal(**_spent(total)),
        next_cursor=encode([last.name is None, last.name or ""]) if last else None,
    )
    return reply(page)


def _position(cursor: str | None) -> tuple[bool, str] | None:
    if cursor is None:
        return None

    def read(values: list[Any]) -> tuple[bool, str]:
        nameless, name = values
        if not isinstance(nameless, bool) or not isinstance(name, str) or "\0" in name:
            raise ValueError
        return nameless, name

    return decode(cursor, read)


def _row(group: str, row: queries.Used) -> UsageRow:
    about = {ABOUT[group]: row.about} if group in ABOUT else {}
    return UsageRow(**{group: row.name}, **about, **_spent(row))


def _spent(used: queries.Used) -> dict[str, Any]:
    return {
        "sessions": used.sessions, "turns": used.turns, "usage": schemas.Usage.of(used), "cost": schemas.Cost.of(used),
        "wallets": Wallets.of(used), "runtime_ms": used.runtime_ms,
    }  # fmt: skip


class Call(BaseModel):
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
    def of(cls, call: models.CallUsage) -> Call:
        fields = {name: getattr(call, name) for name in cls.model_fields if name != "cost"}
        return cls(**fields, cost=schemas.dollars(call.cost))


class CallQuery(BaseModel):
    """What narrows the list of calls down."""

    from_: Since = Field(None, alias="from")
    to: Until = None
    provider: str = Field("", max_length=500)
    tool: str = Field("", max_length=500)
    status: str = Field("", max_length=20)
    agent: str = Field("", max_length=500, description="id or slug")
    session: UUID | None = None


@router.get("/calls", auth=reader, response=paging.Page[Call])
def list_calls(request: HttpRequest, wanted: Query[CallQuery], limit: paging.Limit, cursor: Cursor) -> HttpResponse:
    """Tool calls that were made, those that failed too, the newest first."""
    values = wanted.model_dump(exclude={"from_", "to"})
    passing = ledger.CallFilter(**values, since=wanted.from_, until=wanted.to)
    found = ledger.calls(request.auth.workspace.id, passing)
    rows, next_cursor = paging.keyset(found, "id", limit, cursor, UUID)
    return reply(paging.Page(items=[Call.of(row) for row in rows], next_cursor=next_cursor))
