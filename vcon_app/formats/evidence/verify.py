"""Whether an evidence pack is what was signed, and whether its parts agree with each other. Needs the bytes alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, BinaryIO

from ...drafts import Finding, FormatError, Signature
from ...signing import checkpoint as statements
from ...signing import detached, merkle
from ...signing.keys import Anchor
from ..bundle import audit_rows, receipts
from ..common import jsonio
from ..common.zips import Archive
from . import layout

RULE = "evidence"
SMALL = 1024 * 1024
LONGEST = 16 * 1024 * 1024
"""Bytes of a line."""
MOST = 20
SIGNED = ("valid", "valid_untrusted", "valid_expired")


@dataclass(slots=True)
class Report:
    """Result of a check. ``signature`` is ``invalid`` as soon as anything is not what was signed."""

    signature: Signature
    findings: list[Finding] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Check:
    archive: Archive
    anchors: Sequence[Anchor]
    at: datetime
    value: dict[str, Any]
    facts: list[str] = field(default_factory=list)

    def lines(self, name: str, check: Callable[[BinaryIO], Iterator[str]]) -> Iterator[Finding]:
        """What a check finds in a member; a missing one was told of already."""
        member = self.archive.member(name)
        if member is None:
            return
        try:
            with self.archive.open(member) as file:
                for number, fault in enumerate(check(file)):
                    if number == MOST:
                        return
                    yield Finding(RULE, "error", name, fault)
        except FormatError as error:
            yield Finding(RULE, "error", name, str(error))


def is_pack(archive: Archive) -> bool:
    """Whether an archive means to be an evidence pack, however damaged it is."""
    names = {member.filename for member in archive.members} | {finding.path for finding in archive.refused}
    return len(names & {layout.DECISIONS, layout.OVERSIGHT, layout.POLICIES, layout.CHECKPOINTS}) >= 3


def verify(archive: Archive, anchors: Sequence[Anchor], at: datetime) -> Report:
    """The state of a pack at a time, with these trust anchors. Raises ``FormatError``."""
    if archive.refused:
        one = archive.refused[0]
        raise FormatError(f"the evidence pack is refused for its member {one.path[:100]!r}: {one.message}")
    data, value = _manifest(archive)
    signature, findings = _signature(archive, data, anchors, at)
    check = _Check(archive, anchors, at, value)
    faults = [*_members(archive, value), *_parts(check)]
    if faults:
        detail = f"It is not what was signed: {faults[0].path}: {faults[0].message}."
        signature = replace(signature, state="invalid", detail=detail[:400])
    period, made = value.get("period") or {}, value.get("made") or {}
    told = [
        f"made at {made.get('at')} by {made.get('by')}",
        f"workspace {value.get('workspace', {}).get('name')}, {period.get('from')} to {period.get('to')}",
    ]
    return Report(signature, findings + faults, told + check.facts)


def _manifest(archive: Archive) -> tuple[bytes, dict[str, Any]]:
    member = archive.member(layout.MANIFEST)
    if member is None or member.file_size > SMALL:
        raise FormatError(f"there is no {layout.MANIFEST}, or it is too large")
    data = b"".join(archive.chunks(member))
    try:
        value = jsonio.loads(data)[0]
    except jsonio.Unreadable as error:
        raise FormatError(f"{layout.MANIFEST} cannot be read: {error}") from None
    if not isinstance(value, dict) or (value.get("format"), value.get("version")) != (layout.FORMAT, layout.VERSION):
        raise FormatError(f"{layout.MANIFEST} does not say that this is a {layout.FORMAT} of version {layout.VERSION}")
    if not isinstance(value.get("members"), list) or not all(isinstance(row, dict) for row in value["members"]):
        raise FormatError(f"{layout.MANIFEST} lists no members")
    for name in ("workspace", "period", "made"):
        if not isinstance(value.get(name), dict):
            raise FormatError(f"{layout.MANIFEST} does not say its {name}")
    return data, value


def _signature(
    archive: Archive, data: bytes, anchors: Sequence[Anchor], at: datetime
) -> tuple[Signature, list[Finding]]:
    member = archive.member(layout.SIGNATURE)
    if member is None:
        return Signature("unsigned", detail=f"There is no {layout.SIGNATURE} in it."), []
    if member.file_size > SMALL:
        return Signature("invalid", detail=f"{layout.SIGNATURE} is too large."), []
    return detached.check(b"".join(archive.chunks(member)), data, anchors, at)


def _members(archive: Archive, value: dict[str, Any]) -> Iterator[Finding]:
    rows = {str(row.get("path")): row for row in value["members"]}
    names = {member.filename for member in archive.members}
    for path, row in rows.items():
        member = archive.member(path)
        if member is None:
            yield Finding(RULE, "error", path, "the member is in the manifest, but not in the archive")
            continue
        digest = hashlib.sha256()
        try:
            for chunk in archive.chunks(member):
                digest.update(chunk)
        except FormatError as error:
            yield Finding(RULE, "error", path, str(error))
            continue
        if (digest.hexdigest(), member.file_size) != (row.get("sha256"), row.get("size")):
            yield Finding(RULE, "error", path, "its bytes are not those of the manifest")
    for name in sorted(names - {*rows, layout.MANIFEST, layout.SIGNATURE}):
        yield Finding(RULE, "error", name, "the member is in the archive, but not in the manifest")


def _parts(check: _Check) -> Iterator[Finding]:
    counts = check.value.get("counts")
    counts = counts if isinstance(counts, dict) else {}
    workspace = str(check.value["workspace"].get("id"))
    yield from check.lines(layout.AUDIT, lambda file: iter(audit_rows.faults(file, counts.get("entries"), set())))
    yield from check.lines(layout.AUDIT, _without_gap)
    for name, planted in ((layout.RECEIPTS, False), (layout.PLANTED, True)):
        yield from _receipts(check, name, workspace, counts, planted=planted)
    yield from check.lines(layout.POLICIES, _policies)
    yield from _checkpoints(check, workspace)


def _without_gap(lines: BinaryIO) -> Iterator[str]:
    before: int | None = None
    while line := lines.readline(LONGEST):
        seq = _row(line).get("seq")
        if type(seq) is not int:  # told of by the check of each line
            return
        if before is not None and seq != before + 1:
            yield f"entry {before + 1} is missing"
        before = seq


def _receipts(check: _Check, name: str, workspace: str, counts: dict[str, Any], *, planted: bool) -> Iterator[Finding]:
    """Receipts of real decisions in one member, of planted test calls in the other, and never the other way round."""
    member, audit, rows = (check.archive.member(each) for each in (name, layout.AUDIT, layout.DECISIONS))
    if member is None or audit is None or rows is None:
        return
    archive = check.archive
    try:
        with archive.open(member) as file, archive.open(audit) as entries:
            records = receipts.InOrder(entries)
            checked = receipts.check(file, check.anchors, check.at, workspace_id=workspace, records=records)
        faults = list(checked.faults)
        with archive.open(member) as file, archive.open(rows) as decisions:
            faults += _also_real(decisions, file) if planted else _unmatched(decisions, file)
    except FormatError as error:
        yield Finding(RULE, "error", name, str(error))
        return
    if checked.planted != (checked.rows if planted else 0):
        faults.append(f"the receipt of {'a real decision' if planted else 'a planted test call'} is among them")
    expected = counts.get("planted" if planted else "receipts")
    if checked.rows != expected:
        faults.append(f"it has {checked.rows:,} receipts, and the manifest says {str(expected)[:20]}")
    check.facts.append(f"{name}: {checked.rows:,} receipts")
    for fault in faults[:MOST]:
        yield Finding(RULE, "error", name, fault)


def _unmatched(decisions: BinaryIO, lines: BinaryIO) -> list[str]:
    """Decisions that say they have a receipt, and receipts, in the same order: each with its like."""
    while line := decisions.readline(LONGEST):
        row = _row(line)
        if row.get("planted") is not False:
            return [f"{layout.DECISIONS} has a planted test call as a real decision"]
        if row.get("receipt") is not True:
            if not row.get("no_receipt"):
                return [f"decision {str(row.get('id'))[:60]} has neither a receipt nor a reason why there is none"]
            continue
        found = _row(lines.readline(LONGEST))
        if found.get("approval") != row.get("id"):
            return [f"decision {str(row.get('id'))[:60]} has no receipt in its place"]
        stated = _stated(found)
        if (stated.get("status"), stated.get("approval")) != (row.get("status"), row.get("id")):
            return [f"decision {str(row.get('id'))[:60]} is not what its receipt says"]
    return ["it has receipts of decisions that are not there"] if lines.readline(LONGEST) else []


def _also_real(decisions: BinaryIO, lines: BinaryIO) -> list[str]:
    """Planted test calls that stand among the real decisions as well."""
    planted = set()
    while line := lines.readline(LONGEST):
        planted.add(_row(line).get("approval"))
    while line := decisions.readline(LONGEST):
        if _row(line).get("id") in planted:
            return [f"{layout.DECISIONS} has a planted test call as a real decision"]
    return []


def _stated(row: dict[str, Any]) -> dict[str, Any]:
    """What a receipt states whose signature was checked before."""
    try:
        payload = receipts.receipt.jws.unbase64url(str(row.get("receipt")).split(".")[1])
        return receipts.receipt.read(payload)
    except (IndexError, receipts.receipt.NotAReceipt, receipts.receipt.jws.Malformed):
        return {}


def _policies(lines: BinaryIO) -> Iterator[str]:
    while line := lines.readline(LONGEST):
        row = _row(line)
        text = row.get("rules_text")
        if not isinstance(text, str) or hashlib.sha256(text.encode()).hexdigest() != row.get("digest"):
            yield f"the rules of version {str(row.get('number'))[:20]} are not of their digest"


def _checkpoints(check: _Check, workspace: str) -> Iterator[Finding]:
    """Signed, each bound to the one before where they are neighbours, and those with a proof know the audit log."""
    known: dict[int, str] = {}
    proved: dict[int, str] = {}

    def one_by_one(lines: BinaryIO) -> Iterator[str]:
        before: statements.Header | None = None
        before_hash = ""
        while line := lines.readline(LONGEST):
            row = _row(line)
            try:
                header = statements.parse(str(row.get("header")))
            except statements.NotAHeader as fault:
                yield f"a checkpoint cannot be read: {fault}"
                continue
            text = header.text()
            state, _ = detached.check(str(row.get("signature")).encode(), text.encode(), check.anchors, check.at)
            if state.state not in SIGNED:
                yield f"checkpoint {header.number} is {state.state}: {state.detail}"
            if before and header.number == before.number + 1 and header.previous != before_hash:
                yield f"checkpoint {header.number} does not follow from the one before"
            before, before_hash = header, statements.hash_of(text)
            known[header.number] = before_hash
            if row.get("proof") is not None:
                fault_of_proof = _proof(row["proof"], header, workspace, proved)
                if fault_of_proof:
                    yield fault_of_proof

    yield from check.lines(layout.CHECKPOINTS, one_by_one)
    yield from check.lines(layout.AUDIT, lambda lines: _sealed(lines, proved))
    if proved:
        check.facts.append(f"{len(known)} checkpoints; they know the audit log up to entry {max(proved)}")
    else:
        check.facts.append("no checkpoint knows the entries of this period yet")


def _proof(proof: Any, header: statements.Header, workspace: str, proved: dict[int, str]) -> str:
    try:
        leaf = statements.Head(*(proved_leaf := proof["leaf"])[:2], int(proved_leaf[2]), str(proved_leaf[3]))
        root = merkle.root_from(
            leaf.leaf(), int(proof["index"]), header.heads, [bytes.fromhex(node) for node in proof["path"]]
        )
    except (TypeError, KeyError, ValueError, IndexError):
        return f"the proof of checkpoint {header.number} cannot be read"
    if (leaf.kind, leaf.chain) != ("audit", workspace):
        return f"the proof of checkpoint {header.number} is of another log"
    if root is None or root.hex() != header.root:
        return f"the proof of checkpoint {header.number} does not lead to what it signs"
    proved[leaf.seq] = leaf.hash
    return ""


def _sealed(lines: BinaryIO, proved: dict[int, str]) -> Iterator[str]:
    """Entries that checkpoints know by their hash."""
    while line := lines.readline(LONGEST):
        row = _row(line)
        if (expected := proved.get(row.get("seq", 0))) and expected != row.get("hash"):
            yield f"entry {row.get('seq')} is not what a checkpoint knew"


def _row(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}
