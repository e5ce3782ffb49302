"""Notices on their way: claimed by one worker, sent, tried again for some hours, then given up.

A notice is claimed by moving ``next_try_at`` ahead, so that a worker that dies leaves it to the sweep.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from sessions_app.models import Approval, Notice, Role

from .. import audit, task_queue
from ..approvals import authority
from ..fair_queue import Line

WAITS = (30, 120, 600, 1_800, 3_600, 7_200)
"""Seconds after each failed try."""
CLAIM = timedelta(minutes=3)
"""Longer than a mail server takes that answers slowly at each step (``EMAIL_TIMEOUT``)."""
SWEPT = 200
TOGETHER = 500
"""Notices that one message tells of at most; what is more is another message."""


@transaction.atomic
def claim(which: Q) -> list[Notice]:
    """Notices whose time has come and that no other worker has claimed, with what their messages are made of."""
    now = timezone.now()
    # Rows of one table alone: with a join PostgreSQL would not look again at a row that it waited for.
    due = Notice.objects.select_for_update(skip_locked=True).filter(which, next_try_at__lte=now).order_by("id")
    mine = list(due.values_list("pk", flat=True)[:TOGETHER])
    Notice.objects.filter(pk__in=mine).update(next_try_at=now + CLAIM, tries=F("tries") + 1)
    rows = Notice.objects.select_related(
        "member__user", "member__workspace", "subscription", "approval__session__agent"
    )
    return list(rows.filter(pk__in=mine).order_by("id"))


def end(notices: Iterable[Notice], error: str) -> None:
    """Nobody is told by them any more."""
    _update(notices, next_try_at=None, error=error)


def note_sent(notices: Iterable[Notice], **more: str) -> None:
    """They were told."""
    _update(notices, next_try_at=None, sent_at=timezone.now(), error="", **more)


def put_off(notices: Collection[Notice], why: str, seconds: float | None = None) -> datetime | None:
    """Try again after ``WAITS``, or ``seconds``, all at once; until when. None: each of them is given up."""
    spent = [notice for notice in notices if notice.tries > len(WAITS)]
    end(spent, f"{why} — given up")
    rest = [notice for notice in notices if notice not in spent]
    if not rest:
        return None
    later = timezone.now() + timedelta(seconds=max(WAITS[max(one.tries for one in rest) - 1], seconds or 0))
    _update(rest, next_try_at=later, error=why)
    return later


def hold(which: Q, until: datetime) -> None:
    """Leave notices that are due until later: it is not their try."""
    Notice.objects.filter(which, next_try_at__lt=until).update(next_try_at=until)


def sweep() -> int:
    """Enqueue notices whose time has come and whose task was lost or failed; how many."""
    due = Notice.objects.filter(next_try_at__lte=timezone.now()).order_by("next_try_at")
    found = list(due.values_list("pk", "next_try_at", "approval__workspace_id")[:SWEPT])
    lost = {pk: at for pk, at, _ in found if at}
    return task_queue.requeue(task_queue.SEND_NOTICE, lost, {pk: Line(workspace) for pk, _, workspace in found})


def why_not(notice: Notice) -> str:
    """Why nobody is to be told by it any more; empty where somebody is."""
    approval, member = notice.approval, notice.member
    if approval.status != Approval.Status.PENDING:
        return f"it was decided before the {notice.channel} was sent"
    if not member.user.is_active:
        return "the account of the member was switched off"
    actor = audit.Actor("member", str(member.pk), str(member))
    decider = authority.Decider(actor, Role(member.role), notice.channel, member_id=member.pk)
    # An escalation step names whom it wants told, whether or not they may decide.
    return "" if notice.step else authority.why_not(approval, decider)


def channel_of(notice_id: UUID) -> str:
    """How a notice is sent; empty for one that was erased with its session, or whose member or browser has left."""
    return Notice.objects.values_list("channel", flat=True).filter(pk=notice_id).first() or ""


def _update(notices: Iterable[Notice], **values: object) -> None:
    Notice.objects.filter(pk__in=[notice.pk for notice in notices]).update(**values)
