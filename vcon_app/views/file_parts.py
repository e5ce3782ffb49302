"""Everything else in the file of a session: what became no event, searchable, each value with its place."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from sessions_app.views import access
from sessions_app.views.pages import page_or_fragment
from vcon_app.services.documents.file_rest import is_in_search, parts_beside_events

LONGEST_SEARCH = 200
OPENED = 40
"""Parts with fewer values than this are shown open when somebody searched."""


@require_safe
@access.viewer
def index(request: access.DeskRequest, session_id: UUID) -> HttpResponse:
    """The parts of the file, of ``?q=`` only those values that have the words."""
    session = access.session_read(request, session_id)
    words = request.GET.get("q", "").strip()[:LONGEST_SEARCH]
    found = parts_beside_events(session, words)
    count = sum(len(part.values) for part in found.parts)
    context = {
        "session": session,
        "words": words,
        "found": found,
        "count": count,
        "in_search": is_in_search(session),
        "opened": bool(words) or count <= OPENED,
        "template": "sources/_file_parts.html",
        "title": _("Everything else in the file"),
    }
    return page_or_fragment(request, "sessions/alone.html", "sources/_file_parts.html", context)
