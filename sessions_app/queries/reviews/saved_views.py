"""Saved views that a member can choose from, and the columns they chose."""

from __future__ import annotations

from django.db.models import Q

from sessions_app.models import ListColumns, Member, SavedView

SHOWN = 200


def views_of(member: Member) -> list[SavedView]:
    """A member's own views and those shared in the workspace, by name."""
    theirs = Q(member=member) | Q(is_shared=True)
    found = SavedView.objects.filter(theirs, workspace_id=member.workspace_id)
    return list(found.order_by("name", "id")[:SHOWN])


def columns_of(member: Member) -> ListColumns:
    """What a member chose of columns; an unsaved row where they chose nothing."""
    return ListColumns.objects.filter(member=member).first() or ListColumns(member=member)
