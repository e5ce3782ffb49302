"""Tokens and money."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field, SerializerFunctionWrapHandler, model_serializer

from sessions_app.queries import usage as queries

from . import schemas
from .auth import reader
from .paging import MOST, Cursor, decode, encode
from .parsing import reply
from .sessions import Since, Until

router = Router(tags=["usage"])
Group = Literal["day", "agent", "model", "session", "tool"]
ABOUT = {"agent": "name", "session": "title", "tool": "calls"}
Limit = Annotated[int, Query(MOST, ge=1, le=MOST, description=f"rows of one page, at most {MOST}")]


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

    @model_serializer(mode="wrap")
    def of_its_group(self, dump: SerializerFunctionWrapHandler):  # noqa: ANN201 - else the schema is lost
        """Only the fields of the group that was asked for."""
        return {name: value for name, value in dump(self).items() if name in self.model_fields_set}


class UsageTotal(BaseModel):
    sessions: int
    turns: int
    usage: schemas.Usage
    cost: schemas.Cost


class UsagePage(BaseModel):
    """Groups, and the sum over the whole period (not only over this page)."""

    items: list[UsageRow]
    total: UsageTotal
    next_cursor: str | None


class UsageQuery(BaseModel):
    """The period: turns that began in it."""

    from_: Since = Field(None, alias="from")
    to: Until = None


@router.get("/usage", auth=reader, response=UsagePage)
def read_usage(
    request: HttpRequest, period: Query[UsageQuery], limit: Limit, cursor: Cursor, group_by: Group = "day"
) -> HttpResponse:
    """Tokens and money by day (UTC), agent, model, session or tool."""
    spent = queries.Period(request.auth.workspace.id, period.from_, period.to)
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
    }  # fmt: skip
