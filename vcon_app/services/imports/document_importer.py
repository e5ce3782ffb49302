"""The second of three steps of an import: a document, one file or an archive of many, becomes sessions.

``import_jobs`` claims the row and opens the transaction, ``file_importer`` reads each file.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import BinaryIO
from zipfile import ZipInfo

from django.db import transaction
from django.utils import timezone

from sessions_app.models import Session
from sessions_app.services import task_queue
from sessions_app.services.log import file_texts, search_index
from vcon_app import registry
from vcon_app.drafts import Finding, FormatError, Severity, Signature
from vcon_app.formats.common.encodings import utf16
from vcon_app.formats.common.sqlite import wal
from vcon_app.formats.common.zips import Archive
from vcon_app.formats.vcon.file import vconz
from vcon_app.models import Companion, Import, ImportedSession

from .. import import_notices
from ..documents import archives, documents, jobs
from ..documents.jobs import Heartbeat, is_transient, what_to_wait_for
from ..trust import anchors, coverage, signatures
from . import companions, families, store_logs
from .claims import BeginAgain, Claims
from .file_importer import Added, FileImporter, FileResult
from .findings import Findings
from .new_agents import NewAgents

log = logging.getLogger(__name__)

AUTO = "auto"
UNSIGNED = signatures.Checked(signatures.signature_columns(Signature()))
"""What holds no session has nothing that a signature is of."""
SHOWN_FAILURES = 3
"""Members whose failure the message names when an archive gives nothing at all."""


class Superseded(Exception):
    """Another worker has taken this import over, because our heartbeat was not seen for too long."""


@dataclass(frozen=True, slots=True)
class Gained:
    """What one file, the document or a member of it, gave to one session."""

    member: str
    session: Session
    added: Added
    checked: signatures.Checked
    """The signature that counts for it."""


class DocumentImporter:
    """Reads one source document into sessions and completes the import row."""

    def __init__(self, imported: Import, heartbeat: Heartbeat, claims: Claims) -> None:
        self.imported = imported
        self.heartbeat = heartbeat
        self.claims = claims
        self.new_agents = NewAgents(imported.workspace_id)
        self.keyring = cache(partial(anchors.keyring, imported.workspace_id))
        self.findings = Findings()
        self.gained: list[Gained] = []
        self.checked: list[signatures.Checked] = []
        self.bundle_signature: signatures.Checked | None = None
        """The signature of a bundle as a whole, which covers the session in it."""
        self.companions: dict[str, list[Companion]] = {}
        """What was read of files that hold no session, by their format."""
        self.failures: list[tuple[str, FormatError]] = []
        self.done = self.total = 0
        """Bytes of members that are done with, and of all."""

    def run(self) -> None:
        """In a transaction. Raises ``FormatError`` for what cannot be read, ``Superseded``, ``BeginAgain``."""
        asked = self.imported.format_asked
        with documents.open_document(self.imported.document) as source:
            if archives.is_archive(source, asked):
                name = self._read_archive(source)
            elif found := companions.keep_companions(self.imported, self.imported.filename, source):
                name = self._keep_companions(*found)
            else:
                name = registry.detect(source)[0] if asked == AUTO else asked
                self.total = self.imported.document.size
                self._read(source, name)
        self._finish(name)
        self._link_sub_agents()  # by who brought each, as the rows say that were just made
        self.new_agents.make()

    def _read(self, source: BinaryIO, format_name: str, member: ZipInfo | None = None) -> FileResult:
        place = archives.place_in(member, "") if member else ""
        bundle = self.bundle_signature
        is_alone, is_utf16 = wal.needs_log(source), utf16.is_utf16(source)
        result = FileImporter(
            self.imported, format_name, self.keyring, self.claims, self.new_agents, self._progress, place,
            path=self._path(member), sealed=self._sealed(), gained=self._gained(),
            in_signed_bundle=bundle is not None and coverage.is_signed(bundle.signature["state"]),
        ).run(source)  # fmt: skip
        name = member.filename if member else ""
        counts = signatures.signature_within(bundle, result.checked)
        self.gained += [Gained(name, session, added, counts) for session, added in result.added.items()]
        self.findings.add(result.findings, result.checked.findings_at(place))
        if is_alone:
            self.findings.note(Finding("sqlite.wal", "info", place, f"This is a SQLite store, and {wal.ALONE}."))
        if is_utf16:
            self.findings.note(Finding("text.utf-16", "info", place, f"{utf16.NOTE}."))
        self.checked.append(result.checked)
        return result

    def _path(self, member: ZipInfo | None) -> str:
        """Where a file lay: in the archive, or in the folder that was dropped."""
        return member.filename if member else "/".join(filter(None, (self.imported.folder, self.imported.filename)))

    def _sealed(self) -> set[Session]:
        """Sessions that a signed member before this one made."""
        signed = (gained for gained in self.gained if coverage.is_signed(gained.checked.signature["state"]))
        return {gained.session for gained in signed if gained.added.events}

    def _gained(self) -> dict[Session, Added]:
        """What members before this one told: of several that told one session, the one that added to it."""
        in_turn = sorted(self.gained, key=lambda gained: gained.added.events > 0)
        return {gained.session: gained.added for gained in in_turn}

    def _read_archive(self, source: BinaryIO) -> str:
        """The name of the format that the import row states."""
        archive = archives.open_archive(source)
        contents = archives.contents_of(archive)
        for finding in contents.odd:
            self.findings.note(finding)
        self.failures += [(found.path, FormatError(found.message)) for found in archive.refused]
        if contents.is_bundle:
            self.bundle_signature = signatures.check_bundle(archive, self.keyring())
            self.findings.add(Findings(), self.bundle_signature.findings)
        self.total = sum(member.file_size for member in contents.members)
        for member in contents.members:
            self._try_member(archive, member, is_vcon=contents.is_vconz)
            self.done += member.file_size
        if not self.gained and not self.companions:
            raise self._nothing_read(len(archive.members) + len(archive.refused))
        return contents.format

    def _try_member(self, archive: Archive, member: ZipInfo, *, is_vcon: bool) -> None:
        """Read a member if a format claims it; what is wrong with one of many is a finding, and the rest goes on."""
        if wal.is_beside(member.filename, archive.names):
            self._leave_out(member, "info", "log", "it lies beside a SQLite file of the archive and was read with it")
            return
        try:
            with transaction.atomic():  # takes back what a member has added before it failed
                self._read_member(archive, member, is_vcon)
        except registry.Unrecognised:
            self._leave_out(member, "info", "unrecognised", "not recognised, left out")
        except FormatError as error:
            self._fail(member, error)
        except BeginAgain:
            raise
        except Exception as error:  # whatever a reader of a hostile file raises concerns that file alone
            if is_transient(error) or what_to_wait_for(error):
                raise
            log.exception("a member of import %s failed", self.imported.pk)
            self._fail(member, FormatError(f"a fault of ours while reading it ({type(error).__name__})"))

    def _read_member(self, archive: Archive, member: ZipInfo, is_vcon: bool) -> None:
        asked = self.imported.format_asked
        with archive.open(member) as alone, _with_log(archive, member, alone) as file:
            if archives.is_archive(file, AUTO):
                nested = "an archive in an archive; it is not opened"
                self._leave_out(member, "warning", "nested", nested)
                self.failures.append((member.filename, FormatError(nested)))
                return
            if found := companions.keep_companions(self.imported, member.filename, file):
                self._keep_companions(*found, place=member.filename)
                return
            name, _ = registry.detect(file)
            if asked not in (AUTO, name):
                self._leave_out(member, "info", "other-format", f"a {name} file, and {asked} was asked for")
                return
            result = self._read(file, name, member)
        if is_vcon:
            for finding in vconz.name_findings(member, [session.external_id for session in result.added]):
                self.findings.note(finding)

    def _keep_companions(self, format_name: str, kept: list[Companion], place: str = "") -> str:
        """The format of a file that holds no session and tells something about one."""
        self.companions.setdefault(format_name, []).extend(kept)
        self.findings.note(Finding(f"{format_name}.companion", "info", place, companions.reason(kept)))
        return format_name

    def _link_sub_agents(self) -> None:
        sessions = {gained.session for gained in self.gained}
        for name in sorted(self.companions.keys() | {session.source_format for session in sessions}):
            own = [session for session in sessions if session.source_format == name]
            families.link(self.imported.workspace_id, name, own, self.companions.get(name, []))

    def _leave_out(self, member: ZipInfo, severity: Severity, rule: str, message: str) -> None:
        self.findings.note(Finding(f"zip.{rule}", severity, member.filename, message))

    def _fail(self, member: ZipInfo, error: FormatError) -> None:
        self.failures.append((member.filename, error))
        self._leave_out(member, "error", "unreadable", str(error))

    def _nothing_read(self, members: int) -> FormatError:
        reasons = "; ".join(f"{name}: {str(error).rstrip('.')}" for name, error in self.failures[:SHOWN_FAILURES])
        more = f"; and {len(self.failures) - SHOWN_FAILURES} more" if len(self.failures) > SHOWN_FAILURES else ""
        files = f"{members:,} file" if members == 1 else f"{members:,} files"
        known = [error.signature for _, error in self.failures if error.signature]
        return FormatError(
            f"nothing in this zip archive of {files} could be read: {reasons}{more}" if reasons
            else f"there is no session in this zip archive of {files}: none is in a format known here",
            known[0] if known else None,
        )  # fmt: skip

    def _progress(self, read: int) -> None:
        self.heartbeat.progress = min((self.done + read) / self.total, 0.99) if self.total else 0.0

    def _finish(self, format_name: str) -> None:
        imported, checked = self.imported, self.bundle_signature or signatures.worst_of(self.checked or [UNSIGNED])
        mine = Import.objects.filter(pk=imported.pk, attempt=imported.attempt, status=Import.Status.RUNNING)
        done = mine.update(
            format=format_name,
            events=sum(gained.added.events for gained in self.gained),
            findings=self.findings.rows(),
            signature=checked.signature,
            checked_against=checked.against,
            status=Import.Status.DONE,
            progress=1,
            finished_at=timezone.now(),
        )
        if not done:
            raise Superseded
        ImportedSession.objects.bulk_create(self._links())
        import_notices.import_changed(imported.id)
        file_texts.put_off(imported.workspace_id, {gained.session.pk for gained in self.gained})
        for session_id in search_index.behind({gained.session.pk for gained in self.gained}):
            task_queue.enqueue(task_queue.INDEX_SESSION, session_id, jobs.line_of(imported))

    def _links(self) -> Iterator[ImportedSession]:
        for gained in self.gained:
            link = ImportedSession(
                imported=self.imported,
                session=gained.session,
                document=self.imported.document,
                member=gained.member,
                events=gained.added.events,
                first_seq=gained.added.first_seq,
                last_seq=gained.added.last_seq,
            )
            link.signature = coverage.with_coverage(gained.checked.signature, link)
            yield link


@contextmanager
def _with_log(archive: Archive, member: ZipInfo, file: BinaryIO) -> Iterator[BinaryIO]:
    """The bytes of a member; of a SQLite file with its log, where that is in the archive. Raises ``FormatError``."""
    beside = archive.member(member.filename + wal.SUFFIX)
    if beside is None:
        yield file
        return
    with archive.open(beside) as log:
        try:
            whole = store_logs.merged(file, log)
        except (store_logs.NotReadable, documents.TooLarge) as error:
            raise FormatError(str(error)) from None
    with whole:
        yield whole
