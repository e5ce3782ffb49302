"""A file is checked where it lies, without taking it in: whether it is what somebody signed, and who."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from zipfile import ZipInfo

from django.utils import timezone

from vcon_app import registry
from vcon_app.drafts import Finding, FormatError, Signature
from vcon_app.formats import bundle, vcon
from vcon_app.formats.common.zips import Archive
from vcon_app.formats.contract import Verifier
from vcon_app.formats.evidence import verify as evidence
from vcon_app.formats.vcon.file import vconz
from vcon_app.signing import cose, receipt, statement, states, transparency
from vcon_app.signing.keys import Anchor

from ..documents import archives, decryption

LONGEST_STATEMENT, MOST_RECEIPTS = 1024 * 1024, 32


@dataclass(slots=True)
class FileCheck:
    """The state of the file as a whole, what is wrong with it, and sentences about what was checked."""

    signature: Signature
    findings: list[Finding] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)


def check_file(path: Path, anchors: Sequence[Anchor]) -> FileCheck:
    """Of a signed file of a format, a receipt, a bundle, an evidence pack, or a ``.vconz``.

    Raises ``FormatError``, ``OSError``.
    """
    now = timezone.now()
    with path.open("rb") as source:
        start = source.read(receipt.LARGEST + 1)
        if receipt.looks_like_one(start):
            checked = receipt.check(start, anchors, now)
            return FileCheck(checked.signature, checked.findings, receipt.sentences(checked.statement))
        source.seek(0)
        if archives.is_archive(source, "auto"):
            return _check_archive(Archive(source), anchors, now)
        format = registry.get(registry.detect(source)[0])
        if not isinstance(format, Verifier):
            return FileCheck(Signature(detail=f"{format.SPEC.title} files carry no signature."))
        return FileCheck(*format.verify(decryption.decrypted(format, source), anchors, now))


def check_registration(path: Path, of: Path, anchors: Sequence[Anchor]) -> FileCheck:
    """Whether the statement in ``path`` is about the file ``of``, and a transparency service had it in its log.

    The state is that of its best receipt. Raises ``FormatError``, ``OSError``.
    """
    now, data = timezone.now(), path.read_bytes()[:LONGEST_STATEMENT]
    try:
        bare, receipts = transparency.receipts_of(data)
        digest, by = statement.digest_of(bare), cose.check(cose.parse(bare), anchors, now)[0]
    except cose.NotSign1 as error:
        raise FormatError(str(error)) from None
    with of.open("rb") as file:
        is_about = digest == hashlib.file_digest(file, "sha256").digest()
    checked = [transparency.check(one, [bare], anchors, now) for one in receipts[:MOST_RECEIPTS]]
    signature = max(checked, key=lambda one: states.rank(one.state), default=Signature(detail="It has no receipt."))
    if not is_about:
        signature = replace(signature, state="invalid", detail=f"The statement is about another file than {of.name}.")
    return FileCheck(signature, facts=[_fact("the statement itself", by)])


def _check_archive(archive: Archive, anchors: Sequence[Anchor], now: datetime) -> FileCheck:
    """Members are read in pieces and thrown away, so only bombs are too large."""
    archive.check_size(archive.unpacked)
    if evidence.is_pack(archive):
        pack = evidence.verify(archive, anchors, now)
        return FileCheck(pack.signature, pack.findings, pack.facts)
    if bundle.is_bundle(archive):
        report = bundle.verify(archive, anchors, now)
        return FileCheck(report.signature, report.findings, report.facts)
    manifest = vconz.manifest_of(archive)
    if manifest is not None:
        return _check_vconz(archive, *vconz.vcons_in(archive, manifest), anchors, now)
    raise FormatError(
        "a zip archive of files, neither an export bundle, an evidence pack nor a .vconz: it has no signature of its "
        "own; unpack it and verify its files one by one"
    )


def _check_vconz(
    archive: Archive, vcons: list[ZipInfo], odd: list[Finding], anchors: Sequence[Anchor], now: datetime
) -> FileCheck:
    """As good as the worst of its vCons; a file that is not of its hash makes the whole invalid (s7.1)."""
    checked = list(_check_vcons(archive, vcons, anchors, now))
    signature = states.worst([one for _, one, _ in checked])
    findings = [*odd, *(finding for _, _, found in checked for finding in found)]
    facts = [_fact(name, one) for name, one, _ in checked]
    if wrong := [finding for finding in odd if finding.severity == "error"]:
        signature = replace(signature, state="invalid", detail=f"{wrong[0].path}: {wrong[0].message}.")
    return FileCheck(signature, findings, facts)


def _fact(name: str, signature: Signature) -> str:
    by = f", by {signature.signer}" if signature.signer else ""
    return f"{name}: {signature.state.replace('_', ' ')}{by}"


def _check_vcons(
    archive: Archive, vcons: list[ZipInfo], anchors: Sequence[Anchor], now: datetime
) -> Iterator[tuple[str, Signature, list[Finding]]]:
    for member in vcons:
        try:
            with archive.open(member) as file:
                signature, findings = vcon.verify(decryption.decrypted(vcon, file), anchors, now)
        except FormatError as error:
            signature, findings = Signature("uncheckable", detail=f"{member.filename}: {error}"), []
        placed = [replace(one, path=archives.place_in(member, one.path)) for one in findings]
        yield member.filename, signature, placed
