"""Saved views that a member can choose from, and the columns they chose."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Q, QuerySet

from sessions_app.compiled import Compiled
from sessions_app.models import ListColumns, Member, SavedView

SHOWN = 200


def views_of(member: Member) -> list[SavedView]:
    """A member's own views and those shared in the workspace, by name."""
    return _VIEWS(member.workspace_id, member.pk)


def _views(workspace_id: UUID, member_id: UUID) -> QuerySet[SavedView]:
    theirs = Q(member=member_id) | Q(is_shared=True)
    return SavedView.objects.filter(theirs, workspace_id=workspace_id).order_by("name", "id")[:SHOWN]


_VIEWS = Compiled[SavedView](_views)


def columns_of(member: Member) -> ListColumns:
    """What a member chose of columns; an unsaved row where they chose nothing."""
    return _COLUMNS.first(member.pk) or ListColumns(member=member)


_COLUMNS = Compiled[ListColumns](lambda member_id: ListColumns.objects.filter(member=member_id)[:1])
