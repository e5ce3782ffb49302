"""Approvals of a workspace: those that wait for a person, by urgency, and the last decisions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, F, Prefetch, Q, QuerySet, prefetch_related_objects
from django.db.models.functions import Coalesce
from django.utils import timezone

from sessions_app.compiled import Compiled
from sessions_app.models import Approval, EscalationStep, Member, Session, Turn
from sessions_app.models.gate import urgency as order

from . import deciders, votes

RECENT = 20
COUNTED = 99
"""Approvals that every page counts for its bar; it says "99+" of more, and the inbox how many they are."""
HIGH = ("high", "critical", "destructive")
"""Risk labels of calls that come first and are approved in two steps."""
EXPIRING = timedelta(minutes=10)
STEPS_TAKEN = Prefetch(
    "escalation_steps", EscalationStep.objects.exclude(fired_at=None).order_by("position"), to_attr="steps_taken"
)
SESSION = (Prefetch("session", Session.objects.defer("source_record")), "session__agent")
AROUND = (*SESSION, "initiated_by", "claimed_by__user", "assigned_to__user")
"""What a line shows beside the approval, each looked up by itself: to plan one statement of seven tables with all of
their columns took PostgreSQL a third of what the inbox cost it, and most approvals name no person."""
SHOWN = ("all", "high", "expiring", "mine", "snoozed")
"""What the chips of the inbox choose from; ``all`` leaves out what is snoozed."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many wait, by what a chip shows."""

    all: int
    high: int
    expiring: int
    mine: int
    snoozed: int


def urgency() -> tuple[Case, Coalesce]:
    """Rank of the risk, and when it expires."""
    return order.rank(), order.expires()


def undecided() -> Q:
    """Approvals that wait for a person: not those whose decision can still be taken back (``takes_effect_at``)."""
    return Q(status=Approval.Status.PENDING, deliver_at=None)


def waiting(workspace_id: UUID) -> QuerySet[Approval]:
    """Pending approvals, the most urgent first: by risk, then by what expires first, then by age."""
    return _by_urgency(Approval.objects.filter(undecided(), workspace_id=workspace_id))


def _by_urgency(found: QuerySet[Approval]) -> QuerySet[Approval]:
    """Approvals in the order of ``waiting``, with what a line shows of them."""
    rank, expires = urgency()
    in_order = found.alias(rank=rank, expires=expires).order_by("rank", "expires", "requested_at", "id")
    return in_order.prefetch_related(*AROUND)


def inbox(member: Member, show: str, most: int, after: Approval | None = None) -> list[Approval]:
    """The first ``most`` of what a chip of the inbox shows (one of ``SHOWN``), behind ``after`` by urgency."""
    chosen = Approval.objects.filter(undecided(), _chosen(member)[show], workspace_id=member.workspace_id)
    in_order = _by_urgency(chosen)
    return list((in_order.filter(_behind(after)) if after else in_order)[:most])


def counts(member: Member) -> Counts:
    """The numbers on the chips, in one query."""
    chosen = _chosen(member)
    waits = Approval.objects.filter(undecided(), workspace_id=member.workspace_id)
    return Counts(**waits.aggregate(**{show: Count("pk", filter=chosen[show]) for show in SHOWN}))


def _chosen(member: Member) -> dict[str, Q]:
    now = timezone.now()
    snoozed = Q(snoozed_until__gt=now)
    awake = Q(snoozed_until=None) | Q(snoozed_until__lte=now)
    named = Q(terms__eligible__members__contains=str(member.pk)) | Q(
        terms__eligible__members__contains=member.user.email
    )
    mine = Q(assigned_to=member) | Q(claimed_by=member, claimed_until__gt=now) | named
    return {
        "all": awake,
        "high": awake & Q(risk__in=HIGH),
        "expiring": awake & Q(expires_at__lte=now + EXPIRING),
        "mine": awake & mine,
        "snoozed": snoozed,
    }


