"""The audit log, for admins."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel

from sessions_app import models
from sessions_app.queries import audit as queries

from .auth import admin
from .paging import Cursor, Limit, Page, decode, encode
from .parsing import reply

router = Router(tags=["audit"])
MAX_SEQ = 2**63 - 1


class AuditActor(BaseModel):
    kind: str
    id: str
    name: str


class AuditSubject(BaseModel):
    kind: str
    id: str


class AuditEntry(BaseModel):
    """One link of the workspace's chain."""

    seq: int
    at: datetime
    actor: AuditActor
    action: str
    subject: AuditSubject
    details: dict[str, Any]
    previous_hash: str
    hash: str

    @classmethod
    def of(cls, entry: models.AuditEntry) -> AuditEntry:
        same = ("seq", "at", "action", "details", "previous_hash", "hash")
        return cls(
            **{name: getattr(entry, name) for name in same},
            actor=AuditActor(kind=entry.actor_kind, id=entry.actor_id, name=entry.actor_name),
            subject=AuditSubject(kind=entry.subject_kind, id=entry.subject_id),
        )


@router.get("/audit", auth=admin, response=Page[AuditEntry])
def list_audit(request: HttpRequest, limit: Limit, cursor: Cursor, subject: str = "") -> HttpResponse:
    """Who did what, the newest first. ``subject`` is the id that it was done to."""
    before = decode(cursor, lambda position: min(int(position[0]), MAX_SEQ)) if cursor else None
    rows = queries.entries(request.auth.workspace.id, limit=limit + 1, before=before, subject=subject)
    next_cursor = encode([rows[limit - 1].seq]) if len(rows) > limit else None
    return reply(Page(items=[AuditEntry.of(row) for row in rows[:limit]], next_cursor=next_cursor))
