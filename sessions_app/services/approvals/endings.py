"""Endings of an approval that no person here chose: expired, cancelled, allowed by a rule, answered elsewhere."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from sessions_app.models import Approval, Stop
from sessions_app.queries import stops as queries

from .. import audit
from ..stops import doors
from .delivery import mark_delivered as mark_delivered
from .record import lock_session_of, record_ending

APPROVED = (Approval.Status.APPROVED, Approval.Status.APPROVED_EDITED)
EXPIRED = "No reviewer answered in time, so this call is denied. Do not repeat it."


def expire_due(*, approval_id: UUID | None = None) -> int:
    """Deny what nobody decided in time; the number of approvals that expired."""
    now = timezone.now()
    # What was decided in time, and can still be taken back, was decided in time.
    due = Approval.objects.filter(status=Approval.Status.PENDING, expires_at__lte=now, deliver_at=None)
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
def cancel(
    approval: Approval, reason: str, *, by: audit.Actor = audit.SYSTEM,
    decides_by: Approval.DecidesBy = Approval.DecidesBy.SYSTEM,
) -> bool:  # fmt: skip
    """Cancel what waits, or was approved and told to nobody yet: what was decided stays known."""
    lock_session_of(approval.pk)
    now = timezone.now()
    decision = {"verdict": "cancelled", "by": by.name, "by_kind": by.kind, "by_id": by.id, "reason": reason}
    if approval.decision:
        decision["instead_of"] = approval.decision
    standing = Approval.objects.filter(not_told(), pk=approval.pk, version=approval.version)
    changed = standing.update(
        status=Approval.Status.CANCELLED, version=approval.version + 1, decided_at=now, decision=decision,
        decides_by=decides_by, delivery="queued", deliver_at=now, executable_digest="",
    )  # fmt: skip
    if changed:
        approval.refresh_from_db()
        record_ending(approval, by, "approval.cancelled", reason=reason)
    return bool(changed)


def not_told() -> Q:
    """Calls that nobody can have made: those that wait, and those approved of which the agent has not been told."""
    told_to_nobody = Q(status__in=APPROVED, delivery="queued", execution="none")
    return Q(recorded=False) & (Q(status=Approval.Status.PENDING) | told_to_nobody)


def stoppable() -> Q:
    """Calls that a stop ends: also those that a rule allowed to an agent that runs here, which was not told either."""
    by_rule = Q(status=Approval.Status.AUTO_ALLOWED, delivery="queued", execution="none", recorded=False)
    return not_told() | by_rule & Q(asked_by_key=None, asked_by_user=None)


@transaction.atomic
def deny_by_stop(approval: Approval, stop: Stop) -> bool:
    """Deny a call because of a stop: at once, or what was asked or approved before it. False where it ended before.

    An approval that no agent was told of yet is taken back; its votes stay, and the decision names it.
    """
    lock_session_of(approval.pk)
    new = approval.status == Approval.Status.PENDING and approval.requested_at >= stop.made_at
    status = Approval.Status.AUTO_DENIED if new else Approval.Status.DENIED
    by, reason = audit.Actor(*stop.actor), f"{queries.sentence(stop).rstrip('.')}. Do not repeat this call."
    now = timezone.now()
    decision = {
        "verdict": "deny", "by": by.name, "by_kind": by.kind, "by_id": by.id, "at": now.isoformat(), "reason": reason,
    }  # fmt: skip
    if approval.decision:
        decision["instead_of"] = approval.decision
    standing = Approval.objects.filter(stoppable(), pk=approval.pk, version=approval.version)
    changed = standing.update(
        status=status, version=approval.version + 1, decided_at=now, decision=decision, delivery="queued",
        deliver_at=now, decides_by=Approval.DecidesBy.STOP, executable_digest="",
    )  # fmt: skip
    if changed:
        approval.refresh_from_db()
        record_ending(approval, by, "approval.stopped", reason=reason)
    return bool(changed)


def deny_where_stopped(approval: Approval) -> None:
    """Deny a call that waits under a stop that was not carried out yet. Inside a transaction."""
    stop = doors.stop_in(approval.workspace_id, approval.session.agent_id)
    if stop:
        deny_by_stop(approval, stop)


@transaction.atomic
def held_to_stop(approval: Approval) -> Approval:
    """The approval as its agent may be told of it now: under a stop nothing is allowed that it was not told before."""
    deny_where_stopped(approval)
    approval.refresh_from_db()
    return approval


@transaction.atomic
def tell(approval: Approval) -> bool:
    """Note that the asker is told this answer. False where it is not so any more, or a stop denies it now: read it
    again. One transaction, because an agent waits for it.
    """
    if approval.status in (*APPROVED, Approval.Status.AUTO_ALLOWED):
        stop = doors.stop_in(approval.workspace_id, approval.session.agent_id)
        if stop and deny_by_stop(approval, stop):
            return False
    return mark_delivered(approval)


@transaction.atomic
def allow_as_changed(approval: Approval, changed: Approval) -> None:
    """Allow a call that a person wrote: they approved ``changed`` with other arguments, and here it is made with them.

    The caller has compared the two calls. One changed approval allows one call: see ``has_allowed_a_call``.
    """
    by = (changed.decision or {}).get("by") or "a reviewer"
    end_by_rule(
        approval, allow=True, by=audit.SYSTEM, decides_by=Approval.DecidesBy.SYSTEM, rule=_rule_of(changed),
        reason=f"{by} approved the call with exactly these arguments",
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


def end_by_rule(
    approval: Approval, *, allow: bool, by: audit.Actor, decides_by: Approval.DecidesBy, rule: str, reason: str
) -> bool:
    """Allow or deny a pending call without a person: a policy, a grant or a stop. False when somebody was faster."""
    status = Approval.Status.AUTO_ALLOWED if allow else Approval.Status.AUTO_DENIED
    action = "approval.allowed" if allow else "approval.denied"
    return _end_undecided(approval, status, reason, by, action, decides_by=decides_by, rule=rule)


@transaction.atomic
def _end_undecided(
    approval: Approval, status: Approval.Status, reason: str, by: audit.Actor, action: str,
    decides_by: Approval.DecidesBy = Approval.DecidesBy.SYSTEM, **columns: Any,
) -> bool:  # fmt: skip
    """Move a pending approval to a final state that no person chose. False when somebody was faster."""
    lock_session_of(approval.pk)
    waiting = Approval.objects.filter(pk=approval.pk, status=Approval.Status.PENDING, version=approval.version)
    now = timezone.now()
    decision = {"verdict": status, "by": by.name, "by_kind": by.kind, "by_id": by.id, "reason": reason}
    if status == Approval.Status.AUTO_ALLOWED:
        columns["executable_digest"] = decision["digest"] = approval.digest_of_call(approval.arguments)
    changed = waiting.update(
        status=status, version=approval.version + 1, decided_at=now, decision=decision, decides_by=decides_by,
        delivery="queued", deliver_at=now, **columns,
    )  # fmt: skip
    if changed:
        approval.refresh_from_db()
        record_ending(approval, by, action, reason=reason)
    return bool(changed)


def _rule_of(changed: Approval) -> str:
    return f"as changed in approval {changed.pk}"
