"""Endings of an approval that no person here chose: expired, cancelled, allowed by a rule, answered elsewhere."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.models import Approval

from .. import audit, notify
from .record import lock_session_of, record_ending

EXPIRED = "No reviewer answered in time, so this call is denied. Do not repeat it."


def expire_due(*, approval_id: UUID | None = None) -> int:
    """Deny what nobody decided in time; the number of approvals that expired."""
    now = timezone.now()
    due = Approval.objects.filter(status=Approval.Status.PENDING, expires_at__lte=now)
    if approval_id:
        due = due.filter(pk=approval_id)
    return sum(
        _end_undecided(approval, Approval.Status.EXPIRED, EXPIRED, audit.SYSTEM, "approval.expired")
        for approval in due.select_related("session")
    )


def cancel_all(session_id: UUID, *, reason: str, by: audit.Actor) -> int:
    """Withdraw everything a session still asks; the number of approvals that were cancelled."""
    waiting = Approval.objects.filter(session_id=session_id, status=Approval.Status.PENDING)
    return sum(
        _end_undecided(approval, Approval.Status.CANCELLED, reason, by, "approval.cancelled")
        for approval in waiting.select_related("session")
    )


@transaction.atomic
def allow_as_changed(approval: Approval, changed: Approval) -> None:
    """Allow a call that a person wrote: they approved ``changed`` with other arguments, and here it is made with them.

    The caller has compared the two calls. One changed approval allows one call: see ``has_allowed_a_call``.
    """
    Approval.objects.filter(pk=approval.pk).update(rule=_rule_of(changed))
    by = (changed.decision or {}).get("by") or "a reviewer"
    _end_undecided(
        approval, Approval.Status.AUTO_ALLOWED, f"{by} approved the call with exactly these arguments", audit.SYSTEM,
        "approval.allowed",
    )  # fmt: skip


def has_allowed_a_call(changed: Approval) -> bool:
    """Whether a call was allowed because of this changed approval already."""
    return Approval.objects.filter(session_id=changed.session_id, rule=_rule_of(changed)).exists()


def end_answered_elsewhere(approval: Approval, how: str) -> bool:
    """Take over that somebody answered the asker elsewhere. False when a person here was faster."""
    ended = _end_undecided(approval, Approval.Status.SETTLED_ELSEWHERE, how, audit.SYSTEM, "approval.settled")
    if ended:
        mark_delivered(approval)
    return ended


def mark_delivered(approval: Approval, *, elsewhere: bool = False) -> None:
    """The asker has been given the answer; or, ``elsewhere``, another one than was decided here."""
    delivery = "elsewhere" if elsewhere else "delivered"
    if Approval.objects.filter(pk=approval.pk, delivery="queued").update(delivery=delivery):
        approval.delivery = delivery
        notify.approval_changed(approval.pk, approval.session_id)


@transaction.atomic
def _end_undecided(approval: Approval, status: str, reason: str, by: audit.Actor, action: str) -> bool:
    """Move a pending approval to a final state that no person chose. False when somebody was faster."""
    lock_session_of(approval.pk)
    waiting = Approval.objects.filter(pk=approval.pk, status=Approval.Status.PENDING, version=approval.version)
    decision = {"verdict": status, "by": by.name, "by_kind": by.kind, "reason": reason}
    changed = waiting.update(
        status=status, version=approval.version + 1, decided_at=timezone.now(), decision=decision, delivery="queued"
    )
    if changed:
        approval.refresh_from_db()
        record_ending(approval, by, action, reason=reason)
    return bool(changed)


def _rule_of(changed: Approval) -> str:
    return f"as changed in approval {changed.pk}"
