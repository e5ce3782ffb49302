"""A statement with its receipt as a file, to be handed over beside the export that it is about."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpResponse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from sessions_app.views import access
from vcon_app.queries import registrations
from vcon_app.signing import statement


@require_safe
@access.viewer
def download(request: access.DeskRequest, session_id: UUID, registration_id: UUID) -> HttpResponse:
    """404 also while there is no receipt."""
    session = access.session_read(request, session_id)
    row = registrations.of_session(session.pk).filter(pk=registration_id).first()
    proof = registrations.transparent_statement(row) if row else None
    if row is None or proof is None:
        raise Http404(_("There is no receipt of a transparency service here."))
    response = HttpResponse(proof, content_type=statement.MEDIA_TYPE)
    response.headers["Content-Disposition"] = content_disposition_header(True, row.receipt_filename)
    response.headers["Cache-Control"] = "private, no-store"
    return response
