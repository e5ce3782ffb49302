"""The audit log of a period as a file: as it is chained, for a spreadsheet, or as an agent audit trail."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from itertools import islice
from uuid import UUID

from django.conf import settings

from sessions_app.models import AuditEntry, Session
from sessions_app.rendering.cells import cell
from sessions_app.row_chain import canonical
from sessions_app.services import audit
from vcon_app.formats.common.jsonio import dumps
from vcon_app.formats.evidence import aat

from .period import LONG_AGO, Period, bounds, pages

MEDIA_TYPES = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "agent-audit-trail": "application/x-ndjson",
}
"""Format -> media type."""
SUFFIXES = {"jsonl": "jsonl", "csv": "csv", "agent-audit-trail": "aat.jsonl"}
AT_ONCE = 500
COLUMNS = (
    "seq", "at", "actor_kind", "actor_id", "actor_name", "action", "subject_kind", "subject_id", "details",
    "previous_hash", "hash",
)  # fmt: skip


def chunks(format: str, workspace_id: UUID, period: Period) -> Iterator[bytes]:
    """The file, a page of entries at a time. ``format`` is one of ``MEDIA_TYPES``."""
    return WRITERS[format](workspace_id, period)


def line(entry: AuditEntry) -> bytes:
    """An entry with the text that its hash is of: nobody has to write JSON as we do to check it."""
    said = audit.canonical_of(entry)
    return dumps({"seq": entry.seq, "previous_hash": entry.previous_hash, "hash": entry.hash, "entry": said}) + b"\n"


def _jsonl(workspace_id: UUID, period: Period) -> Iterator[bytes]:
    for page in pages(workspace_id, bounds(workspace_id, period)):
        yield b"".join(map(line, page))


def _csv(workspace_id: UUID, period: Period) -> Iterator[bytes]:
    yield csv_lines([COLUMNS])
    for page in pages(workspace_id, bounds(workspace_id, period)):
        yield csv_lines([_cells(entry) for entry in page])


def csv_lines(rows: list[tuple[object, ...]]) -> bytes:
    """Lines of a CSV file (RFC 4180), safe to open in a spreadsheet."""
    written = io.StringIO()
    csv.writer(written).writerows([[cell(value) for value in row] for row in rows])
    return written.getvalue().encode()


def _cells(entry: AuditEntry) -> tuple[object, ...]:
    return tuple(canonical(entry.details) if name == "details" else getattr(entry, name) for name in COLUMNS)


def _aat(workspace_id: UUID, period: Period) -> Iterator[bytes]:
    found = bounds(workspace_id, period)
    first = next(pages(workspace_id, (found[0], found[0])))[0].at if found else max(period.start, LONG_AGO)
    entries = (entry for page in pages(workspace_id, found) for entry in _as_aat(page))
    lines = aat.lines(entries, workspace_id, settings.VERSION, first)
    while batch := b"".join(islice(lines, AT_ONCE)):
        yield batch


def _as_aat(page: list[AuditEntry]) -> list[aat.Entry]:
    """Each with the agent of its session: one query."""
    about = Session.objects.filter(pk__in=set(filter(None, map(_session_of, page))))
    named = {pk: (slug, str(version)) for pk, slug, version in about.values_list("pk", "agent__slug", "agent_version")}
    nobody = ("", "")
    return [
        aat.Entry(
            entry.workspace_id, entry.seq, entry.at, (entry.actor_kind, entry.actor_name), entry.action,
            (entry.subject_kind, entry.subject_id), entry.details, entry.hash,
            *named.get(_session_of(entry) or UUID(int=0), nobody),
        )
        for entry in page
    ]  # fmt: skip


def _session_of(entry: AuditEntry) -> UUID | None:
    told = entry.subject_id if entry.subject_kind == "session" else entry.details.get("session")
    try:
        return UUID(told) if isinstance(told, str) else None
    except ValueError:
        return None


WRITERS: dict[str, Callable[[UUID, Period], Iterator[bytes]]] = {
    "jsonl": _jsonl, "csv": _csv, "agent-audit-trail": _aat,
}  # fmt: skip
