"""Approvals that will not go on by themselves: nobody may decide them, or nobody gets what was decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.utils import timezone

from sessions_app.models import Agent, ApiKey, Approval, EscalationStep, Session, TurnInFlight

from . import absences, deciders
from .approvals import SESSION

UNDECIDABLE_AFTER = timedelta(hours=1)
"""So long a call that nobody may decide waits before it is called stuck: a new member may be on the way."""
UNDELIVERED_AFTER = timedelta(minutes=5)
NOT_ESCALATED_AFTER = timedelta(minutes=5)
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
    for reason in (
        _nobody_may_decide, _assigned_to_who_is_away, _asker_is_gone, _not_escalated, _not_delivered,
    ):  # fmt: skip
        for one in reason(workspace_id, most):
            found.setdefault(one.approval.pk, one)
    return sorted(found.values(), key=lambda one: (one.approval.requested_at, one.approval.pk))[:most]


def undelivered() -> Q:
    """Decisions whose way to the agent failed, or of which it is not known whether they arrived, for minutes."""
    now = timezone.now()
    late = Q(decided_at__lt=now - UNDELIVERED_AFTER, decided_at__gt=now - FORGOTTEN_AFTER)
    decided = ~Q(status=Status.PENDING) & Q(recorded=False)  # the words of the index by when they were decided
    return decided & late & Q(delivery__in=["failed", "uncertain"])


def _pending(workspace_id: UUID) -> QuerySet[Approval]:
    """What waits, the oldest first."""
    found = Approval.objects.filter(workspace_id=workspace_id, status=Status.PENDING)
    return found.order_by("requested_at", "id")


def _nobody_may_decide(workspace_id: UUID, most: int) -> Iterator[Stuck]:
    old = _pending(workspace_id).filter(requested_at__lt=timezone.now() - UNDECIDABLE_AFTER)
    waiting = list(old.only("terms", "votes_needed", "asked_by_user", "initiated_by")[:LOOKED_AT])
    candidates = deciders.candidates(workspace_id) if waiting else []
    found = {one.pk: why for one in waiting if (why := deciders.why_stuck(one, candidates))}
    first = list(found)[:most]
    if first:
        for approval in _pending(workspace_id).filter(pk__in=first).prefetch_related(*SESSION):
            yield Stuck(approval, found[approval.pk])


def _assigned_to_who_is_away(workspace_id: UUID, most: int) -> Iterator[Stuck]:
    away = absences.away(workspace_id)
    if not away:
        return
    found = _pending(workspace_id).filter(assigned_to__in=away)
    for approval in found.prefetch_related(*SESSION, "assigned_to__user")[:most]:
        yield Stuck(approval, f"it is assigned to {approval.assigned_to}, who is away")


def _asker_is_gone(workspace_id: UUID, most: int) -> Iterator[Stuck]:
    """Nobody would make the call any more: the key that asked is of no use, or the agent is at no turn.

    Keys and agents are looked up first: most workspaces have none of those, and a thousand approvals need no join.
    """
    waiting = _pending(workspace_id).filter(requested_at__lt=timezone.now() - ASKER_GONE_AFTER)
    waiting = waiting.prefetch_related(*SESSION)
    ended = Q(revoked_at__isnull=False) | Q(expires_at__lte=timezone.now())
    keys = list(ApiKey.objects.filter(ended, workspace_id=workspace_id).values_list("pk", flat=True))
    for approval in waiting.filter(asked_by_key__in=keys)[:most]:
        yield Stuck(approval, f"the key {approval.requested_by}, which asked, was revoked or has expired")
    run_here = Agent.objects.filter(workspace_id=workspace_id).exclude(runtime=Agent.Runtime.EXTERNAL)
    agents = list(run_here.values_list("pk", flat=True))
    here = waiting.filter(asked_by_key=None, asked_by_user=None, session__agent__in=agents)
    at_work = TurnInFlight.objects.filter(session=OuterRef("session"))
    for approval in here.filter(~Exists(at_work)).exclude(session__origin=Session.Origin.IMPORT)[:most]:
        yield Stuck(approval, "its agent is at no turn any more that could make the call")


def _not_escalated(workspace_id: UUID, _: int) -> Iterator[Stuck]:
    """More people were to be told, and nobody was. Of the steps that fired the last one counts."""
    fired = EscalationStep.objects.filter(approval=OuterRef("approval"), fired_at__isnull=False)
    is_last = Q(pk=Subquery(fired.order_by("-position").values("pk")[:1]))
    is_late = Q(fired_at=None, due_at__lt=timezone.now() - NOT_ESCALATED_AFTER)
    waiting = Q(approval__workspace_id=workspace_id, approval__status=Status.PENDING, approval__deliver_at=None)
    found = EscalationStep.objects.filter(waiting, is_late | is_last & Q(told=[])).order_by("due_at", "id")
    for step in found.prefetch_related(Prefetch("approval", Approval.objects.prefetch_related(*SESSION)))[:LOOKED_AT]:
        if step.fired_at is None:
            yield Stuck(step.approval, "more people were to be told minutes ago, and nobody was: no scheduler looks")
        else:
            whom = ", ".join(map(str, step.targets))
            yield Stuck(step.approval, f"it was to be told to more people ({whom}), and none of them is here")


def _not_delivered(workspace_id: UUID, _: int) -> Iterator[Stuck]:
    found = Approval.objects.filter(undelivered(), workspace_id=workspace_id).prefetch_related(*SESSION)
    for approval in found.order_by("decided_at", "id")[:LOOKED_AT]:
        doubt = "could not be delivered" if approval.delivery == "failed" else "may or may not have been delivered"
        why = f": {approval.delivery_error}" if approval.delivery_error else ""
        yield Stuck(approval, f"it was decided, and the decision {doubt}{why}")
