"""What a receipt states of a decision: nothing but what was recorded when it was asked and when it was decided."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson
from django.db.models import QuerySet
from django.utils import timezone

from sessions_app.models import Approval, AuditEntry, Checkpoint, CheckpointHead, Vote
from sessions_app.queries import chains
from vcon_app.signing import checkpoint as checkpoints
from vcon_app.signing import receipt


class NoReceipt(Exception):
    """There is no receipt of an approval; the message says why."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An approval with what the record has of it. ``known_by`` is the first checkpoint that knew the decision."""

    approval: Approval
    votes: Sequence[Vote]
    asked: AuditEntry
    ended: AuditEntry
    known_by: Checkpoint | None


def with_rows(approvals: QuerySet[Approval]) -> QuerySet[Approval]:
    """The same, with the rows that a statement reads; rules and definitions would be read again with each."""
    rows = approvals.select_related("session__agent", "workspace", "policy_version").prefetch_related("votes")
    return rows.defer(
        "policy_version__rules", "session__source_record", "session__agent__instructions", "session__agent__tools",
        "session__agent__policy",
    )  # fmt: skip


def recorded(workspace_id: UUID, approvals: Iterable[Approval]) -> Iterator[Recorded | tuple[Approval, str]]:
    """Each approval with its record, or with why there can be no receipt: five queries, however many they are."""
    page = list(approvals)
    entries = chains.entries_about(workspace_id, page)
    ends = {key: ended for key, found in entries.items() if (ended := _last_ending(found))}
    known = _checkpoints(workspace_id, [entry.seq for entry in ends.values()])
    for approval in page:
        if why := why_none(approval):
            yield approval, why
            continue
        about = entries.get(str(approval.pk), [])
        if reason := chains.difference(approval, about):
            told = f"the record of this approval is not what was written: {reason}. An operator should run audit verify"
            yield approval, told
            continue
        asked = next(entry for entry in about if entry.action == "approval.requested")
        ended = ends[str(approval.pk)]
        votes = sorted(approval.votes.all(), key=lambda vote: str(vote.pk))
        yield Recorded(approval, votes, asked, ended, known.get(ended.seq))


def why_none(approval: Approval) -> str:
    """Why there is no receipt, before the record is looked at; empty where there should be one."""
    if approval.recorded:
        return "an imported file told of this decision: it was not made here, so there is nothing here to sign"
    if approval.status == Approval.Status.PENDING:
        return "this is not decided yet; its receipt is there once it is"
    if approval.delivery == "queued" and approval.deliver_at and approval.deliver_at > timezone.now():
        return f"this decision can be taken back until {_utc(approval.deliver_at)}; its receipt is there after that"
    return ""


def _last_ending(entries: list[AuditEntry]) -> AuditEntry | None:
    return next((entry for entry in reversed(entries) if "status" in entry.details), None)


def _checkpoints(workspace_id: UUID, seqs: list[int]) -> dict[int, Checkpoint]:
    """For each number of an audit entry the first checkpoint that knew it, where one does already."""
    if not seqs:
        return {}
    heads = CheckpointHead.objects.filter(kind="audit", chain_id=workspace_id)
    last = heads.filter(seq__gte=max(seqs)).order_by("checkpoint_id").values_list("checkpoint_id", flat=True).first()
    among = heads.filter(seq__gte=min(seqs))
    if last is not None:
        among = among.filter(checkpoint_id__lte=last)
    found = list(among.order_by("checkpoint_id").values_list("seq", "checkpoint_id"))
    by_seq, position = {}, 0
    for seq in sorted(set(seqs)):
        while position < len(found) and found[position][0] < seq:
            position += 1
        if position < len(found):
            by_seq[seq] = found[position][1]
    rows = Checkpoint.objects.in_bulk(set(by_seq.values()))
    return {seq: rows[number] for seq, number in by_seq.items()}


