"""Approvals that will not go on by themselves: nobody may decide them, or nobody gets what was decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from sessions_app.models import Agent, Approval, Session, TurnInFlight

from . import absences, deciders

UNDECIDABLE_AFTER = timedelta(hours=1)
"""So long a call that nobody may decide waits before it is called stuck: a new member may be on the way."""
UNDELIVERED_AFTER = timedelta(minutes=5)
ASKER_GONE_AFTER = timedelta(minutes=5)
LOOKED_AT = 500
"""Pending approvals, the oldest, of which it is found out whether somebody may decide them."""
FORGOTTEN_AFTER = timedelta(days=7)
"""What was decided longer ago and never delivered is history."""
Status = Approval.Status


@dataclass(frozen=True, slots=True)
class Stuck:
    """An approval, and why it does not go on."""

    approval: Approval
    why: str


def stuck(workspace_id: UUID, most: int = 20) -> list[Stuck]:
    """Approvals of a workspace that are stuck, each once, the oldest first."""
    found: dict[UUID, Stuck] = {}
    for reason in (_nobody_may_decide, _assigned_to_who_is_away, _asker_is_gone, _not_delivered):
        for one in reason(workspace_id):
            found.setdefault(one.approval.pk, one)
    return sorted(found.values(), key=lambda one: (one.approval.requested_at, one.approval.pk))[:most]


def undelivered() -> Q:
    """Decisions whose way to the agent failed, or of which it is not known whether they arrived, for minutes."""
    now = timezone.now()
    late = Q(decided_at__lt=now - UNDELIVERED_AFTER, decided_at__gt=now - FORGOTTEN_AFTER)
    return late & Q(delivery__in=["failed", "uncertain"])


def _pending(workspace_id: UUID) -> list[Approval]:
    found = Approval.objects.filter(workspace_id=workspace_id, status=Status.PENDING)
    old = found.filter(requested_at__lt=timezone.now() - UNDECIDABLE_AFTER)
    return list(old.select_related("session__agent").order_by("requested_at", "id")[:LOOKED_AT])


def _nobody_may_decide(workspace_id: UUID) -> Iterator[Stuck]:
    waiting = _pending(workspace_id)
    candidates = deciders.candidates(workspace_id) if waiting else []
    for approval in waiting:
        if not any(_may_decide(one, approval) for one in candidates):
            yield Stuck(approval, "nobody in this workspace may decide it")


def _may_decide(candidate: deciders.Candidate, approval: Approval) -> bool:
    user_id = candidate.member.user_id if candidate.member else candidate.made_by
    if user_id is not None and user_id == approval.asked_by_user_id:
        return False
    if user_id is not None and approval.terms.get("not_initiator") and user_id == approval.initiated_by_id:
        return False
    return deciders.fits(candidate, approval.terms)


def _assigned_to_who_is_away(workspace_id: UUID) -> Iterator[Stuck]:
    away = absences.away(workspace_id)
    if not away:
        return
    found = Approval.objects.filter(workspace_id=workspace_id, status=Status.PENDING, assigned_to__in=away)
    for approval in found.select_related("session__agent", "assigned_to__user").order_by("requested_at", "id"):
        yield Stuck(approval, f"it is assigned to {approval.assigned_to}, who is away")


def _asker_is_gone(workspace_id: UUID) -> Iterator[Stuck]:
    """Nobody would make the call any more: the key that asked is of no use, or the agent is at no turn."""
    now = timezone.now()
    waiting = Approval.objects.filter(
        workspace_id=workspace_id, status=Status.PENDING, requested_at__lt=now - ASKER_GONE_AFTER
    ).select_related("session__agent")
    dead = Q(asked_by_key__revoked_at__isnull=False) | Q(asked_by_key__expires_at__lte=now)
    for approval in waiting.filter(dead).order_by("requested_at", "id"):
        yield Stuck(approval, f"the key {approval.requested_by}, which asked, was revoked or has expired")
    here = ~Q(session__agent__runtime=Agent.Runtime.EXTERNAL) & Q(asked_by_key=None, asked_by_user=None)
    at_work = TurnInFlight.objects.filter(session=OuterRef("session"))
    left = waiting.filter(here, ~Exists(at_work)).exclude(session__origin=Session.Origin.IMPORT)
    for approval in left.order_by("requested_at", "id"):
        yield Stuck(approval, "its agent is at no turn any more that could make the call")


def _not_delivered(workspace_id: UUID) -> Iterator[Stuck]:
    found = Approval.objects.filter(undelivered(), workspace_id=workspace_id).select_related("session__agent")
    for approval in found.order_by("decided_at", "id")[:LOOKED_AT]:
        doubt = "could not be delivered" if approval.delivery == "failed" else "may or may not have been delivered"
        why = f": {approval.delivery_error}" if approval.delivery_error else ""
        yield Stuck(approval, f"it was decided, and the decision {doubt}{why}")
