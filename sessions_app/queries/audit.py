"""The audit log, the newest entry first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from sessions_app.models import Agent, AuditEntry, Member, Session


@dataclass(frozen=True, slots=True)
class Asked:
    """Which entries; what is empty asks for nothing."""

    subject: str = ""
    """The id of one thing that they are about."""
    who: str = ""
    """A part of the name of whoever acted."""
    action: str = ""
    """What the action begins with: ``approval``, ``approval.decided``."""
    since: date | None = None
    until: date | None = None


def entries(workspace_id: UUID, *, limit: int, before: int | None, asked: Asked = Asked()) -> list[AuditEntry]:
    """Up to ``limit`` entries with a number below ``before``; days are those of UTC."""
    found = AuditEntry.objects.filter(workspace_id=workspace_id)
    if before is not None:
        found = found.filter(seq__lt=before)
    if asked.subject:
        found = found.filter(subject_id=asked.subject)
    if asked.who:
        found = found.filter(actor_name__icontains=asked.who)
    if asked.action:
        found = found.filter(action__startswith=asked.action)
    if asked.since:
        found = found.filter(at__gte=datetime.combine(asked.since, time.min, UTC))
    if asked.until:
        found = found.filter(at__lt=datetime.combine(asked.until, time.min, UTC) + timedelta(days=1))
    return list(found.order_by("-seq")[:limit])


def named(workspace_id: UUID, read: Iterable[AuditEntry]) -> dict[str, Session | Agent | Member]:
    """The sessions, agents and members that entries speak of, by their ids; what was deleted is not among them."""
    ids = {one for entry in read for one in _ids(entry)}
    found: dict[str, Session | Agent | Member] = {}
    for model, related in ((Session, "agent"), (Agent, None), (Member, "user")):
        things = model.objects.filter(workspace_id=workspace_id, pk__in=ids)
        found |= {str(thing.pk): thing for thing in (things.select_related(related) if related else things)}
    return found


def _ids(entry: AuditEntry) -> Iterator[UUID]:
    for value in (entry.subject_id, *_values(entry.details)):
        try:
            yield UUID(value)
        except (ValueError, AttributeError, TypeError):
            continue


def _values(details: Any) -> Iterable[Any]:
    return details.values() if isinstance(details, dict) else ()