def statement_of(one: Recorded, *, with_arguments: bool = False) -> dict[str, Any]:
    """What is signed. With ``with_arguments`` also the text that was shown, whose SHA-256 is ``shown.digest``."""
    approval, ended = one.approval, one.ended
    statement = {
        "version": receipt.VERSION,
        "approval": str(approval.pk),
        "status": str(approval.status),
        "planted": approval.planted or ended.details.get("planted") is True,
        "workspace": {"id": str(approval.workspace_id), "name": approval.workspace.slug},
        "session": {"id": str(approval.session_id), "agent": approval.session.agent.name},
        "asked": {
            "at": _utc(approval.requested_at),
            "by": _person(one.asked.actor_kind, one.asked.actor_id, one.asked.actor_name),
        },
        "shown": _shown(approval, with_arguments),
        "decided": _decided(approval, one.votes),
        "policy": _policy(approval),
        "audit": {
            "asked": one.asked.seq, "seq": ended.seq, "hash": ended.hash, "outcome": ended.details.get("outcome", ""),
        },
        "checkpoint": None,
        "installation": None,
    }  # fmt: skip
    if one.known_by:
        statement["checkpoint"] = {
            "number": one.known_by.number, "hash": one.known_by.hash, "at": _utc(one.known_by.at),
        }  # fmt: skip
        statement["installation"] = checkpoints.parse(one.known_by.header).installation
    return statement


def _shown(approval: Approval, with_arguments: bool) -> dict[str, Any]:
    shown = {
        "digest": approval.digest, "tool": approval.tool_name, "server": approval.tool_server,
        "arguments_digest": _digest(approval.arguments), "risk": approval.risk,
        "expires_at": _utc(approval.expires_at) if approval.expires_at else None,
    }  # fmt: skip
    if with_arguments:
        shown["text"] = approval.text_of_question().decode()
    return shown


def _decided(approval: Approval, votes: Sequence[Vote]) -> dict[str, Any]:
    made = approval.decision or {}
    edited = made.get("arguments")
    return {
        "at": _utc(approval.decided_at) if approval.decided_at else None,
        "verdict": made.get("verdict"),
        "by": _person(made.get("by_kind"), made.get("by_id"), made.get("by"), made.get("by_role")),
        "decides_by": str(approval.decides_by),
        "reason": made.get("reason") or "",
        "answer_digest": _text_digest(made.get("answer")),
        "channel": made.get("channel"),
        "signed_in_by_link_of": made.get("signed_in_by_link_of"),
        "edited_arguments_digest": _digest(edited) if edited is not None else None,
        "executable_digest": approval.executable_digest or None,
        "votes_needed": approval.votes_needed,
        "votes": [
            {
                "by": vote.by, "role": vote.role or None, "verdict": vote.verdict, "digest": vote.digest or None,
                "reason": vote.reason, "channel": vote.channel, "at": _utc(vote.at),
            }
            for vote in votes
        ],
    }  # fmt: skip


def _policy(approval: Approval) -> dict[str, Any] | None:
    """The rules that were in force when it was asked, and the one that asked or answered; None where none said so."""
    version = approval.policy_version
    if version is None and approval.rule is None and approval.grant_id is None:
        return None
    return {
        "version": version.number if version else None, "digest": version.digest if version else None,
        "rule": approval.rule, "grant": str(approval.grant_id) if approval.grant_id else None,
    }  # fmt: skip


def _person(kind: Any, id_: Any, name: Any, role: Any = None) -> dict[str, Any]:
    """Who it was. Of the id its SHA-256: it tells two people of one name apart, and nothing of who they are."""
    known = f"{kind}:{id_}" if id_ else None
    return {"kind": kind, "name": name, "id_digest": _text_digest(known), "role": role}


def _digest(value: Any) -> str:
    """SHA-256, in hex, of canonical JSON as ``Approval.digest`` is of."""
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _text_digest(text: str | None) -> str | None:
    return hashlib.sha256(text.encode()).hexdigest() if text else None


def _utc(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
