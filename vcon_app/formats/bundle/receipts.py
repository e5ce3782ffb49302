"""The receipts of an archive: each is signed, about its own session, and about an entry that the audit records have."""

from __future__ import annotations

import hashlib
from array import array
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
    """Hashes of audit entries that receipts name, by number; empty where these were looked up on the way."""
    faults: list[str] = field(default_factory=list)

    def add_fault(self, fault: str) -> None:
        if len(self.faults) < MOST:
            self.faults.append(fault)


class InOrder:
    """Audit records in whose order receipts stand: one pass over both, with one record of them in memory."""

    def __init__(self, lines: BinaryIO) -> None:
        self._lines = lines
        self._at: tuple[Any, Any] = (0, "")

    def why_not(self, seq: int, hash_: str) -> str:
        """Why a receipt may not name this entry; empty where the records have it, behind that of the one before."""
        while self._at[0] < seq and (line := self._lines.readline(LONGEST)):
            try:
                row = jsonio.loads(line)[0]
            except jsonio.Unreadable:  # told where the audit records are
                continue
            if isinstance(row, dict) and type(row.get("seq")) is int:
                self._at = row["seq"], row.get("hash")
        if self._at == (seq, hash_):
            return ""
        where = ", or not in its place" if self._at[0] > seq else ""
        return f"a receipt names audit entry {seq}, and the records have no such entry{where}"


def check(
    lines: BinaryIO, anchors: Sequence[Anchor], at: datetime, *, session_id: str = "", workspace_id: str = "",
    records: InOrder | None = None,
) -> Checked:  # fmt: skip
    """Every line's receipt. ``session_id`` or ``workspace_id`` is what all of them have to be about.

    With ``records`` nothing is kept of a receipt but eight bytes: packs have hundreds of thousands.
    """
    checked, marks = Checked(), array("Q")
    while line := lines.readline(LONGEST):
        checked.rows += 1
        statement, fault = _statement(line, anchors, at)
        if fault := fault or _elsewhere(statement, session_id, workspace_id):
            checked.add_fault(f"line {checked.rows}: {fault}")
            continue
        approval = str(statement.get("approval", ""))
        marks.append(int.from_bytes(hashlib.sha256(approval.encode("utf-8", "replace")).digest()[:8]))
        checked.planted += statement.get("planted") is True
        entry = statement["audit"]
        if records is None:
            checked.entries[entry["seq"]] = entry["hash"]
        elif fault := records.why_not(entry["seq"], entry["hash"]):
            checked.add_fault(fault)
    if number := _repeated(marks):
        checked.add_fault(f"an approval has two receipts ({number:,} are such)")
    return checked


def _repeated(marks: array[int]) -> int:
    """How many are there more than once, counted beyond the first; a sixteenth of them at a time, for the memory."""
    parts = ([mark for mark in marks if mark % 16 == part] for part in range(16))
    return sum(len(those) - len(set(those)) for those in parts)


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
