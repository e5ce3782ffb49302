"""What people do with an approval that waits, short of deciding it: claim, assign, snooze, escalate. It stays pending.

Hints to each other and no locks: everybody who may decide still may, versions stay, and what expires, expires.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.models import Approval, EscalationStep, Member, Role
from sessions_app.policy import parameters

from .. import audit
from ..escalations import steps
from ..log.sanitise import text
from . import authority
from .authority import Decider, Invalid, NotAllowed
from .decisions import Conflict
from .record import announce, lock_session_of

LEASE = timedelta(minutes=10)
"""Of a claim."""
LONGEST_SNOOZE = timedelta(days=7)
MOST_TARGETS, MOST_REASON = 20, 2_000


def claim(approval: Approval, decider: Decider) -> Approval:
    """Say that this member is at it, for ten minutes from now. Raises ``Conflict`` while somebody else is."""
    member_id = _member(decider)
    with transaction.atomic():
        current = _pending(approval, decider)
        now = timezone.now()
        held = current.claimed_by if current.claimed_until and current.claimed_until > now else None
        if held and held.pk != member_id:
            until = f"{current.claimed_until:%H:%M} UTC"
            raise Conflict(current, f"{held} is at it until {until}; you can decide it all the same")
        current.claimed_by_id, current.claimed_until = member_id, now + LEASE
        current.save(update_fields=["claimed_by", "claimed_until"])
        _record(current, decider, "approval.claimed", until=current.claimed_until.isoformat())
    return current


def release(approval: Approval, decider: Decider) -> Approval:
    """Give a claim of one's own back; without one nothing is done."""
    member_id = _member(decider)
    with transaction.atomic():
        current = _pending(approval, decider)
        if current.claimed_by_id == member_id:
            current.claimed_by, current.claimed_until = None, None
            current.save(update_fields=["claimed_by", "claimed_until"])
            _record(current, decider, "approval.released")
    return current


def assign(approval: Approval, decider: Decider, member_id: UUID | None, *, note: str = "") -> Approval:
    """Hand it to a member who may decide it, or with None to nobody in particular.

    Raises ``Invalid`` for somebody who is not here or may not decide it.
    """
    with transaction.atomic():
        current = _pending(approval, decider)
        member = _assignee(current, member_id) if member_id else None
        current.assigned_to = member
        current.save(update_fields=["assigned_to"])
        _record(current, decider, "approval.assigned", to=str(member) if member else None, reason=text(note))
    return current


def snooze(approval: Approval, decider: Decider, until: datetime, *, reason: str = "") -> Approval:
    """Out of the way until then, for everybody; escalation steps that have not fired move by as much.

    Raises ``Invalid`` for a time that is past, or more than a week away.
    """
    with transaction.atomic():
        current = _pending(approval, decider)
        now = timezone.now()
        if not now < until <= now + LONGEST_SNOOZE:
            raise Invalid("until", "snooze it until a time within the next seven days")
        start = current.snoozed_until if current.snoozed_until and current.snoozed_until > now else now
        _move_steps(current, until - start)
        current.snoozed_until = until
        current.save(update_fields=["snoozed_until"])
        _record(current, decider, "approval.snoozed", until=until.isoformat(), reason=text(reason))
    return current


def unsnooze(approval: Approval, decider: Decider) -> Approval:
    """Bring it back now; its escalation steps move back by the time that is left."""
    with transaction.atomic():
        current = _pending(approval, decider)
        now = timezone.now()
        if current.snoozed_until and current.snoozed_until > now:
            _move_steps(current, now - current.snoozed_until)
            current.snoozed_until = None
            current.save(update_fields=["snoozed_until"])
            _record(current, decider, "approval.unsnoozed")
    return current


def escalate(approval: Approval, decider: Decider, targets: Sequence[str], *, reason: str) -> Approval:
    """Tell more people of it now: a role, members, Slack (as in a rule's steps), with the reason.

    Raises ``Invalid`` for targets that are none, or reach nobody here, and without a reason.
    """
    said = " ".join(text(reason).split())
    if not said or len(said) > MOST_REASON:
        raise Invalid("reason", f"say in 1 to {MOST_REASON} characters why others should look at this")
    if not targets or len(targets) > MOST_TARGETS or not all(parameters.TARGET.fullmatch(one) for one in targets):
        raise Invalid("to", f"name up to {MOST_TARGETS} of role:admin, role:reviewer, member:ID and channel:slack")
    with transaction.atomic():
        current = _pending(approval, decider)
        step = steps.take_by_hand(current, [*dict.fromkeys(targets)], by=decider.actor, reason=said)
        if not step.told:
            raise Invalid("to", "nobody here is meant by that, so nobody was told")
        announce(current)
    return current


def _member(decider: Decider) -> UUID:
    if decider.member_id is None:
        raise NotAllowed("only a member can claim this: a key looks at nothing")
    return decider.member_id


def _pending(approval: Approval, decider: Decider) -> Approval:
    """The approval, its session locked. Raises ``NotAllowed`` by role, and ``Conflict`` once it is decided."""
    if not decider.role.covers(Role.REVIEWER):
        raise NotAllowed(f"the role {decider.role} may not handle approvals; ask an admin for the role reviewer")
    lock_session_of(approval.pk)
    current = Approval.objects.select_related("session", "claimed_by__user", "assigned_to__user").get(pk=approval.pk)
    if current.status != Approval.Status.PENDING or current.takes_effect_at:
        raise Conflict(current, "this no longer waits for anybody")
    return current


def _assignee(approval: Approval, member_id: UUID) -> Member:
    member = Member.objects.select_related("user").filter(pk=member_id, workspace_id=approval.workspace_id).first()
    if member is None:
        raise Invalid("member", "there is no such member in this workspace")
    actor = audit.Actor("member", str(member.pk), str(member))
    if why := authority.why_not(approval, Decider(actor, Role(member.role), "web", member_id=member.pk)):
        raise Invalid("member", f"{member} may not decide this: {why}")
    return member


def _move_steps(approval: Approval, by: timedelta) -> None:
    steps = list(EscalationStep.objects.filter(approval=approval, fired_at=None))
    for step in steps:
        step.due_at += by
    EscalationStep.objects.bulk_update(steps, ["due_at"])


def _record(approval: Approval, decider: Decider, action: str, **details: str | None) -> None:
    audit.record(
        approval.workspace_id, decider.actor, action, subject=("approval", approval.pk),
        session=str(approval.session_id), **details,
    )  # fmt: skip
    announce(approval)
