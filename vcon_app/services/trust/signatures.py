"""Signatures of imported documents: checked when they are read, and again when it changes who is trusted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, BinaryIO
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from sessions_app.services import audit, notify, task_queue
from sessions_app.services.fair_queue import Line
from sessions_app.services.log.sanitise import storable
from vcon_app import registry
from vcon_app.drafts import Finding, FormatError, Signature
from vcon_app.formats import bundle
from vcon_app.formats.common.zips import Archive
from vcon_app.formats.contract import Format, Verifier
from vcon_app.models import Import, ImportedSession
from vcon_app.signing.states import rank

from .. import import_notices, task_names
from ..documents import archives, decryption, documents
from ..documents.jobs import is_transient
from . import anchors, coverage

log = logging.getLogger(__name__)

MARK = {"of": "signature"}
"""Marks the findings that are exchanged when a signature is checked again."""
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
"""Since when a check is due is kept nowhere."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Result of a check, in the shape of the columns of an import."""

    signature: dict[str, Any]
    findings: list[dict[str, str]] = field(default_factory=list)
    against: str = ""

    def findings_at(self, place: str) -> list[dict[str, str]]:
        """The findings with the place of the file in the document before their own."""
        return [row | {"path": f"{place}{row['path']}"} for row in self.findings]


@dataclass(frozen=True, slots=True)
class Rechecked:
    """Result of a second check: of the document, and of each member of an archive by its name."""

    whole: Checked
    parts: dict[str, Checked] = field(default_factory=dict)

    def signature_for(self, member: str) -> dict[str, Any]:
        """The signature that counts for what was read from a member, or from the document itself."""
        return self.parts.get(member, self.whole).signature


def check(format: Format, source: BinaryIO, read: Signature, keyring: Callable[[], anchors.Keyring]) -> Checked:
    """The signature of a document with what is trusted now, which is not asked for where there is none.

    ``read`` is what its reader found.

    Raises ``FormatError``.
    """
    if read.state == "unsigned" or not isinstance(format, Verifier):
        return Checked(signature_columns(read))
    source.seek(0)
    signature, findings = format.verify(source, keyring().anchors, timezone.now())
    return Checked(signature_columns(signature), [_row(finding) for finding in findings], keyring().stamp)


def worst_of(parts: Sequence[Checked]) -> Checked:
    """Signature of an archive: that of its worst part, of equals the one that expires first."""
    shown = min(parts, key=lambda part: (rank(part.signature["state"]), part.signature.get("until", "~")))
    against = next((part.against for part in parts if part.against), "")
    return Checked(shown.signature, [row for part in parts for row in part.findings], against)


def check_bundle(archive: Archive, keyring: anchors.Keyring) -> Checked:
    """The signature of a bundle, and what in it is not as it was signed. Raises ``FormatError``."""
    report = bundle.verify(archive, keyring.anchors, timezone.now())
    return Checked(signature_columns(report.signature), [_row(finding) for finding in report.findings], keyring.stamp)


def signature_within(whole: Checked | None, own: Checked) -> Checked:
    """What a file's signature is worth in a bundle: that of the bundle, or its own where that is worse."""
    if whole is None:
        return own
    return whole if own.signature["state"] == "unsigned" else worst_of((whole, own))


def signature_columns(signature: Signature) -> dict[str, Any]:
    """A signature as it is stored: what it always has, and what else there is to say."""
    always = {"state": signature.state, "signer": signature.signer, "detail": signature.detail}
    more = {"until": signature.until and signature.until.isoformat(), "uncovered": list(signature.uncovered)}
    return storable(always | {name: value for name, value in more.items() if value})


def _row(finding: Finding) -> dict[str, str]:
    row = {"rule": finding.rule, "severity": finding.severity, "path": finding.path, "message": finding.message}
    return storable(row | MARK)


def check_again(workspace_id: UUID) -> int:
    """Check what was checked with other anchors, or hangs on a certificate that expired; how many have another state.

    May run any number of times, also at once: each import is checked by one of them.
    """
    changed = 0
    while (result := _check_next(workspace_id)) is not None:
        changed += result
    return changed


