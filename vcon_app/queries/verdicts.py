"""Verdicts of reviewers on a session here: their decisions with votes and reasons, and their notes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sessions_app.models import Approval, Event, Session, Vote


def verdicts_of(session: Session) -> dict[str, list[dict[str, Any]]]:
    """``approvals`` decided here, not those a file tells of, and ``notes`` of people; ``seq`` is what each is about.

    JSON, in the order in which it was asked and said. It names people: it leaves only when that is asked for.
    """
    decided = Approval.objects.filter(session=session, recorded=False).exclude(status=Approval.Status.PENDING)
    notes = Event.objects.filter(session=session, kind="note", actor_kind="person", document__isnull=True)
    return {
        "approvals": [_approval(one) for one in decided.order_by("requested_at", "pk").prefetch_related("votes")],
        "notes": [
            _without_empty({"seq": note.seq, "by": note.actor_name, "text": note.text, "at": _at(note.at)})
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
            "requested_at": _at(approval.requested_at),
            "status": approval.status,
            "decided_at": _at(approval.decided_at),
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
            "at": _at(vote.at),
        }
    )


def _without_empty(values: dict[str, Any]) -> dict[str, Any]:
    """The values that were given."""
    return {name: value for name, value in values.items() if value not in (None, "")}


def _at(moment: datetime | None) -> str | None:
    return moment.isoformat().replace("+00:00", "Z") if moment else None
