"""The receipts of an archive: each is signed, about its own session, and about an entry that the audit records have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO

from ...signing import receipt
from ...signing.keys import Anchor
from ..common import jsonio

LONGEST = receipt.LARGEST
MOST = 20
"""Faults that are told."""
SIGNED = ("valid", "valid_untrusted", "valid_expired")


@dataclass(slots=True)
class Checked:
    """How many receipts there are, and what is wrong with them."""

    rows: int = 0
    planted: int = 0
    entries: dict[int, str] = field(default_factory=dict)
    """Hashes of audit entries that receipts name, by number."""
    faults: list[str] = field(default_factory=list)


def check(
    lines: BinaryIO, anchors: Sequence[Anchor], at: datetime, *, session_id: str = "", workspace_id: str = ""
) -> Checked:
    """Every line's receipt. ``session_id`` or ``workspace_id`` is what all of them have to be about."""
    checked = Checked()
    seen: set[str] = set()
    while line := lines.readline(LONGEST):
        checked.rows += 1
        statement, fault = _statement(line, anchors, at)
        approval = str(statement.get("approval", ""))
        if not fault:
            fault = _elsewhere(statement, session_id, workspace_id)
        if not fault and approval in seen:
            fault = f"approval {approval} has two receipts"
        if fault:
            if len(checked.faults) < MOST:
                checked.faults.append(f"line {checked.rows}: {fault}")
            continue
        seen.add(approval)
        checked.planted += statement.get("planted") is True
        entry = statement["audit"]
        checked.entries[entry["seq"]] = entry["hash"]
    return checked


def not_in_audit(checked: Checked, lines: BinaryIO) -> Iterator[str]:
    """Entries that receipts name and that the audit records have not, or with another hash."""
    left = dict(checked.entries)
    while left and (line := lines.readline(LONGEST)):
        try:
            row = jsonio.loads(line)[0]
        except jsonio.Unreadable:  # told where the audit records are
            continue
        if isinstance(row, dict) and left.get(row.get("seq", 0)) == row.get("hash"):
            left.pop(row.get("seq", 0), None)
    for seq in islice(sorted(left), MOST):
        yield f"a receipt names audit entry {seq}, and the records have no such entry"


def _statement(line: bytes, anchors: Sequence[Anchor], at: datetime) -> tuple[dict[str, Any], str]:
    """What a line's receipt states, or why it is not to be believed."""
    try:
        row = jsonio.loads(line)[0]
    except jsonio.Unreadable:
        row = None
    text = row.get("receipt") if isinstance(row, dict) else None
    if not isinstance(row, dict) or not isinstance(text, str):
        return {}, "it is no receipt"
    checked = receipt.check(text.encode("utf-8", "replace"), anchors, at)
    if checked.signature.state not in SIGNED:
        return {}, f"its signature is {checked.signature.state}: {checked.signature.detail.rstrip('.')}"
    if row.get("approval") != checked.statement.get("approval"):
        return {}, "it is of another approval than its line says"
    entry = checked.statement.get("audit")
    if not isinstance(entry, dict) or type(entry.get("seq")) is not int or not isinstance(entry.get("hash"), str):
        return {}, "it names no audit entry"
    return checked.statement, ""


def _elsewhere(statement: dict[str, Any], session_id: str, workspace_id: str) -> str:
    for name, wanted in (("session", session_id), ("workspace", workspace_id)):
        found = statement.get(name)
        if wanted and (not isinstance(found, dict) or found.get("id") != wanted):
            return f"it is of another {name}"
    return ""
