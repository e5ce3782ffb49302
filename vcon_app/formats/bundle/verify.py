"""Whether a bundle is what was signed: nothing changed, missing or added, and by whom. Needs the bytes alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from zipfile import ZipInfo

from ...drafts import Finding, FormatError, Signature
from ...signing import detached
from ...signing.keys import Anchor
from .. import vcon
from ..common.zips import Archive
from . import audit_rows, manifest, receipts, record
from .layout import AUDIT, CHECKPOINT, EVENTS, LINKS, MANIFEST, RECEIPTS, SIGNATURE, VCON
from .manifest import Manifest
from .packing import Member

RULE = "bundle"
MARKS = 3
"""Of the four members that every bundle has: one of them may be what somebody took out."""
VCON_BYTES = 100 * 1024 * 1024
"""Of a signed vCon, which is checked in memory: base64url of the most that is signed has 86 MB."""
CHECKPOINT_BYTES = 1024 * 1024
"""A checkpoint with a time stamp and its proof has 20 KB."""
SIGNATURE_BYTES = 256 * 1024
"""A chain of ten certificates has 20 KB."""


@dataclass(slots=True)
class Report:
    """Result of a check. ``signature`` is ``invalid`` as soon as anything is not what was signed."""

    signature: Signature
    findings: list[Finding] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    """Sentences for people: who exported what and when, and how much of it was checked."""


def is_bundle(archive: Archive) -> bool:
    """Whether an archive means to be a bundle of ours, however damaged it is."""
    names = {member.filename for member in archive.members} | {finding.path for finding in archive.refused}
    return len(names & {MANIFEST, SIGNATURE, VCON, AUDIT}) >= MARKS


def session_in(archive: Archive) -> ZipInfo:
    """The member that the session is read from: the original, else the vCon. Raises ``FormatError``."""
    _refuse(archive)
    declared = manifest.read(archive)
    path = declared.text("original", "path") or declared.text("vcon", "path")
    member = archive.member(path)
    if member is None or path not in declared.members:
        raise FormatError(f"the bundle is refused: {path[:100]!r} is missing, from which its session would be read")
    return member


def verify(archive: Archive, anchors: Sequence[Anchor], at: datetime) -> Report:
    """The state of a bundle at a time, with these trust anchors. Every member is read once, in pieces.

    Raises ``FormatError`` for an archive with members that no honest tool writes, or whose manifest cannot be read.
    """
    _refuse(archive)
    declared = manifest.read(archive)
    report = Report(*_signature(archive, declared, anchors, at), list(_facts(declared)))
    faults = [
        *_members(archive, declared),
        *_extra(archive, declared),
        *_audit_and_original(archive, declared),
        *_inner(archive, declared, anchors, at, report.facts.append),
        *_record(archive, declared, anchors, at, report.facts.append),
        *_receipts(archive, declared, anchors, at, report.facts.append),
    ]
    report.findings += faults
    wrong = [fault for fault in faults if fault.severity == "error"]
    if wrong:
        first = f"{wrong[0].path}: {wrong[0].message}"
        detail = f"{first[:300]}{f', and {len(wrong) - 1} more faults' if len(wrong) > 1 else ''}"
        report.signature = replace(report.signature, state="invalid", detail=f"It is not what was signed: {detail}.")
    return report


def _refuse(archive: Archive) -> None:
    if archive.refused:
        path, message = archive.refused[0].path, archive.refused[0].message
        raise FormatError(f"the bundle is refused for its member {path[:100]!r}: {message}")


def _signature(
    archive: Archive, declared: Manifest, anchors: Sequence[Anchor], at: datetime
) -> tuple[Signature, list[Finding]]:
    """The signature over the bytes of the manifest. A changed manifest is believed in nothing else."""
    if archive.member(SIGNATURE) is None:
        return Signature("unsigned", detail=f"There is no {SIGNATURE} in it."), []
    try:
        data = manifest.small_member(archive, SIGNATURE, SIGNATURE_BYTES)
    except FormatError as error:
        return Signature("invalid", detail=f"{SIGNATURE} cannot be read: {error}."), [_fault(SIGNATURE, str(error))]
    signature, findings = detached.check(data, declared.data, anchors, at)
    if signature.state == "invalid":
        signature = replace(signature, detail=f"{MANIFEST} is not what {SIGNATURE} signs. {signature.detail}")
        findings = [_fault(MANIFEST, signature.detail)]
    return signature, [replace(finding, path=finding.path.replace("/signatures/0", SIGNATURE)) for finding in findings]


def _facts(declared: Manifest) -> Iterator[str]:
    by = declared.text("exported", "by") or "somebody unnamed"
    yield f"exported at {declared.text('exported', 'at') or 'an unknown time'} by {by}"
    yield f"session {declared.text('session', 'id')}, {declared.text('session', 'title') or 'without a title'}"
    original = declared.text("original", "path")
    yield f"original: {original}" if original else "original: none, the session was not read from a file"
    yield f"{len(declared.members)} members in the manifest"


def _members(archive: Archive, declared: Manifest) -> Iterator[Finding]:
    for path, expected in declared.members.items():
        member = archive.member(path)
        fault = (
            _differs(archive, member, expected) if member else "the member is in the manifest, but not in the archive"
        )
        if fault:
            yield _fault(path, fault)


def _differs(archive: Archive, member: ZipInfo, expected: Member) -> str:
    """The first difference between a member and its row of the manifest, "" for none."""
    if member.file_size != expected.size:
        return f"the member has {member.file_size:,} bytes, and the manifest says {expected.size:,}"
    digest = hashlib.sha256()
    try:
        for chunk in archive.chunks(member):
            digest.update(chunk)
    except FormatError as error:
        return str(error)
    found = digest.hexdigest()
    return (
        "" if found == expected.sha256 else f"the member has SHA-256 {found}, and the manifest says {expected.sha256}"
    )


def _extra(archive: Archive, declared: Manifest) -> Iterator[Finding]:
    known = {*declared.members, MANIFEST, SIGNATURE}
    for member in archive.members:
        if member.filename not in known:
            yield _fault(member.filename, "the member is in the archive, but not in the manifest")


def _audit_and_original(archive: Archive, declared: Manifest) -> Iterator[Finding]:
    taken_in: set[str] = set()
    member = archive.member(AUDIT)
    if member:
        try:
            with archive.open(member) as lines:
                for fault in audit_rows.faults(lines, declared.part("audit").get("rows"), taken_in):
                    yield _fault(AUDIT, fault)
        except FormatError:  # told where the members are
            return
    yield from _original(declared, taken_in)


def _original(declared: Manifest, taken_in: set[str]) -> Iterator[Finding]:
    """The original is the file that the records of the session say was taken in, or was in that archive."""
    path, document = declared.text("original", "path"), declared.text("original", "document")
    if not path:
        return
    listed = declared.members.get(path)
    if listed is None or listed.sha256 != declared.text("original", "sha256"):
        yield _fault(path, "the manifest gives two hashes of the original")
    elif document != listed.sha256 and not declared.text("original", "member"):
        yield _fault(path, "its hash is not that of the document that the session was read from")
    if document not in taken_in:
        yield _fault(path, f"no audit record says that a file with SHA-256 {document[:64]} was taken in")


def _inner(
    archive: Archive, declared: Manifest, anchors: Sequence[Anchor], at: datetime, tell: Callable[[str], None]
) -> Iterator[Finding]:
    """The vCon's own signature."""
    member = archive.member(VCON)
    if member is None:
        return
    why = f" ({reason[:200]})" if (reason := declared.text("vcon", "why_not")) else ""
    if member.file_size > VCON_BYTES:
        if declared.part("vcon").get("signed") is True:
            yield _fault(VCON, f"its own signature is not checked: it has more than {VCON_BYTES:,} bytes")
        tell(f"{VCON}: its own signature was not looked for{why}")
        return
    try:
        with archive.open(member) as file:
            signature, _ = vcon.verify(file, anchors, at)
    except FormatError as error:
        yield _fault(VCON, str(error))
        return
    if signature.state == "invalid":
        yield _fault(VCON, f"its own signature is invalid. {signature.detail}".rstrip("."))
    elif declared.part("vcon").get("signed") is True and signature.state == "unsigned":
        yield _fault(VCON, "the manifest says that it is signed, and it is not")
    by = f", by {signature.signer}" if signature.signer else ""
    tell(f"{VCON}: {signature.state.replace('_', ' ')}{by}{why}")


