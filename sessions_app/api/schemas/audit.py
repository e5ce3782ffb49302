"""Entries of the audit log: what is answered."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel

from sessions_app import models


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
    def from_row(cls, entry: models.AuditEntry) -> AuditEntry:
        same = ("seq", "at", "action", "details", "previous_hash", "hash")
        return cls(
            **{name: getattr(entry, name) for name in same},
            actor=AuditActor(kind=entry.actor_kind, id=entry.actor_id, name=entry.actor_name),
            subject=AuditSubject(kind=entry.subject_kind, id=entry.subject_id),
        )
