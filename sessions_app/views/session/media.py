"""Images, sound and files of an event, from the bytes of its record alone."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpResponse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from sessions_app.models import Event, Session
from sessions_app.queries.log import event_record
from sessions_app.rendering import media

from .. import access
from .addresses import MOST, at, fragment, place_in, session_at

OPAQUE = "application/octet-stream"


@require_safe
@access.viewer
def index(request: access.DeskRequest, agent_id: UUID, session_id: UUID, seq: int) -> HttpResponse:
    """What an event holds: thumbnails, players, links that take a file away, and addresses in words."""
    session = session_at(request, agent_id, session_id)
    found, problem = media_at(session, seq)
    context = at(session, place_in(session, request.GET), seq=seq, found=found, problem=problem)
    context["pieces"] = addressed(found, f"{context['base']}/events/{seq}/media")
    return fragment(request, "sessions/rows/_media.html", context, gettext("Media of event %(seq)s") % {"seq": seq})


@require_safe
@access.viewer
def piece(request: access.DeskRequest, agent_id: UUID, session_id: UUID, seq: int, number: int) -> HttpResponse:
    """One image, sound or file, numbered from 1; ``?download=1`` takes it away."""
    session = session_at(request, agent_id, session_id)
    return piece_at(session, seq, number, download="download" in request.GET)


def addressed(found: media.Media, base: str) -> list[tuple[str, media.Piece]]:
    """Pieces, each with the address of its bytes."""
    return [(f"{base}/{number}", one) for number, one in enumerate(found.pieces, 1)]


def media_at(session: Session, seq: int) -> tuple[media.Media, str]:
    """The media of an event, and why its record cannot be read, in words. Raises 404 where there is no such event."""
    event = Event.objects.filter(session_id=session.pk, seq=min(seq, MOST)).defer("text").first()
    if event is None:
        raise Http404(gettext("There is no event %(seq)s in this session.") % {"seq": seq})
    record = event_record.record_of(event)
    found = media.media_of(record.value, event.result, event.data)
    if not found.pieces and record.around is not None:
        found = media.media_of(record.around)
    return found, record.problem


def piece_at(session: Session, seq: int, number: int, *, download: bool) -> HttpResponse:
    """The bytes of a piece. A browser is told what they are by us, and to run nothing of them."""
    pieces = media_at(session, seq)[0].pieces
    if not 0 < number <= len(pieces):
        raise Http404(gettext("Event %(seq)s has no image, sound or file %(number)s.") % {"seq": seq, "number": number})
    found = pieces[number - 1]
    is_shown = found.kind != "file" and not download
    response = HttpResponse(found.data, content_type=found.media_type if is_shown else OPAQUE)
    name = f"event-{seq}-{number}.{found.suffix}"
    response.headers["Content-Disposition"] = content_disposition_header(not is_shown, name)
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    return response
