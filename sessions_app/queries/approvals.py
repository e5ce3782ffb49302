"""Approvals of a workspace: those that wait for a person, and the last decisions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_
from uuid import UUID

from django.db.models import Q, QuerySet

from sessions_app.models import Approval, Turn

RECENT = 20


def waiting(workspace_id: UUID) -> QuerySet[Approval]:
    """Pending approvals, the oldest first, each with its session and agent."""
    found = Approval.objects.filter(workspace_id=workspace_id, status=Approval.Status.PENDING)
    return found.select_related("session__agent").order_by("requested_at", "id")


def with_turns(approvals: Iterable[Approval]) -> list[Approval]:
    """The same approvals, each with the turn it was asked in as ``turn`` (None where it is in none): one query."""
    found = list(approvals)
    asked = [
        Q(session_id=a.session_id, first_seq__lte=a.event_seq, last_seq__gte=a.event_seq) for a in found if a.event_seq
    ]
    turns = list(Turn.objects.filter(reduce(or_, asked))) if asked else []
    for one in found:
        mine = (
            turn
            for turn in turns
            if turn.session_id == one.session_id and turn.first_seq <= (one.event_seq or 0) <= turn.last_seq
        )
        one.turn = next(mine, None)
    return found


def waiting_count(workspace_id: UUID) -> int:
    return Approval.objects.filter(workspace_id=workspace_id, status=Approval.Status.PENDING).count()


def decided(workspace_id: UUID) -> QuerySet[Approval]:
    """The last decisions (expiry and withdrawal are some, too), the newest first."""
    here = Approval.objects.filter(workspace_id=workspace_id, recorded=False).exclude(status=Approval.Status.PENDING)
    return here.select_related("session__agent").order_by("-decided_at", "-id")[:RECENT]
