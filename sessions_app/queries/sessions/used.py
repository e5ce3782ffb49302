"""Which sessions were at work in a period, by the moment that usage gives a turn."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import reduce
from operator import or_
from uuid import UUID

from django.db.models import DateTimeField, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.db.models.lookups import IsNull

from sessions_app.models import SessionUsage, Turn
from sessions_app.models.usage import UsageKind

from ..money.days import Days
from ..money.usage import is_kept


def used(workspace_id: UUID, since: datetime | None, until: datetime | None) -> Q:
    """Sessions of a workspace with a turn that began at or after ``since`` and before ``until``."""
    if not is_kept():
        return _with_turns(since, until)
    usages = _usages(workspace_id, since, until)
    return Q(pk__in=[]) if usages is None else Q(pk__in=usages.values("session_id"))


def used_each(workspace_id: UUID, since: datetime | None, until: datetime | None) -> Q:
    """The same as a question to each session that a list comes to. Of EXISTS PostgreSQL makes a join or a table of
    hashes, for which it reads the whole period."""
    if not is_kept():
        return _with_turns(since, until)
    usages = _usages(workspace_id, since, until)
    if usages is None:
        return Q(pk__in=[])
    one_day = usages.filter(session=OuterRef("pk")).order_by().values("day")[:1]
    return Q(IsNull(Subquery(one_day), False))


def _usages(workspace_id: UUID, since: datetime | None, until: datetime | None) -> QuerySet[SessionUsage] | None:
    """Usage of the days of a period; None where it has no moment."""
    days = Days.of(since, until)
    parts = [] if days.is_empty else [_whole(days.first, days.end)]
    parts += [_part(began, ended) for began, ended in days.edges]
    if not parts:
        return None
    return SessionUsage.objects.filter(reduce(or_, parts), workspace=workspace_id, kind=UsageKind.TURN)


def _whole(first: date | None, end: date | None) -> Q:
    """Usage of whole days; their bounds where there are any."""
    bounds = {"day__gte": first, "day__lt": end}
    return Q(**{name: bound for name, bound in bounds.items() if bound})


def _part(began: datetime, ended: datetime | None) -> Q:
    """Usage of a day within which the period begins or ends, where a turn of that session began in the period."""
    bounds = {"began_at__gte": began, "began_at__lt": ended}
    turns = Turn.objects.filter(session=OuterRef("session"))
    turns = turns.filter(**{name: bound for name, bound in bounds.items() if bound})
    last = ended.date() + timedelta(days=1) if ended and ended.date() < date.max else None
    return _whole(began.date(), last) & Q(Exists(turns))


def _with_turns(since: datetime | None, until: datetime | None) -> Q:
    """The same from the turns themselves, while an installation from before there were totals fills them in."""
    began = Coalesce("started_at", OuterRef("started_at"), OuterRef("created_at"), output_field=DateTimeField())
    turns = Turn.objects.filter(session=OuterRef("pk")).annotate(began=began)
    bounds = {"began__gte": since, "began__lt": until}
    return Q(Exists(turns.filter(**{name: bound for name, bound in bounds.items() if bound})))
