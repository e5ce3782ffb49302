"""Files in: the drop zone, what runs, and what came of each file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from sessions_app.models import Agent, Role, Session
from sessions_app.queries.waiting import Place
from sessions_app.rendering import numbers
from sessions_app.views import access
from sessions_app.views.pages import page_or_fragment, wants_fragment
from vcon_app import registry
from vcon_app.models import Import
from vcon_app.queries import imports as queries
from vcon_app.services.documents import documents
from vcon_app.services.imports import import_jobs

from . import parts
from .downloads import attachment

ROWS = 30
LINKED = 3
"""Sessions of an import that its row in the list names."""
NO_FILE = "No file came with this. Choose one or more files, or drop them on the page."


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
    """Without a query: its sessions came with it. A sentence is no place for the names of all formats."""
    sentence = queries.sentence(imported, places.get(imported.pk)).partition(registry.KNOWN)[0]
    return Shown(imported, sentence, queries.sessions_of(imported))


@require_http_methods(["GET", "HEAD", "POST"])
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    return _upload(request) if request.method == "POST" else _page(request)


def _page(request: access.DeskRequest, status: int = 200, **shown: Any) -> HttpResponse:
    before = _id(request.GET.get("before", ""))
    rows = queries.recent(request.member.workspace_id, limit=ROWS + 1, before=before)
    places = queries.places(request.member.workspace_id, rows)
    context = {
        "imports": [_shown(row, places) for row in rows[:ROWS]],
        "more": rows[ROWS - 1].id if len(rows) > ROWS else None,
        "poll": before is None and any(map(queries.is_open, rows[:ROWS])),
        **shown,
    }
    if not wants_fragment(request) and request.member.role != Role.VIEWER:
        context["drop_zone"] = parts.drop_zone(request)
    fragment = "imports/_rows.html" if before else "imports/_list.html"
    return page_or_fragment(request, "imports/index.html", fragment, context, status=status)


def _upload(request: access.DeskRequest) -> HttpResponse:
    """Take in each file; one that is refused does not stop the others, and its reason names it."""
    access.require(request.member, Role.REVIEWER)
    files = request.FILES.getlist("file")
    problems = [] if files else [NO_FILE]
    agent = _agent(request)
    for file in files:
        try:
            _take(request, file, agent)
        except (documents.TooLarge, import_jobs.UnknownFormat) as refused:
            problems.append(f"{import_jobs.clean_filename(file.name)}: {refused}")
    if problems:
        return _page(request, 422, problems=problems)
    return _page(request) if wants_fragment(request) else redirect("import-list")


def _take(request: access.DeskRequest, file: UploadedFile, agent: Agent | None) -> Import:
    if file.size > settings.MAX_UPLOAD_BYTES:
        raise documents.TooLarge(
            f"the file has {numbers.size(file.size)}, the limit is {numbers.size(settings.MAX_UPLOAD_BYTES)}; "
            "ask an admin to raise COUNTERSIGN_MAX_UPLOAD_BYTES"
        )
    return import_jobs.start_import(
        request.member.workspace,
        file.name,
        file.chunks(documents.CHUNK),
        by=access.actor(request),
        agent=agent,
        format=request.POST.get("format") or import_jobs.AUTO,
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
        "shown": _shown(imported, queries.places(imported.workspace_id, [imported])),
        "groups": queries.grouped(imported.findings),
        "poll": queries.is_open(imported),
    }
    return page_or_fragment(request, "imports/detail.html", "imports/_detail.html", context)


@require_safe
@access.viewer
def document(request: access.DeskRequest, import_id: UUID) -> StreamingHttpResponse:
    """The bytes that came in."""
    imported = access.one(Import.objects.select_related("document"), request, import_id)
    return attachment(documents.open_document(imported.document), imported.filename, imported.document.size)


def _id(value: str) -> UUID | None:
    """The id in an address; nonsense is as good as none: the list begins at its head then."""
    try:
        return UUID(value)
    except ValueError:
        return None
