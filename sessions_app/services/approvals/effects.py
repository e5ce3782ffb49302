"""What votes bring about: nothing yet, a decision that can be taken back for some seconds, or the end of an approval.

Until a decision takes effect its approval is pending for everybody who could act on it: agents, runtimes, streams. It
takes effect at ``deliver_at``: by a timer of the process that decided (``due_timer``), else, where that was killed, by
the next look of the scheduler.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from sessions_app.models import Approval, Member, PasswordOrigin, Role, Vote
from sessions_app.policy import faults
from sessions_app.queries import votes
from sessions_app.queries.votes import Tally

from .. import audit
from ..notices import announcing
from ..policies import grants
from ..policies.wishes import Wish
from . import due_timer
from .authority import Decider, NotAllowed
from .endings import deny_where_stopped
from .record import announce, lock_session_of, record_ending

DEFAULT_DENIAL = "A reviewer denied this call. Do not repeat it; ask or choose another way."
STATUSES = {"deny": Approval.Status.DENIED, "answer": Approval.Status.ANSWERED}


def take_vote(approval: Approval, vote: Vote, by: audit.Actor) -> None:
    """Write down a vote that is in its table, and what it brings about. The caller has locked the session."""
    counted = votes.tally(approval)
    if not counted.ends(approval.votes_needed):
        note_vote(approval, vote, by)
    elif seconds := seconds_to_take_back(vote.channel):
        approval.deliver_at = vote.at + timedelta(seconds=seconds)
        note_vote(approval, vote, by)
        due_timer.call_in(seconds, settle, approval.pk)
    else:
        _end(approval, vote, counted, by)


def seconds_to_take_back(channel: str) -> int:
    """How long a decision can be taken back: one of a person, not of a program."""
    return 0 if channel == "api" else settings.UNDO_SECONDS


def note_vote(approval: Approval, vote: Vote, by: audit.Actor) -> None:
    """Write down a vote, or that one was taken back, that ends nothing yet."""
    _save(approval)
    counted = votes.tally(approval)
    action = "approval.withdrawn" if vote.verdict == "withdraw" else "approval.voted"
    takes_effect = {"takes_effect_at": approval.deliver_at.isoformat()} if approval.deliver_at else {}
    audit.record(
        approval.workspace_id, by, action, subject=("approval", approval.pk), session=str(approval.session_id),
        verdict=vote.verdict, digest=vote.digest, reason=vote.reason, votes=len(counted.approvals),
        votes_needed=approval.votes_needed, **takes_effect,
    )  # fmt: skip
    announce(approval)
    announcing.voted(approval, vote)


def is_due(approval: Approval, now: datetime) -> bool:
    """Whether a decision takes effect now; also one further in the future than it can be: the clock was set back."""
    at = approval.takes_effect_at
    return at is not None and (at <= now or at > now + timedelta(seconds=settings.UNDO_SECONDS + 1))


def settle(approval_id: UUID) -> bool:
    """Have a decision take effect whose time it is. False where there is none, or not yet."""
    approval = Approval.objects.filter(pk=approval_id).first()
    if approval is None or not is_due(approval, timezone.now()):
        return False
    with transaction.atomic():
        return _settle(approval_id)


def _settle(approval_id: UUID) -> bool:
    lock_session_of(approval_id)
    approval = Approval.objects.select_related("session").get(pk=approval_id)
    if not is_due(approval, timezone.now()):
        return False
    deny_where_stopped(approval)
    approval = Approval.objects.select_related("session").get(pk=approval_id)
    counted = votes.tally(approval)
    if approval.status != Approval.Status.PENDING or counted.last is None:
        return False
    approval.version += 1
    _end(approval, counted.last, counted, _actor_of(counted.last))
    return True


def settle_due() -> int:
    """Have every decision take effect whose time it is and whose process did not: how many."""
    now = timezone.now()
    due = Q(deliver_at__lte=now) | Q(deliver_at__gt=now + timedelta(seconds=settings.UNDO_SECONDS + 1))
    waiting = Approval.objects.filter(due, status=Approval.Status.PENDING)
    return sum(settle(pk) for pk in list(waiting.values_list("pk", flat=True)))


def _actor_of(vote: Vote) -> audit.Actor:
    kind, id_ = ("api_key", vote.api_key_id) if vote.channel == "api" else ("member", vote.member_id)
    return audit.Actor(kind, str(id_ or ""), vote.by)


def _end(approval: Approval, vote: Vote, counted: Tally, by: audit.Actor) -> None:
    """The end that a vote brought about."""
    edited = counted.arguments if vote.verdict == "approve" else None
    reason = vote.reason or (DEFAULT_DENIAL if vote.verdict == "deny" else "")
    kept: dict[str, Any] = {
        "verdict": vote.verdict, "by": vote.by, "by_kind": by.kind, "by_id": by.id, "by_role": vote.role,
        "at": vote.at.isoformat(), "reason": reason, "answer": vote.answer, "arguments": edited,
        "channel": vote.channel,
    }  # fmt: skip
    approval.status = STATUSES.get(vote.verdict, Approval.Status.APPROVED)
    if vote.verdict == "approve":
        if not approval.planted:
            approval.executable_digest = approval.digest_of_call(approval.arguments if edited is None else edited)
            kept["digest"] = approval.executable_digest
        if edited is not None:
            approval.status = Approval.Status.APPROVED_EDITED
    if approval.votes_needed > 1:
        kept["approved_by"] = [one.by for one in counted.approvals]
    kept |= _granted(approval, vote, by)
    link_of = _link_maker(vote)
    if link_of:
        kept["signed_in_by_link_of"] = link_of
    approval.decision, approval.decided_at, approval.delivery = kept, vote.at, "queued"
    approval.deliver_at = timezone.now()
    _save(approval)
    link = {"signed_in_by_link_of": link_of} if link_of else {}
    record_ending(approval, by, "approval.decided", reason=reason, **link)


def _granted(approval: Approval, vote: Vote, by: audit.Actor) -> dict[str, str]:
    """Make the grant that was wished for with the decision: its id, or why there is none, for the decision.

    It is made now and not when it was voted, so that a decision that is taken back has allowed nothing.
    """
    if vote.grant_wish is None:
        return {}
    member = Member.objects.filter(pk=vote.member_id).first() if vote.member_id else None
    role = Role(member.role if member else vote.role)
    decider = Decider(by, role, vote.channel, vote.member_id, vote.api_key_id)
    try:
        if approval.planted:
            raise grants.NotOffered("it was a test call")
        if member is None and vote.api_key_id is None:
            raise grants.NotOffered(f"{vote.by} is not here any more")
        if approval.session.agent.version != vote.grant_wish["agent_version"]:
            raise grants.NotOffered("the agent has another version by now")
        made = grants.make_from(approval, Wish.from_json(vote.grant_wish["wish"]), decider=decider)
    except (grants.NotOffered, NotAllowed, faults.Invalid) as refused:
        return {"no_grant": str(refused)}
    return {"grant": str(made.pk)}


def _save(approval: Approval) -> None:
    """Save what a vote changed. The session is locked, so nobody moved the row; where they did, nothing is kept."""
    names = ("status", "version", "decision", "decided_at", "delivery", "deliver_at", "executable_digest")
    waiting = Approval.objects.filter(pk=approval.pk, status=Approval.Status.PENDING, version=approval.version - 1)
    if waiting.update(**{name: getattr(approval, name) for name in names}) != 1:
        raise RuntimeError(f"approval {approval.pk} was changed by somebody who did not lock its session")


def _link_maker(vote: Vote) -> str:
    """Name of the admin by whose link the member is signed in, and who so may be the one that decides; else empty.

    Slack has its own word for who clicked.
    """
    if vote.member_id is None or vote.channel == "slack":
        return ""
    origin = PasswordOrigin.objects.filter(user__memberships=vote.member_id)
    return origin.values_list("made_by", flat=True).first() or ""
