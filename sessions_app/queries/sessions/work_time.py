"""How long a runtime here was at work on a session."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db.models import Sum

from sessions_app.models import Turn


def work_time(session_id: UUID) -> timedelta | None:
    """Of all its turns, without the time that they waited for people; None where none ran here."""
    spent = Turn.objects.filter(session=session_id).aggregate(spent=Sum("runtime_ms"))["spent"]
    return None if spent is None else timedelta(milliseconds=spent)