def _behind(last: Approval) -> Q:
    """Rows that come after one in the order of ``waiting``, so that rows that come or go do not move the others."""
    place: list[tuple[str, Any]] = [
        ("rank", rank_of(last.risk)),
        ("expires", last.expires_at or order.NEVER),
        ("requested_at", last.requested_at),
        ("id", last.pk),
    ]
    parts = []
    for number, (name, value) in enumerate(place):
        same = dict(place[:number])
        parts.append(Q(**same, **{f"{name}__gt": value}))
    return reduce(or_, parts)


def rank_of(risk: str) -> int:
    """The rank that ``urgency`` gives a risk label."""
    return next((rank for rank, labels in order.RANKS if risk in labels), order.OTHER_RANK)


def urgency_key(approval: Approval) -> str:
    """A text that sorts as ``waiting`` does: a page puts a new row where the server would."""
    expires = approval.expires_at or order.NEVER
    return f"{rank_of(approval.risk)} {expires.isoformat()} {approval.requested_at.isoformat()} {approval.pk}"


def standing(approval: Approval) -> str:
    """How it stands in a list: its status, ``deciding`` while a decision can be taken back, or ``snoozed``."""
    if approval.takes_effect_at:
        return "deciding"
    snoozed = approval.snoozed_until is not None and approval.snoozed_until > timezone.now()
    return "snoozed" if snoozed and approval.status == Approval.Status.PENDING else approval.status


def of_ids(workspace_id: UUID, ids: Iterable[UUID]) -> list[Approval]:
    """Approvals of the workspace by their ids, however they stand; unknown ids are left out."""
    found = Approval.objects.filter(workspace_id=workspace_id, pk__in=list(ids))
    return list(found.prefetch_related(*AROUND, votes.PREFETCH))


def with_turns(approvals: Iterable[Approval]) -> list[Approval]:
    """The same approvals as a card shows them: with their votes and the steps that told more people (``steps_taken``).

    ``turn`` is the one they were asked in (None where they are in none), ``undecidable`` why nobody can approve it.
    """
    found = list(approvals)
    prefetch_related_objects(found, votes.PREFETCH)
    note_people(found)
    asked = [
        Q(session_id=a.session_id, first_seq__lte=a.event_seq, last_seq__gte=a.event_seq) for a in found if a.event_seq
    ]
    turns = list(Turn.objects.filter(reduce(or_, asked))) if asked else []
    for one in found:
        mine = (
            turn
            for turn in turns
            if turn.session_id == one.session_id and turn.first_seq <= (one.event_seq or 0) <= turn.last_seq
        )
        one.turn = next(mine, None)
    return found


def note_people(found: list[Approval]) -> None:
    """Note who was told of them (``steps_taken``), who voted, and why nobody could approve one (``undecidable``).

    Two queries, and two more where rules say who decides one of them, however many there are.
    """
    prefetch_related_objects(found, STEPS_TAKEN)
    prefetch_related_objects([one for one in found if one.version > 1], votes.PREFETCH)  # the first vote makes it 2
    people: list[deciders.Candidate] | None = None
    for one in found:
        one.undecidable = ""
        if one.status == Approval.Status.PENDING and deciders.is_narrow(one):
            people = deciders.candidates(one.workspace_id) if people is None else people
            one.undecidable = deciders.why_stuck(one, people)


def waiting_count(workspace_id: UUID) -> int:
    """Pending approvals that are not snoozed."""
    return _awake(workspace_id, timezone.now()).count()


def waiting_shown(workspace_id: UUID) -> int:
    """The same up to ``COUNTED``; of more one more than it, and the rest is not read."""
    return len(_SHOWN(workspace_id, timezone.now()))


def _awake(workspace_id: UUID, now: datetime) -> QuerySet[Approval]:
    found = Approval.objects.filter(undecided(), workspace_id=workspace_id)
    return found.filter(Q(snoozed_until=None) | Q(snoozed_until__lte=now))


_SHOWN = Compiled[UUID](lambda workspace_id, now: _awake(workspace_id, now).values_list("pk", flat=True)[: COUNTED + 1])


def decided(workspace_id: UUID) -> QuerySet[Approval]:
    """The last decisions (expiry and withdrawal are some, too), the newest first."""
    here = Approval.objects.filter(workspace_id=workspace_id, recorded=False).exclude(status=Approval.Status.PENDING)
    return here.prefetch_related(*SESSION).order_by(F("decided_at").desc(), "-id")
