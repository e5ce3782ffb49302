"""Lists and sums of the home page. Each list is short and says so; the session list has the rest."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Case, Count, F, Q, QuerySet, Sum, When
from django.db.models.functions import Coalesce
from django.utils import timezone

from sessions_app.models import ModelRequest, Session
from sessions_app.models.session_order import STARTED

from .money.totals import Sums

SHOWN = 8
LOOKED_AT = 200
"""Sessions at work of which the latest are shown: an index has them by when they began, not by what they did last."""


@dataclass(frozen=True, slots=True)
class Today:
    """Money and tokens of the model responses since midnight UTC, and of how many sessions they are."""

    sums: Sums
    sessions: int


def midnight() -> datetime:
    """The beginning of today in UTC, the day that every number of "today" means."""
    return timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)


def running(workspace_id: UUID) -> QuerySet[Session]:
    """Sessions with a turn in flight that waits for nobody, the latest first; of the ``LOOKED_AT`` that began last."""
    at_work = Session.objects.filter(workspace_id=workspace_id, status=Session.Status.RUNNING, pending_approvals=0)
    last = at_work.order_by(STARTED.desc(), "-id").values("pk")[:LOOKED_AT]
    return _sessions(workspace_id).filter(pk__in=last).order_by("-updated_at")[:SHOWN]


def went_wrong(workspace_id: UUID) -> QuerySet[Session]:
    """Sessions that were at work today and had errors or ended badly."""
    bad = _sessions(workspace_id).filter(
        measures__workspace=workspace_id, measures__is_bad=True, measures__last_day__gte=midnight().date()
    )
    return bad.order_by(F("ended_at").desc(nulls_last=True), "-id")[:SHOWN]


def came_in(workspace_id: UUID) -> QuerySet[Session]:
    """The newest sessions, however old the work in them is."""
    return _sessions(workspace_id).order_by("-created_at", "-id")[:SHOWN]


def today(workspace_id: UUID) -> Today:
    """Only sessions at work today are looked into, so this does not grow with the history."""
    since = midnight()
    sessions = _at_work(workspace_id, since).values("pk")
    requests = ModelRequest.objects.filter(session__in=sessions, at__gte=since, counted_in=None)
    paid = Q(cost_within=None)
    unrecorded = paid & Q(cost_recorded=None)
    total = sum(
        (Coalesce(F(f"{name}_tokens"), 0) for name in ("cache_read", "cache_write", "output")),
        start=Coalesce(F("input_tokens"), 0),
    )
    row = requests.annotate(
        priced=Case(When(unrecorded, then="cost_priced")),
        unpriced=Case(When(unrecorded & Q(cost_priced=None), then=total)),
    ).aggregate(
        unpriced_tokens=Sum("unpriced"), cost_priced=Sum("priced"), cost_recorded=Sum("cost_recorded", filter=paid),
        **{name: Sum(name) for name in ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")},
        sessions=Count("session", distinct=True),
    )  # fmt: skip
    return Today(Sums.from_row(row), row["sessions"])


def is_empty(workspace_id: UUID) -> bool:
    return not Session.objects.filter(workspace_id=workspace_id).exists()


def _at_work(workspace_id: UUID, since: datetime) -> QuerySet[Session]:
    return _sessions(workspace_id).filter(Q(ended_at__gte=since) | Q(started_at__gte=since))


def _sessions(workspace_id: UUID) -> QuerySet[Session]:
    return Session.objects.filter(workspace_id=workspace_id).select_related("agent").defer("source_record")
