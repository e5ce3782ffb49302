"""The very bytes an event was read from."""

from __future__ import annotations

import io
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from sessions_app.models import Event
from sessions_app.views import access
from sessions_app.views.pages import page_or_fragment
from vcon_app.queries import sources
from vcon_app.services.documents import event_bytes

from .downloads import attachment

MOST = 2**31 - 1


@require_safe
@access.viewer
def event_source(request: access.DeskRequest, session_id: UUID, seq: int) -> HttpResponseBase:
    """The record of one event, at most 256 KB of it; ``?download=1`` gives it as a file."""
    session = access.session_read(request, session_id)
    event = (
        Event.objects.filter(session=session, seq=min(seq, MOST)).defer("text", "arguments", "result", "data").first()
    )
    link = sources.link_of(event) if event else None
    if event is None or link is None:
        raise Http404(_("This event was not read from a file."))
    try:
        if request.GET.get("download"):
            return _download(event, link)
        found, problem = event_bytes.read(event, link.document), ""
    except event_bytes.NotShown as reason:
        found, problem = None, str(reason)
    context = {
        "session": session,
        "event": event,
        "link": link,
        "found": found,
        "problem": problem,
        "template": "sources/_record.html",
    }
    context["title"] = _("Event %(seq)d, as it stands in the file") % {"seq": event.seq}
    return page_or_fragment(request, "sessions/alone.html", "sources/_record.html", context)


def _download(event: Event, link: sources.ImportedSession) -> HttpResponse | HttpResponseBase:
    found = event_bytes.read(event, link.document, event_bytes.WHOLE)
    return attachment(io.BytesIO(found.data), f"event-{event.seq}.json", len(found.data))
