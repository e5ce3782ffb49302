"""How members want to be told of mentions, and of approvals that they may decide, and who so is told of one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TypedDict
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, Min, OuterRef, Q
from django.utils import timezone

from sessions_app.models import Approval, Member, Notice, NoticeChoice, PushSubscription
from sessions_app.queries import deciders
from sessions_app.services import task_queue
from sessions_app.services.fair_queue import Line

RANKS = {"low": 0, "medium": 1, "high": 2, "critical": 3, "destructive": 3}
NO_LABEL = 1
"""Rank of a call without a label, or with one that nobody here knows."""
LEAST = ("", "medium", "high", "critical")
"""What a member can choose; empty: told of all."""
LOW = "low"
"""The label of calls that can come in a digest. One without a label might be anything."""
DIGESTS = (0, 15, 30, 60, 240)
"""Minutes that a member can choose for a digest; 0: none."""
AT_ONCE = 200
"""Endings of one look; what is more waits for the next."""
MARGIN = timedelta(minutes=15)
"""Left to decide what a digest tells of; what expires sooner is told at once."""


class Refused(ValueError):
    """A choice that there is not."""


class Chosen(TypedDict):
    """What a member can choose."""

    mentions: bool
    push_mentions: bool
    mail: bool
    push: bool
    least_risk: str
    digest_minutes: int


@transaction.atomic
def choose(
    member: Member, *, mail: bool, least_risk: str, push: bool = True, digest_minutes: int = 0, mentions: bool = False,
    push_mentions: bool = True,
) -> NoticeChoice:  # fmt: skip
    """Keep what a member wants. Raises ``Refused``."""
    if least_risk not in LEAST:
        raise Refused(f'"{least_risk[:20]}" is no risk; use one of {", ".join(filter(None, LEAST))}, or none')
    if digest_minutes not in DIGESTS:
        raise Refused(f"{digest_minutes} minutes cannot be chosen; use one of {', '.join(map(str, DIGESTS))}")
    chosen = {"mail": mail, "least_risk": least_risk, "push": push, "digest_minutes": digest_minutes}
    chosen |= {"mentions": mentions, "push_mentions": push_mentions}
    return NoticeChoice.objects.update_or_create(member=member, defaults=chosen)[0]


def write_notices(approval: Approval) -> None:
    """One notice for each mail and browser of members who want that and may decide it. Inside the transaction that
    asks; one query where nobody wants any.
    """
    browsers = Exists(PushSubscription.objects.filter(member=OuterRef("pk")))
    wanted = Member.objects.filter(Q(notice_choice__mail=True) | browsers, workspace_id=approval.workspace_id)
    rows = wanted.select_related("user", "notice_choice").prefetch_related("push_subscriptions")
    chosen = [(member, choice_of(member)) for member in rows]
    told = [(member, choice) for member, choice in chosen if _is_told(member, choice, approval)]
    digests = _digests(approval, [choice for _, choice in told])
    notices: list[Notice] = []
    for member, choice in told:
        if choice.mail:
            at = digests.get(member.pk)
            notices.append(_notice(approval, member, Notice.Channel.MAIL, at=at, digest=bool(at)))
        notices += push_notices(approval, member, choice)
    Notice.objects.bulk_create(notices, ignore_conflicts=True)
    for notice in notices:
        if not notice.digest:
            task_queue.enqueue(task_queue.SEND_NOTICE, notice.pk, Line(approval.workspace_id))


def write_ending(approval: Approval) -> None:
    """Have the browsers that ask show how it ended instead. Inside the transaction that ends it."""
    shows = Notice.objects.filter(approval=approval, shown=Approval.Status.PENDING)
    rows = list(shows.values_list("pk", "member_id"))
    decided_by = str((approval.decision or {}).get("by_id") or "")
    told = [pk for pk, member in rows if str(member) != decided_by]
    # Who decided it knows.
    Notice.objects.filter(pk__in={pk for pk, _ in rows} - set(told)).update(shown=approval.status)
    Notice.objects.filter(pk__in=told).update(next_try_at=timezone.now(), tries=0)
    for pk in sorted(told):  # in the order of every sweep
        task_queue.enqueue(task_queue.SEND_NOTICE, pk, Line(approval.workspace_id))


@transaction.atomic
def write_late_endings() -> int:
    """The same for what was decided while the push that asks was on its way; how many. Called by the sweep."""
    late = Approval.objects.filter(
        Exists(Notice.objects.filter(approval=OuterRef("pk"), shown=Approval.Status.PENDING, next_try_at=None))
    ).exclude(status=Approval.Status.PENDING)  # fmt: skip
    found = list(late.only("id", "status", "decision")[:AT_ONCE])
    for approval in found:
        write_ending(approval)
    return len(found)


def push_notices(approval: Approval, member: Member, choice: NoticeChoice, step: int = 0) -> list[Notice]:
    """A notice for each browser of a member, unless they chose to have none."""
    if not choice.push:
        return []
    return [
        _notice(approval, member, Notice.Channel.PUSH, subscription=browser, step=step)
        for browser in member.push_subscriptions.all()
    ]


def choice_of(member: Member) -> NoticeChoice:
    """What a member chose; without a row nothing but what browsers were subscribed for."""
    return getattr(member, "notice_choice", None) or NoticeChoice(member=member)


def _notice(
    approval: Approval, member: Member, channel: Notice.Channel, *, at: datetime | None = None, digest: bool = False,
    subscription: PushSubscription | None = None, step: int = 0,
) -> Notice:  # fmt: skip
    return Notice(
        approval=approval, member=member, channel=channel, next_try_at=at or timezone.now(), digest=digest,
        subscription=subscription, step=step,
    )  # fmt: skip


def _digests(approval: Approval, choices: Iterable[NoticeChoice]) -> dict[UUID, datetime]:
    """When the digest of each member who wants one goes out: so long after the first mail that waits for it.

    None for what is not of low risk, and for what would be denied by itself before.
    """
    wanted = {choice.member_id: choice.digest_minutes for choice in choices if choice.mail and choice.digest_minutes}
    if approval.risk != LOW or not wanted:
        return {}
    now = timezone.now()
    waiting = Notice.objects.filter(member__in=wanted, channel=Notice.Channel.MAIL, digest=True, next_try_at__gt=now)
    first = dict(waiting.values_list("member").annotate(Min("next_try_at")))
    latest = {id_: now + timedelta(minutes=minutes) for id_, minutes in wanted.items()}
    found = {id_: min(first.get(id_) or at, at) for id_, at in latest.items()}
    return {id_: at for id_, at in found.items() if not approval.expires_at or approval.expires_at > at + MARGIN}


def _is_told(member: Member, choice: NoticeChoice, approval: Approval) -> bool:
    """Whether the choice covers it and the rules name the member; the authority is asked before it is sent."""
    if member.role not in deciders.ROLES or member.user_id == approval.asked_by_user_id:
        return False
    risk = RANKS.get(approval.risk, NO_LABEL)
    candidate = deciders.Candidate(member.role, member)  # type: ignore[arg-type]
    return risk >= RANKS.get(choice.least_risk, 0) and deciders.fits(candidate, approval.terms)
