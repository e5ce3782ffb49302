"""Registrations of a session's signed exports at transparency services."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet

from vcon_app.models import Registration
from vcon_app.signing import statement

SHOWN = 20


def of_session(session_id: UUID) -> QuerySet[Registration]:
    """The newest first."""
    return Registration.objects.filter(session_id=session_id).order_by("-id")


def transparent_statement(row: Registration) -> bytes | None:
    """What proves the registration to others: the statement with its receipt; None while there is none."""
    return statement.with_receipt(bytes(row.statement), bytes(row.receipt)) if row.receipt is not None else None
