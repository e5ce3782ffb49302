"""Verdicts of people on sessions: those in force, and the history of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from sessions_app.models import Rubric, Session, Verdict

from .agreement import Agreement, agreement

MOST = 200
"""Rows of a session's history that a page shows."""


@dataclass(frozen=True, slots=True)
class Review:
    """What people say of a session now, and what they said before."""

    current: list[Verdict]
    earlier: list[Verdict]
    """Replaced and withdrawn ones, the newest first."""
    agreement: Agreement

    def of(self, user_id: int) -> Verdict | None:
        """What one person says."""
        return next((one for one in self.current if one.user_id == user_id), None)


def review_of(session: Session) -> Review:
    """Verdicts of a session, in one query."""
    rows = list(Verdict.objects.filter(session=session).order_by("-id")[:MOST])
    current = [row for row in rows if row.is_current and row.says]
    earlier = [row for row in rows if not (row.is_current and row.says)]
    return Review(current[::-1], earlier, agreement_of(current))


def agreement_of(verdicts: Iterable[Verdict]) -> Agreement:
    """Agreement over current verdicts."""
    by_session: dict[UUID, list[tuple[object, str]]] = {}
    for one in verdicts:
        by_session.setdefault(one.session_id, []).append((one.user_id or one.by, one.says))
    return agreement(by_session.values())


def rubrics_of(workspace_id: UUID) -> QuerySet[Rubric]:
    """Rubrics in use, in the order in which they were made."""
    return Rubric.objects.filter(workspace_id=workspace_id, retired_at=None).order_by("id")
