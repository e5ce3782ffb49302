"""Questions that are withdrawn: by who asked them, or, where an agent asks people something, by who would answer."""

from __future__ import annotations

from django.db import transaction

from sessions_app.models import Approval

from ..log.sanitise import text
from . import authority, endings
from .authority import Decider, NotAllowed
from .decisions import Conflict
from .record import lock_session_of


def cancel(approval: Approval, decider: Decider, *, reason: str = "") -> Approval:
    """Withdraw a question, at once; the approval, which is cancelled. The same person again changes nothing.

    Who asked may, as long as they were not told a decision. Anybody else who may decide it cancels a question to people
    (``escalate_to_human``), of which the agent is given an error; a call they deny.

    Raises ``NotAllowed`` and ``Conflict``.
    """
    is_asker = authority.is_asker(approval, decider.actor)
    if not is_asker and (refused := _why_not(approval, decider)):
        raise NotAllowed(refused)
    endings.expire_due(approval_id=approval.pk)
    with transaction.atomic():
        lock_session_of(approval.pk)
        current = Approval.objects.select_related("session").get(pk=approval.pk)
        if _is_cancelled_by(current, decider):
            return current
        decides_by = Approval.DecidesBy.SYSTEM if is_asker else Approval.DecidesBy.PERSON
        late = not is_asker and (current.status != Approval.Status.PENDING or current.takes_effect_at)
        if late or not endings.cancel(current, text(reason).strip(), by=decider.actor, decides_by=decides_by):
            raise Conflict(current, _too_late(current))
    return current


def _why_not(approval: Approval, decider: Decider) -> str:
    if not approval.is_escalation:
        return "only who asked for this call can withdraw it; deny it instead"
    return authority.why_not(approval, decider)


def _is_cancelled_by(approval: Approval, decider: Decider) -> bool:
    made = approval.decision or {}
    by = (made.get("by_kind"), made.get("by_id"))
    return approval.status == Approval.Status.CANCELLED and by == (decider.actor.kind, decider.actor.id)


def _too_late(approval: Approval) -> str:
    if approval.takes_effect_at:
        return "it is too late to withdraw it: somebody has decided it"
    return f"it is too late to withdraw it: it is {approval.get_status_display().replace('_', ' ').lower()}"
