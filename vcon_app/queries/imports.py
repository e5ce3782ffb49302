"""Imports of a workspace, the newest first, and what came of each in words and groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Count, Prefetch, Q, QuerySet

from sessions_app.models import Session
from sessions_app.queries.waiting import Place
from vcon_app.models import Import, ImportedSession

from . import job_places

PLACES = 5
"""Places of one rule that are shown before the rest is folded away."""
SHOWN_GROUPS = 2
SEVERITIES = ("error", "warning", "info")


@dataclass
class Group:
    """Findings of one rule: the message they share and where."""

    rule: str
    severity: str
    message: str
    places: list[dict[str, Any]] = field(default_factory=list)

    @property
    def first_places(self) -> list[dict[str, Any]]:
        return self.places[:PLACES]

    @property
    def further_places(self) -> list[dict[str, Any]]:
        return self.places[PLACES:]


@dataclass(frozen=True, slots=True)
class ImportFilter:
    """Which imports a list shows; an empty value means all."""

    status: str = ""
    """``open`` (queued or running), ``done`` or ``failed``."""
    batch: UUID | None = None


@dataclass(frozen=True, slots=True)
class BatchTotals:
    """How far a batch is: files that came, and of those how many are read and how many failed."""

    files: int
    done: int
    failed: int

    @property
    def ended(self) -> int:
        return self.done + self.failed

    @property
    def open(self) -> int:
        """Files that are not read yet."""
        return self.files - self.ended


STATUSES = {"open": ("queued", "running"), "done": ("done",), "failed": ("failed",)}


def recent(
    workspace_id: UUID, *, limit: int, before: UUID | None = None, wanted: ImportFilter = ImportFilter()
) -> list[Import]:
    """With their document, their sessions and what they are a repeat of: three queries however many rows."""
    found = passing(complete(Import.objects.filter(workspace_id=workspace_id)), wanted)
    if before:
        found = found.filter(pk__lt=before)  # ids sort by time, to the millisecond
    return list(found.order_by("-pk")[:limit])


def passing(found: QuerySet[Import], wanted: ImportFilter) -> QuerySet[Import]:
    """The imports that pass a filter."""
    if wanted.status:
        found = found.filter(status__in=STATUSES[wanted.status])
    if wanted.batch:
        found = found.filter(batch_id=wanted.batch)
    return found


def batch_totals(workspace_id: UUID, batch: UUID) -> BatchTotals:
    """Of one batch; all zero when there is none of this id in the workspace."""
    status = Import.Status
    counts = Import.objects.filter(workspace_id=workspace_id, batch_id=batch).aggregate(
        files=Count("pk"),
        done=Count("pk", filter=Q(status=status.DONE)),
        failed=Count("pk", filter=Q(status=status.FAILED)),
    )
    return BatchTotals(**counts)


def batch_sessions(workspace_id: UUID, batch: UUID, limit: int) -> list[Session]:
    """Sessions that the files of a batch made or added to, each once, the newest first."""
    links = ImportedSession.objects.filter(imported__workspace_id=workspace_id, imported__batch_id=batch)
    found = Session.objects.filter(pk__in=links.values("session_id")).select_related("agent").defer("source_record")
    return list(found.order_by("-pk")[:limit])


def complete(found: QuerySet[Import]) -> QuerySet[Import]:
    """Imports with everything that their pages show of them."""
    links = ImportedSession.objects.select_related("session__agent").order_by("pk")
    return found.select_related("document", "duplicate_of").prefetch_related(Prefetch("session_links", queryset=links))


def is_open(imported: Import) -> bool:
    """Whether something will still happen to it."""
    return imported.status in (Import.Status.QUEUED, Import.Status.RUNNING)


def grouped(findings: Iterable[dict[str, Any]]) -> list[Group]:
    """Findings by rule and severity, errors first; the order within a group is that of the file."""
    groups: dict[tuple[str, str], Group] = {}
    for finding in findings:
        key = (finding["rule"], finding["severity"])
        group = groups.setdefault(key, Group(*key, finding["message"]))
        group.places.append(finding)
    return sorted(groups.values(), key=lambda group: SEVERITIES.index(group.severity))


def sentence(imported: Import, place: Place | None = None) -> str:
    """What came of the file: ``1 session, 1,204 events, 2 warnings: times are estimated; a call has no result``."""
    if imported.status == Import.Status.FAILED:
        return (imported.error or "no reason was stored").removeprefix(f"{imported.filename}: ")
    if imported.status == Import.Status.QUEUED:
        return imported.waiting_for or job_places.sentence(imported.requested_by, place)
    if imported.status == Import.Status.RUNNING:
        return "Is being read."
    parts = [_number(len(sessions_of(imported)), "session"), _added(imported)]
    groups = grouped(imported.findings)
    if groups:
        shown = "; ".join(_short(group.message) for group in groups[:SHOWN_GROUPS])
        more = f"; and {len(groups) - SHOWN_GROUPS} more" if len(groups) > SHOWN_GROUPS else ""
        parts.append(f"{_number(len(groups), 'warning')}: {shown}{more}")
    return ", ".join(parts)


def sessions_of(imported: Import) -> list[Session]:
    """The sessions it made or added to, each once, in the order of the file."""
    return list(dict.fromkeys(link.session for link in imported.session_links.all()))


def _added(imported: Import) -> str:
    if imported.events or imported.duplicate_of_id:
        return _number(imported.events, "event")
    return "no new events"


def _number(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _short(message: str, most: int = 90) -> str:
    line = message.strip().rstrip(".").replace("\n", " ")
    return line if len(line) <= most else f"{line[:most].rsplit(' ', 1)[0]} …"
