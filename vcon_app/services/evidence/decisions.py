"""The decisions of a period in the order of the audit log: each as a row, with its receipt, and what they add up to."""

from __future__ import annotations

import statistics
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sessions_app.models import Approval, AuditEntry
from vcon_app.signing import receipt
from vcon_app.signing.signers import Signer

from ..receipts.statements import Recorded, recorded, statement_of, with_rows
from .period import pages

FAST = 2.0
"""Seconds below which nobody has read what was shown (approvals.md section 10)."""
COLUMNS = (
    "id", "session", "agent", "tool", "server", "risk", "asked_at", "asked_by", "status", "decided_at",
    "seconds_to_decide", "by_kind", "by", "by_role", "channel", "reason", "edited", "policy_version", "rule",
    "delivery", "execution", "planted", "receipt", "no_receipt", "audit",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision: its row, its receipt ("" where there is none), and the approval."""

    row: dict[str, Any]
    receipt: str
    approval: Approval


def of_entries(workspace_id: UUID, between: tuple[int, int] | None, signer: Signer, agent: str) -> Iterator[Decided]:
    """What ended in these audit entries, of one agent (slug or name) or of all; a page in memory at a time.

    A decision that was taken back ended twice; the last time counts.
    """
    for page in pages(workspace_id, between):
        ended = {entry.subject_id: entry for entry in page if _is_ending(entry)}
        rows = with_rows(Approval.objects.filter(workspace_id=workspace_id, pk__in=list(ended), recorded=False))
        found = {str(_approval(one).pk): one for one in recorded(workspace_id, rows)}
        for id_, entry in ended.items():
            if (found_one := found.get(id_)) is None:  # its session was erased; the entries are in the audit part
                continue
            ours = _approval(found_one).session.agent
            if agent and agent not in (ours.slug, ours.name):
                continue
            if isinstance(found_one, Recorded) and found_one.ended.seq != entry.seq:
                continue
            yield _decided(found_one, entry, signer)


def _approval(one: Recorded | tuple[Approval, str]) -> Approval:
    return one.approval if isinstance(one, Recorded) else one[0]


def _is_ending(entry: AuditEntry) -> bool:
    return entry.subject_kind == "approval" and "status" in entry.details


def _decided(one: Recorded | tuple[Approval, str], entry: AuditEntry, signer: Signer) -> Decided:
    if isinstance(one, Recorded):
        approval, issued, why = one.approval, receipt.sign(statement_of(one), signer), ""
    else:
        approval, issued, why = one[0], "", one[1]
    made = approval.decision or {}
    seconds = (approval.decided_at - approval.requested_at).total_seconds() if approval.decided_at else None
    version = approval.policy_version
    row = {
        "id": str(approval.pk), "session": str(approval.session_id), "agent": approval.session.agent.name,
        "tool": approval.tool_name, "server": approval.tool_server, "risk": approval.risk,
        "asked_at": _utc(approval.requested_at), "asked_by": approval.requested_by, "status": str(approval.status),
        "decided_at": _utc(approval.decided_at) if approval.decided_at else None,
        "seconds_to_decide": None if seconds is None else f"{seconds:.3f}",
        "by_kind": made.get("by_kind"), "by": made.get("by"), "by_role": made.get("by_role"),
        "channel": made.get("channel"), "reason": made.get("reason") or "", "edited": made.get("arguments") is not None,
        "policy_version": version.number if version else None, "rule": approval.rule, "delivery": approval.delivery,
        "execution": approval.execution, "planted": approval.planted, "receipt": bool(issued), "no_receipt": why,
        "audit": entry.seq,
    }  # fmt: skip
    return Decided(row, issued, approval)


def is_of_person(approval: Approval) -> bool:
    """Whether a person or their key decided it: not who withdrew what they had asked, or interrupted its session."""
    by_kind = (approval.decision or {}).get("by_kind")
    return approval.decides_by == Approval.DecidesBy.PERSON and by_kind in ("member", "api_key", "slack")


@dataclass(slots=True)
class Figures:
    """How many, how fast and how they decided; times as numbers alone, so that 100,000 of them are a megabyte."""

    statuses: Counter[str] = field(default_factory=Counter)
    times: array[float] = field(default_factory=lambda: array("d"))
    edited: int = 0
    denied_with_reason: int = 0
    fast: int = 0

    def add(self, approval: Approval) -> None:
        made = approval.decision or {}
        self.statuses[str(approval.status)] += 1
        self.edited += made.get("arguments") is not None
        self.denied_with_reason += approval.status == Approval.Status.DENIED and bool(made.get("reason"))
        if approval.decided_at and is_of_person(approval):
            seconds = (approval.decided_at - approval.requested_at).total_seconds()
            self.times.append(seconds)
            self.fast += seconds < FAST

    def row(self) -> dict[str, Any]:
        times = sorted(self.times)
        return {
            "decisions": sum(self.statuses.values()), "by_status": dict(sorted(self.statuses.items())),
            "edited": self.edited, "denied_with_reason": self.denied_with_reason, "under_two_seconds": self.fast,
            "seconds_to_decide": {
                "median": round(statistics.median(times), 3) if times else None,
                "p90": round(times[min(len(times) - 1, int(len(times) * 0.9))], 3) if times else None,
            },
        }  # fmt: skip


def _utc(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
