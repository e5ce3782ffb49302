"""Absences: who is away, and who stands in for them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from sessions_app.models import Absence, Member


def current_and_later(workspace_id: UUID) -> QuerySet[Absence]:
    """Absences of a workspace that are not over, the next first."""
    found = Absence.objects.filter(workspace_id=workspace_id, ends_at__gt=timezone.now())
    return found.select_related("member__user", "stand_in__user").order_by("begins_at", "id")


def away(workspace_id: UUID, at: datetime | None = None) -> dict[UUID, list[UUID]]:
    """Who is away at a time, each with their stand-ins, if any."""
    at = at or timezone.now()
    found: dict[UUID, list[UUID]] = {}
    rows = Absence.objects.filter(workspace_id=workspace_id, begins_at__lte=at, ends_at__gt=at).order_by("id")
    for member_id, stand_in_id in rows.values_list("member_id", "stand_in_id"):
        found.setdefault(member_id, []).extend([stand_in_id] if stand_in_id else [])
    return found


def with_stand_ins(members: Iterable[Member], workspace_id: UUID) -> list[Member]:
    """The members, and who stands in for those of them that are away; a stand-in who is away has one, too."""
    reached = {member.pk: member for member in members}
    stand_ins, new = away(workspace_id), list(reached)
    while new:
        ids = {id_ for member_id in new for id_ in stand_ins.get(member_id, ())} - reached.keys()
        found = Member.objects.filter(workspace_id=workspace_id, pk__in=ids).select_related("user")
        reached |= {member.pk: member for member in found}
        new = [member.pk for member in found]
    return list(reached.values())
