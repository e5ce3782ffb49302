"""The audit log, for admins."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app.queries import audit as queries

from .auth import admin
from .paging import Cursor, Limit, Page, decode, encode
from .parsing import reply
from .schemas.audit import AuditEntry

router = Router(tags=["audit"])
MAX_SEQ = 2**63 - 1
Subject = Annotated[str, Query("", description="only entries about what has this id, such as a session or an agent")]


@router.get("/audit", auth=admin, response=Page[AuditEntry])
def list_audit(request: HttpRequest, limit: Limit, cursor: Cursor, subject: Subject) -> HttpResponse:
    """List the entries of the audit log, newest first."""
    before = decode(cursor, lambda position: min(int(position[0]), MAX_SEQ)) if cursor else None
    rows = queries.entries(
        request.auth.workspace.id, limit=limit + 1, before=before, asked=queries.Asked(subject=subject)
    )
    next_cursor = encode([rows[limit - 1].seq]) if len(rows) > limit else None
    return reply(Page(items=[AuditEntry.from_row(row) for row in rows[:limit]], next_cursor=next_cursor))
