"""Delivery of decisions to whoever asked: a fact of its own beside the decision and the execution.

``queued -> sending -> delivered | uncertain -> (what the runtime's log says) -> delivered | queued``; ``stale`` where
the runtime waits no more, ``elsewhere`` where it had another answer, ``failed`` where a turn was given up, ``nobody``
where nobody asks any more. Who comes back after all is given the answer all the same.
"""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from sessions_app.models import Approval, Session, TurnInFlight

from .. import notify
from ..notices import announcing

OWED = ("queued", "sending", "uncertain", "failed", "nobody")
"""States in which the asker has not been given the answer."""
LEAST_AGE = timedelta(minutes=1)
"""Of a decision before it is looked at: somebody may be on the way with it."""
ASKED_NO_MORE = timedelta(hours=24)
"""A program that has not asked for so long does not wait any more."""
AT_ONCE = 500


@transaction.atomic(savepoint=False)
def mark_delivered(approval: Approval, *, elsewhere: bool = False) -> bool:
    """The asker has been given the answer; or, ``elsewhere``, another one than was decided here.

    False where that was noted before, or the approval is not what it was (it may have become void): read it again.
    """
    at = timezone.now()
    if not _move(approval, OWED, "elsewhere" if elsewhere else "delivered", delivered_at=at):
        return False
    approval.delivered_at = at
    if not elsewhere:
        announcing.of_approval(approval, "approval.delivered")
    return True


def begin_sending(approval: Approval) -> None:
    """About to send it: who is killed now leaves "sending" behind, and the next one asks the runtime first."""
    _move(approval, OWED, "sending", delivery_tries=F("delivery_tries") + 1, delivery_error="")


def note_uncertain(approval: Approval, error: str) -> None:
    """It was sent, and no answer came: it may have arrived."""
    _move(approval, ("sending",), "uncertain", delivery_error=error[:500])


def queue_again(approval: Approval) -> None:
    """The runtime's log shows that it did not arrive."""
    _move(approval, ("sending", "uncertain"), "queued")


def mark_stale(approval: Approval, error: str) -> None:
    """The runtime does not wait for it any more, and has no answer either."""
    _move(approval, OWED, "stale", delivery_error=error[:500])


def _move(approval: Approval, before: tuple[str, ...], state: str, **columns: object) -> bool:
    row = Approval.objects.filter(pk=approval.pk, status=approval.status, delivery__in=before)
    if not row.update(delivery=state, **columns):
        return False
    approval.delivery = state
    notify.approval_changed(approval.pk, approval.session_id, approval.workspace_id)
    return True


def sweep() -> int:
    """Say of decisions that nobody will fetch that it is so; of how many. Called once a minute."""
    now = timezone.now()
    owed = Approval.objects.filter(
        delivery__in=("queued", "sending", "uncertain"), recorded=False, deliver_at__lt=now - LEAST_AGE
    ).exclude(status=Approval.Status.PENDING)  # fmt: skip
    by_program = Q(asked_by_key__isnull=False) | Q(asked_by_user__isnull=False)
    key_ended = Q(asked_by_key__revoked_at__isnull=False) | Q(asked_by_key__expires_at__lte=now)
    closed = Q(session__status=Session.Status.ARCHIVED)
    asked_no_more = by_program & (key_ended | closed | Q(deliver_at__lt=now - ASKED_NO_MORE))
    in_flight = Exists(TurnInFlight.objects.filter(session_id=OuterRef("session_id")))
    turn_over = Q(asked_by_key=None, asked_by_user=None) & ~in_flight
    moved = 0
    for approval in owed.filter(asked_no_more | turn_over).order_by("deliver_at")[:AT_ONCE]:
        tried = approval.delivery_tries and approval.asked_by_key_id is None
        with transaction.atomic():
            moved += _move(approval, (approval.delivery,), "failed" if tried else "nobody")
    return moved
