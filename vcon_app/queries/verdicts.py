"""What reviewers said of a session here: decisions with votes and reasons, verdicts on the session, comments, notes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Q

from sessions_app.models import Approval, Comment, Event, Session, Verdict, Vote


def verdicts_of(session: Session) -> dict[str, list[dict[str, Any]]]:
    """``approvals`` decided here, not those a file tells of, ``verdicts`` in force, ``comments`` that were not deleted,
    and ``notes`` of people; ``seq`` is what each is about, of a verdict the last event that it was given on.

    JSON, in the order in which it was asked and said. It names people: it leaves only when that is asked for.
    """
    decided = Approval.objects.filter(session=session, recorded=False).exclude(status=Approval.Status.PENDING)
    notes = Event.objects.filter(session=session, kind="note", actor_kind="person", document__isnull=True)
    current = Q(session=session, is_current=True)
    comments = Comment.objects.filter(session=session, deleted_at=None)
    return {
        "approvals": [_approval(one) for one in decided.order_by("requested_at", "pk").prefetch_related("votes")],
        "verdicts": [_verdict(one) for one in Verdict.objects.filter(current).exclude(says="").order_by("pk")],
        "comments": [_comment(one) for one in comments.order_by("pk")],
        "notes": [
            _without_empty({"seq": note.seq, "by": note.actor_name, "text": note.text, "at": _iso(note.at)})
            for note in notes.order_by("seq").only("seq", "actor_name", "text", "at")
        ],
    }


def _approval(approval: Approval) -> dict[str, Any]:
    votes = sorted(approval.votes.all(), key=lambda vote: (vote.at, vote.pk))
    return _without_empty(
        {
            "id": str(approval.pk),
            "seq": approval.event_seq,
            "call_id": approval.client_id,
            "tool": _without_empty({"name": approval.tool_name, "server": approval.tool_server}),
            "arguments": approval.arguments,
            "digest": approval.digest,
            "risk": approval.risk,
            "rule": approval.rule,
            "requested_by": approval.requested_by,
            "requested_at": _iso(approval.requested_at),
            "status": approval.status,
            "decided_at": _iso(approval.decided_at),
            "decision": approval.decision,
            "votes": [_vote(vote) for vote in votes],
        }
    )


def _vote(vote: Vote) -> dict[str, Any]:
    return _without_empty(
        {
            "by": vote.by,
            "verdict": vote.verdict,
            "arguments": vote.arguments,
            "answer": vote.answer,
            "reason": vote.reason,
            "channel": vote.channel,
            "at": _iso(vote.at),
        }
    )


def _verdict(verdict: Verdict) -> dict[str, Any]:
    told = {"seq": verdict.last_seq, "by": verdict.by, "verdict": verdict.says, "note": verdict.note}
    return _without_empty({**told, "scores": verdict.scores or None, "at": _iso(verdict.at)})


def _comment(comment: Comment) -> dict[str, Any]:
    return _without_empty(
        {
            "id": str(comment.pk),
            "seq": comment.first_seq,
            "last_seq": comment.last_seq if comment.last_seq != comment.first_seq else None,
            "reply_to": str(comment.parent_id) if comment.parent_id else None,
            "by": comment.by,
            "text": comment.text,
            "at": _iso(comment.made_at),
            "edited_at": _iso(comment.edited_at),
            "resolved_by": comment.resolved_by if comment.resolved_at else None,
        }
    )


def _without_empty(values: dict[str, Any]) -> dict[str, Any]:
    """The values that were given."""
    return {name: value for name, value in values.items() if value not in (None, "")}


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat().replace("+00:00", "Z") if moment else None
