"""A vote is taken back: until the decision that it made takes effect, or while others have still to vote."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from sessions_app.models import Approval, Role, Vote
from sessions_app.queries import votes

from ..log.sanitise import text
from . import effects
from .authority import Decider, NotAllowed
from .decisions import Conflict
from .record import lock_session_of


def withdraw(approval: Approval, decider: Decider, *, reason: str = "") -> Approval:
    """Take back the vote of this person; the approval is pending again. Raises ``NotAllowed`` and ``Conflict``."""
    if not decider.role.covers(Role.REVIEWER):
        raise NotAllowed(f"the role {decider.role} may not decide approvals; ask an admin for the role reviewer")
    effects.settle(approval.pk)
    with transaction.atomic():
        lock_session_of(approval.pk)
        current = Approval.objects.select_related("session").get(pk=approval.pk)
        me = votes.person_of(*votes.rows_of(decider.member_id, decider.api_key_id), decider.actor.name)
        mine = votes.vote_of(votes.tally(current), me)
        if current.status != Approval.Status.PENDING:
            status = current.get_status_display().lower()
            raise Conflict(current, f"it is too late to take it back: the decision took effect, it is {status}")
        if mine is None:
            raise NotAllowed("only who voted can take the vote back, and no vote of yours counts here")
        current.version, current.deliver_at = current.version + 1, None
        taken_back = Vote.objects.create(
            approval=current, version=current.version, member_id=decider.member_id, api_key_id=decider.api_key_id,
            by=decider.actor.name, role=decider.role, verdict="withdraw", digest=mine.digest, reason=text(reason),
            channel=decider.channel, at=timezone.now(),
        )  # fmt: skip
        effects.note_vote(current, taken_back, decider.actor)
    return current
