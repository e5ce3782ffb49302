"""Registrations of signed exports at a transparency service, and the receipts that came of them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel, Field

from sessions_app.api.auth import own_viewer
from sessions_app.api.paging import Cursor, Limit, Page, keyset
from sessions_app.api.parsing import reply
from sessions_app.api.problems import Problem
from sessions_app.api.sessions import session_read
from vcon_app import models
from vcon_app.queries import registrations as queries

router = Router(tags=["exports"])
FAULTS: dict[type[Exception], Callable[[Any], Problem]] = {}


class Registration(BaseModel):
    """A signed file that left here, and whether a transparency service has it in its log."""

    id: UUID
    session_id: UUID
    filename: str
    sha256: str = Field(description="of the file")
    service: str
    status: Literal["waiting", "pending", "registered", "refused"]
    checked_with: str | None = Field(
        description="name of the key, among those the operator set, that the receipt was checked with; null: none"
    )
    fault: str | None = Field(description="what went wrong last; those that are waiting or pending are tried again")
    created_at: datetime
    registered_at: datetime | None
    statement: str | None = Field(
        description="the proof: the SCITT statement with its receipt (COSE), in base64; null until it is registered"
    )

    @classmethod
    def from_row(cls, row: models.Registration) -> Registration:
        """With its proof, where there is one."""
        same = ("id", "session_id", "filename", "sha256", "service", "status", "created_at", "registered_at")
        proof = queries.transparent_statement(row)
        return cls(
            **{name: getattr(row, name) for name in same},
            checked_with=row.signer or None,
            fault=row.fault or None,
            statement=base64.b64encode(proof).decode() if proof else None,
        )


@router.get("/sessions/{uuid:session_id}/registrations", auth=own_viewer, response=Page[Registration])
def list_registrations(request: HttpRequest, session_id: UUID, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the registrations of a session's signed exports at a transparency service, newest first."""
    rows, next_cursor = keyset(queries.of_session(session_read(request, session_id).pk), "id", limit, cursor, UUID)
    return reply(Page(items=[Registration.from_row(row) for row in rows], next_cursor=next_cursor))
