"""Files in: the drop zone, what runs, and what came of each file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from sessions_app.ids import uuid7
from sessions_app.models import Agent, Role, Session
from sessions_app.queries.waiting import Place
from sessions_app.rendering import numbers
from sessions_app.search.operators import QUOTED
from sessions_app.views import access
from sessions_app.views.pages import page_or_fragment, wants_fragment
from sessions_app.views.tables import list_place, uuid_in
from vcon_app import registry
from vcon_app.formats.common.sqlite import wal
from vcon_app.models import Import
from vcon_app.queries import imports as queries
from vcon_app.queries import job_places
from vcon_app.services.documents import documents
from vcon_app.services.imports import import_jobs, store_logs

from . import parts
from .downloads import attachment

ROWS = 30
BATCH_SESSIONS = 200
LINKED = 3
"""Sessions of an import that its row in the list names."""
RAW_BYTES = 200_000
"""Of a file, shown as it is."""
NO_FILE = gettext_lazy("No file came with this. Choose one or more files, or drop them on the page.")


@dataclass(frozen=True, slots=True)
class Shown:
    """An import, what came of it in a sentence, and its sessions, each once."""

    imported: Import
    sentence: str
    sessions: list[Session]

    @property
    def linked(self) -> list[Session]:
        """Those that the list names; none where they are many."""
        return self.sessions if len(self.sessions) <= LINKED else []


def _shown(imported: Import, places: Mapping[UUID, Place]) -> Shown:
    """Without a query: its sessions came with it. A sentence is no place for the names of all formats.

    It begins with a capital, except where it begins with a name out of the file (``feed_type "export" holds no …``).
    """
    sentence = queries.sentence(imported, places.get(imported.pk)).partition(registry.KNOWN)[0]
    shown = capfirst(sentence) if sentence.startswith(("it ", "its ")) else sentence
    return Shown(imported, shown, queries.sessions_of(imported))


@require_http_methods(["GET", "HEAD", "POST"])
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    return _upload(request) if request.method == "POST" else _page(request)


def _page(request: access.DeskRequest, status: int = 200, **shown: Any) -> HttpResponse:
    before = list_place(request.GET, "before")
    workspace_id = request.member.workspace_id
    wanted, problems = _filter(request)
    rows = queries.recent(workspace_id, limit=ROWS + 1, before=before, wanted=wanted)
    places = job_places.places(workspace_id, rows)
    batch = wanted.batch or (rows[0].batch_id if rows and not before else None)
    totals = queries.batch_totals(workspace_id, batch) if batch and not before else None
    more = rows[ROWS - 1].id if len(rows) > ROWS else None
    context = {
        "imports": [_shown(row, places) for row in rows[:ROWS]],
        "more_url": _further(request, more) if more else None,
        "poll": before is None and (any(map(queries.is_open, rows[:ROWS])) or bool(totals and totals.open)),
        "wanted": wanted,
        "statuses": queries.STATUSES,
        "batch": batch,
        "totals": totals,
        "problems": problems,
        **shown,
    }
    if not wants_fragment(request) and request.member.role != Role.VIEWER:
        context["drop_zone"] = parts.drop_zone(request)
    fragment = "imports/_rows.html" if before else "imports/_list.html"
    return page_or_fragment(request, "imports/index.html", fragment, context, status=status)


def _further(request: access.DeskRequest, last: UUID) -> str:
    """The address of the rows after ``last``, with the filter of these."""
    query = request.GET.copy()
    query["before"] = str(last)
    return f"?{query.urlencode()}"


def _filter(request: access.DeskRequest) -> tuple[queries.ImportFilter, list[str]]:
    """What the address asks for, and what of it means nothing."""
    status, batch = request.GET.get("status", ""), request.GET.get("batch", "")
    problems = []
    if status and status not in queries.STATUSES:
        problems.append(
            gettext('"%(status)s" is no status of an import; use one of %(statuses)s')
            % {"status": status[:QUOTED], "statuses": ", ".join(queries.STATUSES)}
        )
        status = ""
    if batch and not uuid_in(batch):
        problems.append(
            gettext('"%(batch)s" is no batch of files; its id stands in the links of this page')
            % {"batch": batch[:QUOTED]}
        )
    return queries.ImportFilter(status, uuid_in(batch)), problems


@require_safe
@access.viewer
def batch(request: access.DeskRequest, batch_id: UUID) -> HttpResponse:
    """The sessions that files which came at once led to."""
    totals = queries.batch_totals(request.member.workspace_id, batch_id)
    if not totals.files:
        raise Http404
    sessions = queries.batch_sessions(request.member.workspace_id, batch_id, BATCH_SESSIONS + 1)
    context = {
        "batch": batch_id,
        "totals": totals,
        "sessions": sessions[:BATCH_SESSIONS],
        "more": len(sessions) > BATCH_SESSIONS,
    }
    return render(request, "imports/batch.html", context)


def _upload(request: access.DeskRequest) -> HttpResponse:
    """Take in each file; one that is refused does not stop the others, and its reason names it."""
    access.require(request.member, Role.REVIEWER)
    files = request.FILES.getlist("file")
    problems = [] if files else [NO_FILE]
    agent = _agent(request)
    batch = uuid_in(request.POST.get("batch", "")) or uuid7()
    logs = {file.name: file for file in (*files, *request.FILES.getlist("log"))}
    for file in files:
        if wal.is_beside(file.name, logs):
            continue
        try:
            _take(request, file, logs.get(file.name + wal.SUFFIX), agent, batch)
        except (documents.TooLarge, import_jobs.UnknownFormat, store_logs.NotReadable) as refused:
            problems.append(f"{import_jobs.clean_filename(file.name)}: {refused}")
    if problems:
        return _page(request, 422, problems=problems)
    return _page(request) if wants_fragment(request) else redirect("import-list")


def _take(
    request: access.DeskRequest, file: UploadedFile, log: UploadedFile | None, agent: Agent | None, batch: UUID
) -> Import:
    """Start the import of a file; of a SQLite file with the ``log`` that came beside it."""
    if file.size > settings.MAX_UPLOAD_BYTES:
        raise documents.TooLarge(
            gettext("the file has %(size)s, the limit is %(most)s; ask an admin to raise COUNTERSIGN_MAX_UPLOAD_BYTES")
            % {"size": numbers.size(file.size), "most": numbers.size(settings.MAX_UPLOAD_BYTES)}
        )
    return import_jobs.start_import(
        request.member.workspace,
        file.name,
        store_logs.merged_chunks(file, log) if log else file.chunks(documents.CHUNK),
        by=access.actor(request),
        agent=agent,
        format=request.POST.get("format") or import_jobs.AUTO,
        batch=batch,
        folder=request.POST.get("folder", ""),
    )


def _agent(request: access.DeskRequest) -> Agent | None:
    slug = request.POST.get("agent", "")
    return access.agent_read(request, slug) if slug else None


@require_safe
@access.viewer
def detail(request: access.DeskRequest, import_id: UUID) -> HttpResponse:
    """What came of one file, with every remark and its place."""
    imported = access.one(queries.complete(Import.objects.all()), request, import_id)
    context = {
        "imported": imported,
        "shown": _shown(imported, job_places.places(imported.workspace_id, [imported])),
        "groups": queries.grouped(imported.findings),
        "poll": queries.is_open(imported),
        "formats": parts.read_formats() if registry.KNOWN in (imported.error or "") else [],
    }
    return page_or_fragment(request, "imports/detail.html", "imports/_detail.html", context)


@require_safe
@access.viewer
def document(request: access.DeskRequest, import_id: UUID) -> StreamingHttpResponse:
    """The bytes that came in."""
    imported = access.one(Import.objects.select_related("document"), request, import_id)
    return attachment(documents.open_document(imported.document), imported.filename, imported.document.size)


@require_safe
@access.viewer
def raw(request: access.DeskRequest, import_id: UUID) -> HttpResponse:
    """The beginning of the bytes as text, read as no session: of a file that must not be, or cannot be."""
    imported = access.one(Import.objects.select_related("document"), request, import_id)
    with documents.open_document(imported.document) as file:
        beginning = file.read(RAW_BYTES)
    context = {
        "imported": imported,
        "text": None if b"\0" in beginning else beginning.decode("utf-8", "replace"),
        "more": imported.document.size - len(beginning),
    }
    return render(request, "imports/raw.html", context)
