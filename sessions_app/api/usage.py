"""Tokens and money, and the tool calls that were made."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app.queries.money import ledger
from sessions_app.queries.money import usage as queries

from . import paging
from .auth import numbers_reader, reader
from .paging import MOST, Cursor, decode, encode
from .parsing import reply
from .problems import Problem
from .schemas.common import Cost, Usage
from .schemas.usage import CallUsage, CallUsageQuery, UsagePage, UsageQuery, UsageRow, UsageTotal, Wallets

router = Router(tags=["usage"])
Group = Literal["day", "agent", "model", "session", "tool"]
ABOUT = {"agent": "name", "session": "title", "tool": "calls"}
Limit = Annotated[int, Query(MOST, ge=1, le=MOST, description=f"most rows of a page, 1 to {MOST}")]


@router.get("/usage", auth=numbers_reader, response=UsagePage)
def read_usage(
    request: HttpRequest, period: Query[UsageQuery], limit: Limit, cursor: Cursor, group_by: Group = "day"
) -> HttpResponse:
    """Return tokens and money, grouped by day (UTC), agent, model, session or tool, in order of the group's name.

    403 for the group `session` when you see numbers only.
    """
    if request.auth.numbers_only and group_by == "session":
        raise Problem(403, "you see numbers only in this workspace, and sessions have titles; group by something else")
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
        "sessions": used.sessions, "turns": used.turns, "usage": Usage.from_row(used), "cost": Cost.from_row(used),
        "wallets": Wallets.from_row(used), "runtime_ms": used.runtime_ms,
    }  # fmt: skip


@router.get("/calls", auth=reader, response=paging.Page[CallUsage])
def list_calls(
    request: HttpRequest, wanted: Query[CallUsageQuery], limit: paging.Limit, cursor: Cursor
) -> HttpResponse:
    """List the tool calls of agents that run here, those that failed too, newest first. None of deleted sessions."""
    values = wanted.model_dump(exclude={"from_", "to"})
    passing = ledger.CallFilter(**values, since=wanted.from_, until=wanted.to)
    found = ledger.calls(request.auth.workspace.id, passing)
    rows, next_cursor = paging.keyset(found, "id", limit, cursor, UUID, within=ledger.WITHIN)
    return reply(paging.Page(items=[CallUsage.from_row(row) for row in rows], next_cursor=next_cursor))
