"""Audit entries as records of draft-sharif-agent-audit-trail-06: JSON, each with the hash of the one before.

Its twelve mandatory members, its words for actions, outcomes and phases, and the genesis record are the draft's; which
entry becomes which record is our choice, and stands in ``docs/proof.md``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid5

from ...signing import canonical

MANDATORY = (
    "record_id", "timestamp", "agent_id", "agent_version", "session_id", "action_type", "action_detail", "outcome",
    "trust_level", "parent_record_id", "prev_hash", "record_phase",
)  # fmt: skip
DESK = "countersign"
UNRATED = "L0"
"""Countersign does not rate agents; the draft has L0 to L4."""
OUTCOMES = {
    "approved": "success", "approved_edited": "success", "answered": "success", "auto_allowed": "success",
    "settled_elsewhere": "success", "denied": "denied", "auto_denied": "denied", "cancelled": "denied",
    "expired": "timeout",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """An audit entry, with the agent that its session is of, if it is about one."""

    workspace: UUID
    seq: int
    at: datetime
    actor: tuple[str, str]
    """Kind and name."""
    action: str
    subject: tuple[str, str]
    details: dict[str, Any]
    hash: str
    agent: str = ""
    agent_version: str = ""


def lines(entries: Iterable[Entry], workspace: UUID, product_version: str, at: datetime) -> Iterator[bytes]:
    """One record a line, in canonical JSON (RFC 8785); the first begins the trail (genesis, section 8.1)."""
    record = _genesis(workspace, product_version, at)
    yield _line(record)
    for entry in entries:
        record = _record(entry, record, product_version)
        yield _line(record)


def _line(record: dict[str, Any]) -> bytes:
    return canonical.javascript(record, sort=True) + b"\n"


def _genesis(workspace: UUID, product_version: str, at: datetime) -> dict[str, Any]:
    return {
        "record_id": str(uuid5(workspace, f"aat:{at.isoformat()}")), "timestamp": _time(at), "agent_id": DESK,
        "agent_version": product_version, "session_id": str(workspace), "action_type": "lifecycle",
        "action_detail": {"event": "session_start", "recording_mode": "export"}, "outcome": "success",
        "trust_level": UNRATED, "parent_record_id": None, "prev_hash": None, "record_phase": "concurrent",
    }  # fmt: skip


def _record(entry: Entry, before: dict[str, Any], product_version: str) -> dict[str, Any]:
    action, outcome, phase = _kind(entry)
    return {
        "record_id": str(uuid5(entry.workspace, f"audit:{entry.seq}")), "timestamp": _time(entry.at),
        "agent_id": entry.agent or DESK, "agent_version": entry.agent_version or product_version,
        "session_id": str(entry.workspace), "action_type": action,
        "action_detail": {
            "event": entry.action, "actor_kind": entry.actor[0], "actor": entry.actor[1],
            "subject_kind": entry.subject[0], "subject_id": entry.subject[1], "details": entry.details,
            "audit_seq": entry.seq, "audit_hash": entry.hash,
        },
        "outcome": outcome, "trust_level": UNRATED, "parent_record_id": before["record_id"],
        "prev_hash": hashlib.sha256(canonical.javascript(before, sort=True)).hexdigest(), "record_phase": phase,
    }  # fmt: skip


def _kind(entry: Entry) -> tuple[str, str, str]:
    """``action_type``, ``outcome`` and ``record_phase`` of an entry."""
    if entry.action == "approval.requested":
        return "tool_call", "escalated", "pre_execution"
    status = entry.details.get("status") if entry.subject[0] == "approval" else None
    if isinstance(status, str) and status in OUTCOMES:
        return "decision", OUTCOMES[status], "pre_execution"
    return "lifecycle", "success", "concurrent"


def _time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"