def _record(
    archive: Archive, declared: Manifest, anchors: Sequence[Anchor], at: datetime, tell: Callable[[str], None]
) -> Iterator[Finding]:
    """The chained log; bundles of before checkpoints have none, and their manifest says nothing of one."""
    if "record" not in declared.value:
        tell("record: none, the bundle is of before checkpoints, or its session had no events")
        return
    members = [archive.member(name) for name in (CHECKPOINT, LINKS, EVENTS)]
    if None in members:
        yield _fault(CHECKPOINT, "the manifest names a record, and a part of it is missing")
        return
    try:
        statement = manifest.small_member(archive, CHECKPOINT, CHECKPOINT_BYTES)
        with archive.open(members[1]) as links, archive.open(members[2]) as events:
            checked = record.check(statement, links, events, declared.text("session", "id"), anchors, at)
    except (record.Broken, FormatError) as error:
        yield _fault(EVENTS, str(error))
        return
    later = checked.events - checked.sealed
    more = f", and {later} that came after it" if later else ""
    tell(
        f"record: {checked.sealed} events are what checkpoint {checked.header.number} of "
        f"{checked.header.at:%Y-%m-%d %H:%M:%S} UTC knew{more}; signed by {checked.signed_by}"
    )


def _receipts(
    archive: Archive, declared: Manifest, anchors: Sequence[Anchor], at: datetime, tell: Callable[[str], None]
) -> Iterator[Finding]:
    """The receipts of the decisions; bundles of before them have none, and their manifest says nothing of one."""
    member, audit = archive.member(RECEIPTS), archive.member(AUDIT)
    if "receipts" not in declared.value or member is None or audit is None:  # a missing member is told already
        return
    try:
        with archive.open(member) as lines:
            checked = receipts.check(lines, anchors, at, session_id=declared.text("session", "id"))
        with archive.open(audit) as lines:
            faults = [*checked.faults, *receipts.not_in_audit(checked, lines)]
    except FormatError as error:
        yield _fault(RECEIPTS, str(error))
        return
    if checked.rows != declared.part("receipts").get("rows"):
        faults.append(f"it has {checked.rows:,} receipts, and the manifest says another number")
    for fault in faults[: receipts.MOST]:
        yield _fault(RECEIPTS, fault)
    planted = f", {checked.planted} of them of planted test calls" if checked.planted else ""
    if not faults:
        tell(f"receipts: {checked.rows} decisions{planted}")


def _fault(path: str, message: str) -> Finding:
    return Finding(RULE, "error", path, message)
