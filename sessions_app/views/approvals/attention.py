"""Time that a card was in front, and its secrets shown on request."""

from __future__ import annotations

import math
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_POST

from sessions_app.services.approvals import attention

from .. import access
from .decisions import card_response


@require_POST
@access.viewer
def seen(request: access.DeskRequest, approval_id: UUID) -> HttpResponse:
    """Seconds (``seconds``) that the card was in front since the browser told last; what is no number is 0."""
    approval = access.approval_read(request, approval_id)
    try:
        seconds = float(request.POST.get("seconds", ""))
    except ValueError:
        seconds = 0.0
    attention.note_view(approval, request.member, seconds if math.isfinite(seconds) else 0.0)
    return HttpResponse(status=204)


@require_POST
@access.reviewer
def show_secrets(request: access.DeskRequest, approval_id: UUID) -> HttpResponse:
    """The card with its secrets, once: the audit log says who had them shown."""
    approval = access.approval_read(request, approval_id)
    attention.show_secrets(approval, request.member, by=access.actor(request))
    return card_response(request, approval, revealed=True, edit_open=request.POST.get("for") == "edit")
