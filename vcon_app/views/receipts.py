"""A receipt as a file, for a person who follows the link of a decision."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from sessions_app.views import access
from vcon_app.services.receipts import issuing
from vcon_app.services.receipts.statements import NoReceipt
from vcon_app.signing import receipt
from vcon_app.signing.keys import BadKey


@require_safe
@access.viewer
def download(request: access.DeskRequest, approval_id: UUID) -> HttpResponse:
    """The receipt; a page that says why with 409 where there is none."""
    approval = access.approval_read(request, approval_id)
    try:
        issued = issuing.issue(approval, with_arguments="arguments" in request.GET)
    except NoReceipt as reason:
        return render(request, "receipts/none.html", {"approval": approval, "reason": str(reason)}, status=409)
    except BadKey as fault:
        reason = gettext("the key of this installation cannot be used: %(fault)s") % {"fault": fault}
        return render(request, "receipts/none.html", {"approval": approval, "reason": reason}, status=500)
    return attachment(approval_id, issued)


def attachment(approval_id: UUID, issued: str) -> HttpResponse:
    """A receipt as a file to keep."""
    response = HttpResponse(issued, content_type=receipt.MEDIA_TYPE)
    response.headers["Content-Disposition"] = f'attachment; filename="decision-{approval_id}.jws"'
    response.headers["Cache-Control"] = "private, no-store"
    return response
