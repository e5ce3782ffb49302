"""Answers that no person gives: rules or a grant settle the question as it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Prefetch, prefetch_related_objects
from django.utils import timezone

from sessions_app.drafts import EventDraft
from sessions_app.models import Approval, Vote
from sessions_app.policy.evaluation import DENIED

from .. import audit
from ..log import events, heads, links
from ..notices import announcing
from ..policies.gate import Judgement
from ..turns.resume import resume
from . import record

ACTIONS = {"allow": "approval.allowed", "deny": "approval.denied"}
STATUSES = {"allow": Approval.Status.AUTO_ALLOWED, "deny": Approval.Status.AUTO_DENIED}


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asked, and the question as an event of its session and as an entry of the audit log."""

    by: audit.Actor
    event: EventDraft
    said: audit.Said


def note_judgement(approval: Approval, judgement: Judgement) -> None:
    """Put what was judged on an approval that is not saved yet: rule, terms, version, risk, how long it waits.

    What the asker had said itself, where the rules say otherwise, is kept in ``terms.asked``: the same question again
    must be known as the same. Rules that could not be evaluated are in ``terms.faults``, why others ask in
    ``terms.reasons``.
    """
    asked: dict[str, Any] = {}
    if judgement.risk and judgement.risk != approval.risk:
        asked["risk"], approval.risk = approval.risk, judgement.risk
    if judgement.effect == "ask" and (seconds := judgement.terms.get("expires_in")):
        latest = approval.requested_at + timedelta(seconds=seconds)
        if approval.expires_at is None or approval.expires_at > latest:
            asked["expires_in"] = seconds_to_expiry(approval)
            approval.expires_at = latest
    approval.rule = judgement.rule or None
    kept = {"asked": asked, "faults": list(judgement.faults), "reasons": list(judgement.reasons)}
    approval.terms = judgement.terms | {name: value for name, value in kept.items() if value}
    approval.votes_needed = judgement.terms.get("approvals", 1)
    approval.policy_version_id = judgement.policy_version_id
    approval.shadow = judgement.shadow
    approval.grant = judgement.grant


def seconds_to_expiry(approval: Approval) -> float | None:
    """How long after it was asked an approval expires."""
    return (approval.expires_at - approval.requested_at).total_seconds() if approval.expires_at else None


def settle(
    approval: Approval, judgement: Judgement, head: heads.Head, asked: Asked, is_told: Callable[[Approval], bool]
) -> None:  # fmt: skip
    """Save an approval, which nobody has seen before, as what the rules or a grant made of it.

    The question and its answer are appended, recorded and told together. Where ``is_told``, who asked reads the answer
    of this very request: it is delivered in the same transaction, and no stop begins before that ends.
    """
    by = judgement.by
    assert by is not None
    now = timezone.now()
    reason = judgement.reason or ("" if judgement.effect == "allow" else DENIED)
    approval.status = STATUSES[judgement.effect]
    approval.decided_at = now
    approval.decides_by = by.kind
    approval.decision = {
        "verdict": approval.status, "by": by.name, "by_kind": by.kind, "by_id": by.id, "at": now.isoformat(),
        "reason": reason, "answer": "", "arguments": None,
    }  # fmt: skip
    if judgement.effect == "allow":
        approval.executable_digest = approval.decision["digest"] = approval.digest_of_call(approval.arguments)
    approval.delivery, approval.deliver_at = "queued", now
    if told := is_told(approval):
        approval.delivery, approval.delivered_at = "delivered", now
    ending = (links.desk_for(by), record.ending_event(approval, by))
    approval.event_seq = events.append_each(head, [(links.desk_for(asked.by), asked.event), ending]).first_seq
    approval.save(force_insert=True)
    prefetch_related_objects([approval], Prefetch("votes", Vote.objects.none()))  # a new one has none
    entry = record.said_of_ending(approval, by, ACTIONS[judgement.effect], reason, votes=(), rule=judgement.rule)
    audit.record_each(approval.workspace_id, [asked.said, entry])
    record.tell_readers(approval)
    announcing.settled(approval, told=told)
    resume(approval.session_id)