@transaction.atomic
def _check_next(workspace_id: UUID) -> bool | None:
    """Whether the next import that is due got another state; None when none is due."""
    keyring = anchors.keyring(workspace_id)
    due = _due(workspace_id, keyring.stamp, timezone.now())
    # several workers may run at once: each takes an import that no other one has
    imported = due.select_for_update(skip_locked=True, of=("self",)).select_related("document").order_by("pk").first()
    if imported is None:
        return None
    checked, before = _check_import(imported, keyring), imported.signature["state"]
    imported.signature, imported.checked_against = checked.whole.signature, checked.whole.against
    imported.findings = [row for row in imported.findings if row.get("of") != MARK["of"]] + checked.whole.findings
    imported.save(update_fields=["signature", "checked_against", "findings"])
    changed, after = _update_links(imported, checked), imported.signature["state"]
    if changed or after != before:
        _record_change(imported, before, after)
    return changed or after != before


def _update_links(imported: Import, checked: Rechecked) -> bool:
    """Whether the file of any session has another state now."""
    links = [(link, checked.signature_for(link.member)) for link in imported.session_links.all()]
    changed = any(link.signature.get("state") != signature["state"] for link, signature in links)
    for link, signature in links:
        link.signature = coverage.with_coverage(signature, link)
    ImportedSession.objects.bulk_update([link for link, _ in links], ["signature"], batch_size=500)
    return changed


def _due(workspace_id: UUID, stamp: str, now: datetime) -> QuerySet[Import]:
    expired = Q(signature__state="valid", signature__until__lt=now.isoformat())
    return Import.objects.filter(~Q(checked_against=stamp) | expired, workspace_id=workspace_id).exclude(
        checked_against=""
    )


def _check_import(imported: Import, keyring: anchors.Keyring) -> Rechecked:
    """Never fails for what is wrong with one document: the others are checked all the same."""
    try:
        with documents.open_document(imported.document) as source:
            if imported.format in archives.KINDS:
                return _check_archive(source, keyring)
            format = registry.get(imported.format)
            known = Signature("uncheckable")
            return Rechecked(check(format, decryption.decrypted(format, source), known, lambda: keyring))
    except (FormatError, registry.UnknownFormat) as error:
        reason = str(error)
    except FileNotFoundError:
        reason = "The bytes of this document are not in the storage any more."
    except Exception as error:  # a fault of ours; the row must not be the first one that is due for ever
        if is_transient(error):
            raise
        log.exception("the signature of import %s could not be checked", imported.pk)
        reason = f"A fault of ours while checking it ({type(error).__name__})."
    return Rechecked(Checked(signature_columns(Signature("uncheckable", detail=reason)), against=keyring.stamp))


def _check_archive(source: BinaryIO, keyring: anchors.Keyring) -> Rechecked:
    """Raises ``FormatError``."""
    archive = archives.open_archive(source)
    contents = archives.contents_of(archive)
    parts = dict(_check_members(archive, contents, keyring))
    if not contents.is_bundle:
        return Rechecked(worst_of(list(parts.values()) or [Checked(signature_columns(Signature()))]), parts)
    whole = check_bundle(archive, keyring)
    own = [row for part in parts.values() for row in part.findings]
    within = {name: signature_within(whole, part) for name, part in parts.items()}
    return Rechecked(replace(whole, findings=whole.findings + own), within)


def _check_members(
    archive: Archive, contents: archives.Contents, keyring: anchors.Keyring
) -> Iterator[tuple[str, Checked]]:
    """Each member of an archive that a session was read from, by its name."""
    for member in contents.members:
        try:
            with archive.open(member) as file:
                format = registry.get(registry.detect(file)[0])
                read = Signature("uncheckable" if isinstance(format, Verifier) else "unsigned")
                part = check(format, decryption.decrypted(format, file), read, lambda: keyring)
        except FormatError:  # was left out when the archive was imported, and a finding said so
            continue
        yield member.filename, replace(part, findings=part.findings_at(archives.place_in(member, "")))


def _record_change(imported: Import, before: str, after: str) -> None:
    audit.record(
        imported.workspace_id, audit.SYSTEM, "import.signature_changed", subject=("import", imported.pk),
        filename=imported.filename, before=before, after=after,
    )  # fmt: skip
    import_notices.import_changed(imported.pk)
    for link in imported.session_links.select_related("session"):
        notify.session_changed(link.session_id, link.session.last_seq)


def sweep() -> int:
    """Ring for workspaces with imports that are due, whose message was lost; how many."""
    signed = Import.objects.exclude(checked_against="").order_by().values_list("workspace_id", flat=True).distinct()
    now = timezone.now()
    due = {id_: LONG_AGO for id_ in signed if _due(id_, anchors.keyring(id_).stamp, now).exists()}
    return task_queue.requeue(task_names.CHECK_SIGNATURES, due, {id_: Line(id_) for id_ in due})
