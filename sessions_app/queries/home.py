"""Lists and sums of the home page. Each list is short and says so; the session list has the rest."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from sessions_app.models import Session, Turn
from sessions_app.models.session_order import STARTED

from .money.usage import Period, Used
from .sessions import folding
from .sessions.folding import FoldedPage, Group, imports_of, one_calls
from .sessions.session_list import Page

SHOWN = 8
LOOKED_AT = 200
"""Sessions of which the latest are shown: an index has them by when they began or came, not by what they did."""


def midnight() -> datetime:
    """The beginning of today in UTC, the day that every number of "today" means."""
    return timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)


def running(workspace_id: UUID) -> QuerySet[Session]:
    """Sessions with a turn in flight that waits for nobody, the latest first; of the ``LOOKED_AT`` that began last."""
    at_work = Session.objects.filter(workspace_id=workspace_id, status=Session.Status.RUNNING, pending_approvals=0)
    last = at_work.order_by(STARTED.desc(), "-id").values("pk")[:LOOKED_AT]
    return _sessions(workspace_id).filter(pk__in=last).order_by("-updated_at")[:SHOWN]


def went_wrong(workspace_id: UUID) -> QuerySet[Session]:
    """Sessions whose last turn with errors ended today, and those that ended badly today.

    A session that goes on today may have had its errors days ago. Only its last turn with errors is looked at: one that
    has gone wrong for weeks has thousands.
    """
    since = midnight()
    bad = _sessions(workspace_id).filter(
        measures__workspace=workspace_id, measures__is_bad=True, measures__last_day__gte=since.date()
    )
    of_session = Turn.objects.filter(session=OuterRef("pk"), errors__gt=0)
    went_wrong_at = Subquery(of_session.order_by("-index").values("ended_at")[:1])
    ended_badly = Q(phase__in=(Session.Phase.CRASHED, Session.Phase.TIMED_OUT), ended_at__gte=since)
    bad = bad.alias(went_wrong_at=went_wrong_at).filter(Q(went_wrong_at__gte=since) | ended_badly)
    return bad.order_by(F("ended_at").desc(nulls_last=True), "-id")[:SHOWN]


def newest(workspace_id: UUID) -> list[Session]:
    """The ``LOOKED_AT`` newest sessions, with what is asked of so many."""
    found = Session.objects.filter(workspace_id=workspace_id).order_by("-created_at", "-id")
    return list(found.only(*folding.LOOKED_AT, "started_at", "created_at")[:LOOKED_AT])


def came_in(workspace_id: UUID, found: list[Session]) -> FoldedPage:
    """The newest sessions, however old the work in them is.

    Of those that ``newest`` found those that are one tool call without a message do not bury work, unless all are: what
    waits is told above them. The samples of one evaluation log are one row.
    """
    alone = one_calls(found)
    work = [(one.pk, one.source_format) for one in found if one.pk not in alone or len(alone) == len(found)]
    import_of = imports_of(work)
    first: dict[UUID, UUID] = {}
    groups: dict[UUID, Group] = {}
    shown: list[UUID] = []
    for pk, _ in work:
        import_id = import_of.get(pk)
        if import_id and import_id in first:
            groups.setdefault(first[import_id], Group(import_id)).more += 1
        elif len(shown) < SHOWN:
            shown.append(pk)
            if import_id:
                first[import_id] = pk
    items = list(_sessions(workspace_id).filter(pk__in=shown).order_by("-created_at", "-id"))
    return FoldedPage(Page(items, None), groups=groups)  # type: ignore[arg-type]  # no sort value


def today(workspace_id: UUID) -> Used:
    """Usage of today as the usage page has it: a turn belongs to the day on which it began."""
    return Period(workspace_id, since=midnight()).total()


def has_untimed_today(found: list[Session]) -> bool:
    """Whether some of today began at no known time: usage counts those on the day they came in."""
    since = midnight()
    return any(one.started_at is None and one.created_at >= since for one in found)


def _sessions(workspace_id: UUID) -> QuerySet[Session]:
    return Session.objects.filter(workspace_id=workspace_id).select_related("agent").defer("source_record")
