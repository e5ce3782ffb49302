"""How members want to be told of approvals that they may decide, and who so is told of one."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from sessions_app.models import Approval, Member, Notice, NoticeChoice
from sessions_app.queries import deciders
from sessions_app.services import task_queue

RANKS = {"low": 0, "medium": 1, "high": 2, "critical": 3, "destructive": 3}
NO_LABEL = 1
"""Rank of a call without a label, or with one that nobody here knows."""
LEAST = ("", "medium", "high", "critical")
"""What a member can choose; empty: told of all."""


class Refused(ValueError):
    """A choice that there is not."""


@transaction.atomic
def choose(member: Member, *, mail: bool, least_risk: str) -> NoticeChoice:
    """Keep what a member wants. Raises ``Refused``."""
    if least_risk not in LEAST:
        raise Refused(f'"{least_risk[:20]}" is no risk; use one of {", ".join(filter(None, LEAST))}, or none')
    chosen = {"mail": mail, "least_risk": least_risk}
    return NoticeChoice.objects.update_or_create(member=member, defaults=chosen)[0]


def write_notices(approval: Approval) -> None:
    """One notice for each member who wants mail and may decide it. Inside the transaction that asks."""
    wanted = NoticeChoice.objects.filter(member__workspace_id=approval.workspace_id, mail=True)
    told = [choice.member for choice in wanted.select_related("member__user") if _is_told(choice, approval)]
    if not told:
        return
    rows = [
        Notice(approval=approval, member=member, channel=Notice.Channel.MAIL, next_try_at=timezone.now())
        for member in told
    ]  # fmt: skip
    Notice.objects.bulk_create(rows, ignore_conflicts=True)
    for row in rows:
        task_queue.enqueue(task_queue.SEND_NOTICE, row.pk)


def _is_told(choice: NoticeChoice, approval: Approval) -> bool:
    """Whether the choice covers it and the rules name the member; ``mail`` asks the authority before it sends."""
    member = choice.member
    if member.role not in deciders.ROLES or member.user_id == approval.asked_by_user_id:
        return False
    risk = RANKS.get(approval.risk, NO_LABEL)
    candidate = deciders.Candidate(member.role, member)  # type: ignore[arg-type]
    return risk >= RANKS.get(choice.least_risk, 0) and deciders.fits(candidate, approval.terms)
