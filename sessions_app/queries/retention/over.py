"""Sessions whose days are over, by which a workspace deletes: those that go, and those that something keeps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from django.db.models import (
    Case,
    DateTimeField,
    DurationField,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from sessions_app.ids import first_id
from sessions_app.models import EventLink, Session, Workspace

What = Literal["goes", "held", "waits"]
WAITS = Q(pending_approvals__gt=0) | Q(status=Session.Status.RUNNING)
KEPT = Q(retention__immutable=True) | WAITS
"""Not deleted, however old: on hold, a person is asked for something in it, or its agent is at work."""


@dataclass(frozen=True, slots=True)
class Over:
    """A session whose days are over: ``goes``, is ``held``, or ``waits`` for a person or its agent."""

    session: Session
    since: datetime
    what: What


def over(workspace_id: UUID, days: int) -> QuerySet[Session, Any]:
    """Sessions of a workspace that had their last event more than ``days`` ago, each with ``over_at``: when they were
    over. One that says more ``ttl_days`` of its own is kept for those.

    Days are counted from when an event came in here, not from when it happened: what is imported today is of today.
    """
    own = Case(When(retention__is_own=True, then="retention__ttl_days"))  # else NULL, which greatest() leaves out
    kept = ExpressionWrapper(Greatest(Value(days), own) * Value(timedelta(days=1)), output_field=DurationField())
    last = EventLink.objects.filter(session_id=OuterRef("pk")).order_by("-last_seq").values("received_at")[:1]
    ends = ExpressionWrapper(Coalesce(Subquery(last), F("created_at")) + kept, output_field=DateTimeField())
    now = timezone.now()
    # Nothing comes into a session before it is made: of a history of years the old end alone is looked at.
    made_before = Session.objects.filter(workspace=workspace_id, pk__lt=first_id(now - timedelta(days=days)))
    return made_before.annotate(over_at=ends).filter(over_at__lte=now)


def going(workspace: Workspace) -> QuerySet[Session, Any]:
    """Sessions that a workspace deletes by its days: over, and nothing keeps them. None where it says no days."""
    if workspace.keep_days is None:
        return Session.objects.none()
    return over(workspace.pk, workspace.keep_days).exclude(KEPT)


def page(workspace_id: UUID, days: int | None, after: UUID | None, most: int) -> tuple[list[Over], UUID | None]:
    """What would be deleted, and what stays and why, the oldest first; and the last one if there may be more.

    None as ``days``: sessions are kept for good.
    """
    if days is None:
        return [], None
    found = over(workspace_id, days).select_related("agent", "retention").defer("source_record").order_by("pk")
    rows = list(found.filter(pk__gt=after)[:most] if after else found[:most])
    return [Over(row, row.over_at, _what(row)) for row in rows], rows[-1].pk if len(rows) == most else None


def _what(session: Session) -> What:
    retention = getattr(session, "retention", None)
    if retention and retention.immutable:
        return "held"
    is_waiting = session.pending_approvals > 0 or session.status == Session.Status.RUNNING
    return "waits" if is_waiting else "goes"
